// Package beneath opens what is in a directory that somebody else filled, such as the
// root file system of an image, without ever leaving it.
//
// It must not know images or instances: directories are arguments.
package beneath

import (
	"errors"
	"fmt"
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
