package beneath

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

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
