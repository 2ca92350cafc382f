package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"tare/internal/linux/beneath"
)

// MountPoint makes a mount point in a root for a directory or a file of this machine. A
// directory on the way that the root lacks is as in the image. A link on the way is
// an error: it would lead to another place in environments that follow it.
func MountPoint(image, root, from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	parts := strings.Split(strings.Trim(path.Clean(to), "/"), "/")
	for n := range parts {
		below := path.Join(parts[:n+1]...)
		is, err := lstat(root, image, below)
		switch {
		case err != nil:
			return err
		case is != nil && is.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("mounting at %s: /%s is a link in the image: name the path that it leads to", to, below)
		case n < len(parts)-1 && is != nil && !is.IsDir():
			return fmt.Errorf("mounting at %s: /%s is not a directory in the image", to, below)
		case n == len(parts)-1:
			return beneath.MountPoint(root, below, info.IsDir())
		}
		if err := makeAs(root, below, is); err != nil {
			return err
		}
	}
	return nil
}

// lstat is what the first of two directories that has the path has there; nil for nothing.
func lstat(first, second, below string) (fs.FileInfo, error) {
	for _, directory := range []string{first, second} {
		top, err := os.OpenRoot(directory)
		if err != nil {
			return nil, err
		}
		info, err := top.Lstat(below)
		top.Close()
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return info, err
		}
	}
	return nil, nil
}

// makeAs makes a directory, with mode and owner of the image's.
func makeAs(root, below string, is fs.FileInfo) error {
	top, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer top.Close()
	switch err := top.Mkdir(below, 0o755); {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil || is == nil:
		return err
	}
	owner := is.Sys().(*syscall.Stat_t)
	return errors.Join(top.Chown(below, int(owner.Uid), int(owner.Gid)), top.Chmod(below, is.Mode().Perm()|is.Mode()&(fs.ModeSticky|fs.ModeSetgid)))
}
