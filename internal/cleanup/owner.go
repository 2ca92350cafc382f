// Package cleanup makes sure that nothing that tare started stays behind. Each
// process of tare that starts things opens an Owner: a folder under the home
// with a lock that lives exactly as long as the process. Everything that is
// started carries the owner's id as its label (a container label, a cgroup
// path, a folder); what carries the id of an owner whose lock nobody holds is
// a dead run's leftover and is swept at the next start or by `tare clean`.
//
// It must not know any environment; an environment's own sweeping is declared
// in its registration.
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

	"tare/internal/linux/cgroup"
)

// The labels that every container, network and volume of tare carries. The
// home stands beside the owner because two homes do not know each other's
// owners.
const (
	Label     = "tare.owner"
	HomeLabel = "tare.home"
)

// CgroupRoot is the group below which every cgroup of tare lies, as
// CgroupRoot/<owner id>/<instance>: "/tare", or tare in the subtree that was
// delegated to who is not root.
var CgroupRoot = path.Join(cgroup.Top(), "tare")

// The files of an owner's folder start with a dot, which no name of an
// instance does.
const (
	lockFile      = ".lock"
	processFolder = ".processes"
	unbornPrefix  = ".unborn-"
)

// separators cannot stand in a home, since not every engine lets them be
// escaped where a path is one of several words.
const separators = ",:\"\n"

// closing is how long Close and Sweep wait for a process that was killed.
const closing = 20 * time.Second

// Owner is a living process's claim on what it starts.
type Owner struct {
	id, home, folder string
	lock             *os.File
	mu               sync.Mutex
	closed           bool
}

// Open claims a new owner below home.
func Open(home string) (*Owner, error) {
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, fmt.Errorf("making tare's home: %w", err)
	}
	home, err := canonical(home)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(home, separators) {
		return nil, fmt.Errorf("tare's home %q has a comma, a colon, a double quote or a new line in its path, which engines and mounts take for something else: choose another one with --home", home)
	}
	release, err := holdWork(home)
	if err != nil {
		return nil, err
	}
	defer release()
	// The folder gets its name when its lock is held, so that no owner ever
	// looks dead while it is being opened.
	unborn, err := os.MkdirTemp(workOf(home), unbornPrefix)
	if err != nil {
		return nil, fmt.Errorf("making an owner's folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(unborn, lockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	id := newID(home)
	if err == nil {
		err = os.Chmod(unborn, 0o755)
	}
	if err == nil {
		err = os.Rename(unborn, folderOf(home, id))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening an owner in %s: %w", workOf(home), err), os.RemoveAll(unborn))
	}
	return &Owner{id: id, home: home, folder: folderOf(home, id), lock: lock}, nil
}

// ID is short, unique and safe in names: lower-case letters and digits.
func (o *Owner) ID() string { return o.id }

// Home is the folder that the owner was opened in, absolute and without
// symbolic links: the value of HomeLabel.
func (o *Owner) Home() string { return o.home }

// Directory makes and returns a private folder for a name (an instance).
func (o *Owner) Directory(name string) (string, error) {
	if !nameRule.MatchString(name) {
		return "", fmt.Errorf("%q is no name for an instance: use letters, digits and dashes", name)
	}
	folder := filepath.Join(o.folder, name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("making the folder of instance %s: %w", name, err)
	}
	return folder, nil
}

var nameRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*$`)

// Cgroup is the path of an instance's group below each controller.
func (o *Owner) Cgroup(name string) string { return CgroupRoot + "/" + o.id + "/" + name }

// Labels are put on every container, network and volume.
func (o *Owner) Labels() map[string]string {
	return map[string]string{Label: o.id, HomeLabel: o.home}
}

// Adopt records a process that must not outlive the owner, with its start time
// so that a later process of the same number is not mistaken for it. Release
// forgets it after its end.
func (o *Owner) Adopt(pid int, role string) (release func(), err error) {
	file, err := record(o.folder, pid, role)
	if err != nil {
		return nil, fmt.Errorf("recording process %d (%s): %w", pid, role, err)
	}
	return func() { os.Remove(file) }, nil
}

// LeftoverError is what still stood when an owner closed, and was removed: a fault of
// whoever left it there, after which nothing is left.
type LeftoverError struct {
	Owner   string
	Removed []string
}

func (s *LeftoverError) Error() string {
	return fmt.Sprintf("at the end of owner %s this still stood and was removed: %s", s.Owner, strings.Join(s.Removed, "; "))
}

// Close removes the owner's folder and cgroups, and says what still stood. The
// error is a Stood alone where all of it is gone; else what resisted is in it as
// well.
func (o *Owner) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	o.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	removed, err := clearOwner(ctx, o.folder, o.id)
	errUnlock := unlock(o.lock)
	err = errors.Join(err, errUnlock)
	if len(removed) == 0 {
		return err
	}
	stood := &LeftoverError{o.id, removed}
	if err == nil {
		return stood
	}
	return errors.Join(stood, err)
}

// Alive lists the owners of a home whose process lives.
func Alive(home string) ([]string, error) {
	home, err := canonical(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	release, err := holdWork(home)
	if err != nil {
		return nil, err
	}
	defer release()
	ids, err := list(home)
	alive := []string{}
	for _, id := range ids {
		if !free(folderOf(home, id)) {
			alive = append(alive, id)
		}
	}
	return alive, err
}

// Dead says whether nobody can be behind an owner's id in this home any more:
// its lock is free, or there is no such owner. What cannot be looked at counts
// as alive.
func Dead(home, id string) bool {
	home, err := canonical(home)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	release, err := holdWork(home)
	if err != nil {
		return false
	}
	defer release()
	_, err = os.Lstat(folderOf(home, id))
	return errors.Is(err, fs.ErrNotExist) || err == nil && free(folderOf(home, id))
}

func workOf(home string) string       { return filepath.Join(home, "work") }
func folderOf(home, id string) string { return filepath.Join(home, "work", id) }

func canonical(home string) (string, error) {
	absolute, err := filepath.Abs(home)
	if err == nil {
		absolute, err = filepath.EvalSymlinks(absolute)
	}
	if err != nil {
		return "", fmt.Errorf("looking up tare's home: %w", err)
	}
	return absolute, nil
}

// newID starts with a hash of the home: a group of an owner without a folder
// is this home's leftover, not another home's possession, when it carries it.
func newID(home string) string {
	random := make([]byte, 4)
	rand.Read(random)
	return prefixOf(home) + letters.EncodeToString(random)[:6]
}

func prefixOf(home string) string {
	sum := sha256.Sum256([]byte(home))
	return letters.EncodeToString(sum[:])[:6]
}

// isID says whether a name can be an owner's id in this home.
func isID(home, name string) bool {
	return len(name) == 12 && strings.HasPrefix(name, prefixOf(home)) && strings.Trim(name, alphabet) == ""
}

// BelongsTo says whether an id is one of an owner of this home, on this machine or on
// another one with a home of the same path.
func BelongsTo(home, id string) bool { return isID(home, id) }

const alphabet = "abcdefghijklmnopqrstuvwxyz234567"

var letters = base32.NewEncoding(alphabet).WithPadding(base32.NoPadding)

// list names the owners that have a folder.
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

// holdWork keeps others from opening or claiming owners for a moment.
func holdWork(home string) (release func(), err error) {
	if err := os.MkdirAll(workOf(home), 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the owners: %w", err)
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
	return func() { unlock(f) }, nil
}

// tryLock takes the lock of an owner's folder. It returns EWOULDBLOCK when
// somebody holds it, and ErrNotExist when the folder is gone or half removed.
func tryLock(folder string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(folder, lockFile), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	// Somebody may have removed the folder after the lock was opened.
	here, err := f.Stat()
	if err == nil {
		var there fs.FileInfo
		if there, err = os.Stat(f.Name()); err == nil && !os.SameFile(here, there) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// unlock frees the lock even if a child that is just being started still has
// the file open.
func unlock(f *os.File) error {
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}

func free(folder string) bool {
	lock, err := tryLock(folder)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	unlock(lock)
	return true
}
