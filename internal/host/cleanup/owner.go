// Package cleanup ensures that tare leaves nothing behind. Each process of tare
// that starts resources opens an Owner: a directory in the home with a lock whose
// lifetime is that of the process. All resources have the owner's ID as a label
// (a container label, a cgroup path, a directory). Resources of an owner whose
// lock is free are leftovers; the next start or `tare clean` removes them.
//
// It must not know any environment; a kind's registration has the function that
// sweeps its resources.
package cleanup

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/base/bounded"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/private"
)

// The labels of every container, network and volume of tare. The home is a label
// too, since the owners of one home are unknown to another.
const (
	Label     = "tare.owner"
	HomeLabel = "tare.home"
)

// CgroupRoot returns the parent of all cgroups of tare, which are
// CgroupRoot/<owner ID>/<instance>: "/tare", or, for an ordinary user, tare in
// the subtree that was delegated to the user.
func CgroupRoot() string { return cgroupRoot() }

var cgroupRoot = sync.OnceValue(func() string { return path.Join(cgroup.Top(), "tare") })

// The files in an owner's directory begin with a dot, which names of instances
// do not.
const (
	lockFile   = ".lock"
	processDir = ".processes"
	newPrefix  = ".unborn-" // an owner that is being opened
)

// separators are characters that a home's path must not have, since some engines
// and mount options cannot escape them.
const separators = ",:\"\n"

// killTimeout bounds how long Close and Sweep wait for killed processes.
const killTimeout = 20 * time.Second

// Owner is the claim of a running process on the resources that it starts.
type Owner struct {
	id, home, directory string
	lock                *os.File
	mu                  sync.Mutex
	closed              bool
	shared              map[string]*shared // see Share
}

// Open opens a new owner in the home.
func Open(home string) (*Owner, error) {
	path, err := filepath.Abs(home)
	if err == nil && !strings.ContainsAny(path, separators) {
		if err = private.Make(home); err == nil {
			path, err = canonical(home)
		}
	}
	switch {
	case errors.Is(err, private.ErrForeign):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("tare's home %s cannot be made: %w; %s", home, bounded.Cause(err), bounded.Way(err, "choose another directory with --home"))
	case strings.ContainsAny(path, separators):
		return nil, fmt.Errorf("the path of tare's home %q has a comma, a colon, a double quote or a newline, which engines and mounts treat as separators: choose another directory with --home", path)
	}
	home = path
	release, err := lockWork(home)
	if err != nil && !errors.Is(err, private.ErrForeign) {
		err = fmt.Errorf("nothing can be made in tare's home %s: %w; %s", home, err, bounded.Way(err, "choose another directory with --home"))
	}
	if err != nil {
		return nil, err
	}
	defer release()
	// The directory is renamed to the owner's ID after its lock is taken, so that
	// an owner never appears dead while it is being opened.
	tmp, err := os.MkdirTemp(workOf(home), newPrefix)
	if err != nil {
		return nil, fmt.Errorf("creating an owner's directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(tmp, lockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	id := newID(home)
	if err == nil {
		err = os.Rename(tmp, dirOf(home, id))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening an owner in %s: %w", workOf(home), err), os.RemoveAll(tmp))
	}
	return &Owner{id: id, home: home, directory: dirOf(home, id), lock: lock}, nil
}

// ID returns the owner's ID: short, unique, of lower-case letters and digits.
func (o *Owner) ID() string { return o.id }

// Home returns the home, absolute and with symbolic links resolved: the value of
// HomeLabel.
func (o *Owner) Home() string { return o.home }

// Directory creates and returns a directory for an instance that no other user reaches.
func (o *Owner) Directory(name string) (string, error) {
	if !nameRule.MatchString(name) {
		return "", fmt.Errorf("invalid name of an instance %q: use letters, digits and dashes", name)
	}
	return o.make(name)
}

// Kept creates and returns a directory for what instances leave to later ones. It has a name
// that no instance has, and goes with the owner.
func (o *Owner) Kept() (string, error) { return o.make(".kept") }

func (o *Owner) make(name string) (string, error) {
	dir := filepath.Join(o.directory, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("creating the directory of instance %s: %w", name, err)
	}
	return dir, nil
}

var nameRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*$`)

// Cgroup is the path of an instance's group below each controller.
func (o *Owner) Cgroup(name string) string { return CgroupRoot() + "/" + o.id + "/" + name }

// Labels returns the labels for containers, networks and volumes.
func (o *Owner) Labels() map[string]string {
	return map[string]string{Label: o.id, HomeLabel: o.home}
}

// Adopt records a process that must not outlive the owner, with its start time,
// so that a later process with the same PID is not mistaken for it. Call release
// after its exit.
func (o *Owner) Adopt(pid int, role string) (release func(), err error) {
	file, err := record(o.directory, pid, role)
	if err != nil {
		return nil, fmt.Errorf("recording process %d (%s): %w", pid, role, err)
	}
	return func() { os.Remove(file) }, nil
}

// LeftoverError reports resources that existed when an owner was closed, and were
// removed: a bug of the code that left them.
type LeftoverError struct {
	Owner   string
	Removed []string
}

func (e *LeftoverError) Error() string {
	return fmt.Sprintf("closing owner %s: resources were left over, and were removed: %s", e.Owner, strings.Join(e.Removed, "; "))
}

// Close removes the owner's directory and cgroups. If resources were left over,
// the error is a *LeftoverError, joined with the errors of those that could not
// be removed.
func (o *Owner) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	o.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	removed, err := clearOwner(ctx, o.directory, o.id)
	errUnlock := unlock(o.lock)
	err = errors.Join(err, errUnlock)
	if len(removed) == 0 {
		return err
	}
	leftover := &LeftoverError{o.id, removed}
	if err == nil {
		return leftover
	}
	return errors.Join(leftover, err)
}

// Alive lists the owners of a home whose process is running.
func Alive(home string) ([]string, error) {
	home, err := canonical(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	release, err := lockWork(home)
	if err != nil {
		return nil, err
	}
	defer release()
	ids, err := list(home)
	alive := []string{}
	for _, id := range ids {
		if !free(dirOf(home, id)) {
			alive = append(alive, id)
		}
	}
	return alive, err
}

// Dead reports whether no process owns an ID in this home: its lock is free, or
// there is no such owner. If that cannot be determined, or if the ID is none of this home,
// it returns false: a label may be anybody's.
func Dead(home, id string) bool {
	home, err := canonical(home)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	if !isID(home, id) {
		return false
	}
	release, err := lockWork(home)
	if err != nil {
		return false
	}
	defer release()
	_, err = os.Lstat(dirOf(home, id))
	return errors.Is(err, fs.ErrNotExist) || err == nil && free(dirOf(home, id))
}

func workOf(home string) string    { return filepath.Join(home, "work") }
func dirOf(home, id string) string { return filepath.Join(home, "work", id) }

func canonical(home string) (string, error) {
	absolute, err := filepath.Abs(home)
	if err == nil {
		absolute, err = filepath.EvalSymlinks(absolute)
	}
	if err != nil {
		return "", fmt.Errorf("resolving tare's home: %w", err)
	}
	return absolute, nil
}

// newID returns an ID that begins with a hash of the home. It tells whether a
// cgroup whose owner has no directory is a leftover of this home or of another.
func newID(home string) string {
	random := make([]byte, 4)
	rand.Read(random)
	return prefixOf(home) + letters.EncodeToString(random)[:6]
}

func prefixOf(home string) string {
	sum := sha256.Sum256([]byte(home))
	return letters.EncodeToString(sum[:])[:6]
}

// isID reports whether a name can be the ID of an owner of this home.
func isID(home, name string) bool {
	return len(name) == 12 && strings.HasPrefix(name, prefixOf(home)) && strings.Trim(name, alphabet) == ""
}

// BelongsTo reports whether an ID is that of an owner of this home, on this host
// or on another one whose home has the same path.
func BelongsTo(home, id string) bool { return isID(home, id) }

const alphabet = "abcdefghijklmnopqrstuvwxyz234567"

var letters = base32.NewEncoding(alphabet).WithPadding(base32.NoPadding)

// list returns the IDs of owners that have a directory.
func list(home string) ([]string, error) {
	entries, err := os.ReadDir(workOf(home))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing the owners: %w", err)
	}
	ids := []string{}
	for _, e := range entries {
		if e.IsDir() && isID(home, e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// lockWork takes the lock under which owners are opened and claimed.
func lockWork(home string) (release func(), err error) {
	if err := private.Directory(workOf(home)); err != nil {
		return nil, fmt.Errorf("creating the owners' directory: %w", err)
	}
	file := filepath.Join(workOf(home), lockFile)
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the owners' lock: %w", err)
	}
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", file, err)
	}
	return func() { _ = unlock(f) }, nil
}

// tryLock takes the lock of an owner's directory. It returns EWOULDBLOCK if it is
// held, and ErrNotExist if the directory is gone or partly removed.
func tryLock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	// Another process may have removed the directory after the lock was opened.
	opened, err := f.Stat()
	if err == nil {
		var current fs.FileInfo
		if current, err = os.Stat(f.Name()); err == nil && !os.SameFile(opened, current) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// unlock releases the lock explicitly, since a child that is being forked may
// still have the file open.
func unlock(f *os.File) error {
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}

func free(dir string) bool {
	lock, err := tryLock(dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	_ = unlock(lock)
	return true
}
