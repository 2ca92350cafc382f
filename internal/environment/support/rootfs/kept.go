package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/base/lists"
)

// mostKept bounds how many roots of an image wait for an instance.
const mostKept = 4

// ticks is how long an instance waits for the clock of its file system: five ticks of the
// slowest kernel (HZ=100).
const ticks = 50 * time.Millisecond

// Roots are those of instances that have ended, each put back to what the image has. The
// next instance gets one of them: to make a thousand files takes a second on some disks, to
// look at them a hundredth of that.
type Roots struct {
	directory string
	mu        sync.Mutex
	made      int
	free      map[string][]*Kept // by the image's directory
}

// Kept is a root that is used by one instance at a time.
type Kept struct {
	Binds        []string // see Fresh
	image, place string
	of           map[string]stamp // every file, by its path below the root
	hidden       bool             // a change may have the time that of has: it is not used again
}

// stamp is what changes with every change of a file: no system call sets the time of the
// last change of an inode.
type stamp struct {
	device, inode uint64
	mode          uint32
	changed       unix.Timespec
}

// NewRoots keeps roots in a directory.
func NewRoots(directory string) *Roots {
	return &Roots{directory: directory, free: map[string][]*Kept{}}
}

// Fresh is a root with what the image has, at a path where nothing or an empty directory is.
func (r *Roots) Fresh(image, root string) (*Kept, error) {
	if k := r.take(image); k != nil {
		if err := unix.Rename(k.place, root); err != nil {
			return nil, &os.LinkError{Op: "rename", Old: k.place, New: root, Err: err}
		}
		return k, k.await(root)
	}
	binds, err := Fresh(image, root)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.made++
	k := &Kept{Binds: binds, image: image, place: filepath.Join(r.directory, strconv.Itoa(r.made))}
	r.mu.Unlock()
	if k.of, err = stamps(root); err != nil {
		return nil, err
	}
	return k, k.await(root)
}

// await waits until a change gets a later time than the files have. The clock of a file
// system advances in ticks of some milliseconds, and in seconds on a few: there the root is
// used once.
func (k *Kept) await(root string) error {
	var newest unix.Timespec
	for _, s := range k.of {
		if later(s.changed, newest) {
			newest = s.changed
		}
	}
	clock, err := os.CreateTemp(filepath.Dir(root), ".clock-")
	if err != nil {
		return err
	}
	defer os.Remove(clock.Name())
	defer clock.Close()
	for end := time.Now().Add(ticks); ; time.Sleep(time.Millisecond) {
		if err := clock.Chmod(0o600); err != nil {
			return err
		}
		now, err := stampOf(clock.Name())
		if err != nil {
			return err
		}
		if k.hidden = !later(now.changed, newest); !k.hidden || time.Now().After(end) {
			return nil
		}
	}
}

func later(a, b unix.Timespec) bool {
	return a.Sec > b.Sec || a.Sec == b.Sec && a.Nsec > b.Nsec
}

func (r *Roots) take(image string) (k *Kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if all := r.free[image]; len(all) > 0 {
		k, r.free[image] = all[len(all)-1], all[:len(all)-1]
	}
	return k
}

// Keep puts a root back, whose instance has ended, and moves it away. One that cannot be put
// back, or that no instance will need, stays where it is.
func (r *Roots) Keep(k *Kept, root string) {
	r.mu.Lock()
	enough := len(r.free[k.image]) >= mostKept
	r.mu.Unlock()
	if enough || k.hidden || k.putBack(root) != nil || os.Rename(root, k.place) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free[k.image] = append(r.free[k.image], k)
}

// putBack makes a root what it was: what an instance has changed is removed, and copied from
// the image again.
func (k *Kept) putBack(root string) error {
	below, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer below.Close()
	again := copying{links: map[[2]uint64]string{}, leaf: isLeaf}
	if err := k.directory(&again, below, ""); err != nil {
		return err
	}
	if err := HostNames(root); err != nil {
		return err
	}
	k.of, err = stamps(root)
	return err
}

func (k *Kept) directory(again *copying, root *os.Root, below string) error {
	entries, err := os.ReadDir(filepath.Join(root.Name(), below))
	if err != nil {
		return err
	}
	for _, e := range entries {
		inner := filepath.Join(below, e.Name())
		now, err := stampOf(filepath.Join(root.Name(), inner))
		if err != nil {
			return err
		}
		was, known := k.of[inner]
		same := known && now.inode == was.inode && now.device == was.device
		switch {
		case same && e.IsDir(): // of the files in it, some may have changed
			err = k.directory(again, root, inner)
		case now != was:
			err = root.RemoveAll(inner)
		}
		if err != nil {
			return err
		}
	}
	return k.complete(again, root.Name(), below)
}

// complete copies what is missing of a directory, and sets what else the image says of it.
func (k *Kept) complete(again *copying, root, below string) error {
	from, to := filepath.Join(k.image, below), filepath.Join(root, below)
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // such as an /etc that only the host's names are in
	}
	if err != nil {
		return err
	}
	if !again.leaf(below, info) {
		there, err := os.ReadDir(to)
		if err != nil {
			return err
		}
		if err := again.contents(from, to, below, lists.Map(there, os.DirEntry.Name)); err != nil {
			return err
		}
	}
	if now, err := stampOf(to); err != nil || now == k.of[below] {
		return err
	}
	if err := bare(to); err != nil {
		return err
	}
	of := info.Sys().(*syscall.Stat_t)
	if err := os.Lchown(to, int(of.Uid), int(of.Gid)); err != nil {
		return err
	}
	return copyMetadata(from, to, info)
}

// bare removes the extended attributes of a directory: the image's are copied anew.
func bare(path string) error {
	names := make([]byte, 1<<16)
	n, err := unix.Llistxattr(path, names)
	if errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	if err != nil {
		return &fs.PathError{Op: "listxattr", Path: path, Err: err}
	}
	for _, name := range attributeNames(names[:n]) {
		if err := unix.Lremovexattr(path, name); err != nil && !ofSELinux(name) {
			return &fs.PathError{Op: "removing attribute " + name, Path: path, Err: err}
		}
	}
	return nil
}

// stamps of all that is below a root.
func stamps(root string) (map[string]stamp, error) {
	all := map[string]stamp{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if below == "." {
			below = ""
		}
		all[below], err = stampOf(path)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the root %s: %w", root, err)
	}
	return all, nil
}

func stampOf(path string) (stamp, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return stamp{}, err
	}
	s := info.Sys().(*syscall.Stat_t)
	return stamp{uint64(s.Dev), s.Ino, s.Mode, unix.Timespec{Sec: int64(s.Ctim.Sec), Nsec: int64(s.Ctim.Nsec)}}, nil
}
