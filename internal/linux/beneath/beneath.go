// Package beneath opens what is in a directory that somebody else filled, such as the
// root file system of an image, without ever leaving it.
//
// It must not know images or instances: directories are arguments.
package beneath

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Directory opens a directory in a root, and makes the last part of its path if that does
// not exist. Links are followed as a process follows them whose root it is: an absolute
// one begins at the root, and ".." ends there.
func Directory(root, path string) (*os.Root, error) {
	top, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	directory, err := resolve(top, path)
	if errors.Is(err, fs.ErrNotExist) {
		parent, opening := resolve(top, filepath.Dir(path))
		if opening != nil {
			return nil, opening
		}
		defer parent.Close()
		if err := parent.Mkdir(filepath.Base(path), 0o755); errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("it is a link to what the root %s does not have: correct the image", root)
		} else if err != nil {
			return nil, err
		}
		directory, err = parent.OpenRoot(filepath.Base(path))
	}
	return directory, err
}

// resolve opens an existing directory.
func resolve(top *os.Root, path string) (*os.Root, error) {
	at, err := top.Open(".")
	if err != nil {
		return nil, err
	}
	defer at.Close()
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(int(at.Fd()), path, &how)
		switch {
		case err == nil:
			defer unix.Close(fd)
			return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
		case err == unix.EAGAIN || err == unix.EINTR: // something was renamed meanwhile, anywhere
		case err == unix.ENOSYS || err == unix.EPERM: // before Linux 5.6, or filtered: no absolute links
			return top.OpenRoot(path)
		default:
			return nil, &fs.PathError{Op: "open", Path: filepath.Join(top.Name(), path), Err: err}
		}
	}
}

// Open opens a regular file in a directory for reading. A link that leads out of the
// directory is an error, and so is a FIFO, whose writer is not waited for.
func Open(directory, name string) (*os.File, error) {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return Regular(root, name, os.O_RDONLY)
}

// Regular opens or creates a regular file in a root, as Open does.
func Regular(root *os.Root, name string, flag int) (*os.File, error) {
	file, err := root.OpenFile(name, flag|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, file.Close(), fmt.Errorf("%s is not a regular file", filepath.Join(root.Name(), name)))
	}
	return file, nil
}

// MountPoint makes an empty mount point in a root, a directory or a file, in place of
// whatever else has its name, such as a link that would lead the mount elsewhere.
func MountPoint(root, name string, directory bool) error {
	top, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer top.Close()
	info, err := top.Lstat(name)
	if err == nil && (directory && info.IsDir() || !directory && info.Mode().IsRegular()) {
		return nil
	}
	if err == nil {
		err = top.RemoveAll(name)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil && directory {
		err = top.Mkdir(name, 0o755)
	} else if err == nil {
		err = top.WriteFile(name, nil, 0o755)
	}
	if err != nil {
		return fmt.Errorf("making the mount point /%s in the root %s: %w", name, root, err)
	}
	return nil
}

// RemoveAll removes a tree of any depth and whatever it holds, except what is mounted in
// it. A program in an instance makes a directory in a directory in no time, and
// os.RemoveAll keeps a file open for each of them, until this process can open none.
func RemoveAll(path string) error {
	err := os.Remove(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if !errors.Is(err, fs.ErrExist) { // as is "not empty"
		return err
	}
	top, err := directory(unix.AT_FDCWD, path)
	if err != nil {
		return err
	}
	defer top.Close()
	var empty func(at *os.File, name string) error
	moved := 0
	// A directory that is not empty moves up to the top, where its turn comes.
	lift := func(from *os.File, name string) error {
		for {
			moved++
			to := fmt.Sprintf(".removed-%d", moved)
			err := unix.Renameat2(int(from.Fd()), name, int(top.Fd()), to, unix.RENAME_NOREPLACE)
			switch {
			case errors.Is(err, unix.EXDEV): // an overlay moves none of its lower directories
				return empty(from, name)
			case !errors.Is(err, fs.ErrExist):
				return err
			}
		}
	}
	empty = func(at *os.File, name string) error {
		below, err := directory(int(at.Fd()), name)
		if err != nil {
			return err
		}
		defer below.Close()
		if err := clear(below, lift); err != nil {
			return err
		}
		return unix.Unlinkat(int(at.Fd()), name, unix.AT_REMOVEDIR)
	}
	if err := clear(top, empty); err != nil {
		return &fs.PathError{Op: "removing what is in", Path: path, Err: err}
	}
	return os.Remove(path)
}

// clear removes what is in a directory, and calls full for each directory in it that is
// not empty.
func clear(at *os.File, full func(at *os.File, name string) error) error {
	for found := true; found; {
		if _, err := at.Seek(0, io.SeekStart); err != nil {
			return err
		}
		names, err := at.Readdirnames(1024)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		found = len(names) > 0
		for _, name := range names {
			err := unix.Unlinkat(int(at.Fd()), name, 0)
			if errors.Is(err, unix.EISDIR) {
				err = unix.Unlinkat(int(at.Fd()), name, unix.AT_REMOVEDIR)
			}
			if errors.Is(err, fs.ErrExist) {
				err = full(at, name)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

func directory(at int, name string) (*os.File, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}
