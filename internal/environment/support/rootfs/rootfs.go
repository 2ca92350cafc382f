// Package rootfs makes root file systems of instances on this machine from the
// directory of an image, which it never changes.
//
// It must not know environments: they mount what it returns.
package rootfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/internal/linux/beneath"
)

// shared are the directories that an instance gets as read-only bind mounts of the
// image's: programs, and what only a package manager writes to. All others are copied,
// so that a program writes to a plain file system without the cost of an overlay.
var shared = []string{
	"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "boot",
	"var/lib/dpkg", "var/lib/apt", "var/cache/apt", "lib/apk",
}

// kernels are the directories on which the agent mounts kernel file systems.
var kernels = []string{"proc", "sys", "dev"}

// Fresh makes a root from an image's directory and returns the bind mounts that it
// needs, as SRC:DST[:ro].
func Fresh(image, root string) (binds []string, err error) {
	c := copying{links: map[[2]uint64]string{}, leaf: func(below string, info fs.FileInfo) bool {
		if info.IsDir() && slices.Contains(shared, below) {
			binds = append(binds, filepath.Join(image, below)+":/"+below+":ro")
		}
		return isLeaf(below, info)
	}}
	if err := c.directory(image, root, ""); err != nil {
		return nil, fmt.Errorf("making a root from %s: %w", image, err)
	}
	if err := HostNames(root); err != nil {
		return nil, fmt.Errorf("making a root from %s: %w", image, err)
	}
	return binds, nil
}

// isLeaf reports whether a directory is made without its contents.
func isLeaf(below string, info fs.FileInfo) bool {
	return info.IsDir() && (slices.Contains(shared, below) || slices.Contains(kernels, below))
}

// HostNames gives a root /etc/hosts and the host's /etc/resolv.conf, as container engines
// do. A link of the image leads within the root, as it does for the image's programs.
func HostNames(root string) error {
	etc, err := beneath.Directory(root, "etc")
	if err != nil {
		return fmt.Errorf("/etc of the root: %w", err)
	}
	defer etc.Close()
	if _, err := etc.Lstat("hosts"); errors.Is(err, fs.ErrNotExist) {
		if err := etc.WriteFile("hosts", []byte("127.0.0.1\tlocalhost\n::1\tlocalhost\n"), 0o644); err != nil {
			return err
		}
	}
	const own = "resolv.conf"
	resolver, err := os.ReadFile("/etc/" + own)
	if err != nil {
		return nil // a host without one resolves nothing either
	}
	if err := etc.RemoveAll(own); err != nil {
		return err // it is often a link to what only a running system has
	}
	return etc.WriteFile(own, resolver, 0o644)
}

// escape escapes directories for the mount options of an overlay.
var escape = strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`)

// Escape makes the path of a directory one in the mount options of an overlay.
func Escape(directory string) string { return escape.Replace(directory) }

// Overlay makes the upper and the work directory of an overlay over an image's directory,
// and returns its mount options.
func Overlay(image, directory string) (upper, options string, err error) {
	upper, work := filepath.Join(directory, "upper"), filepath.Join(directory, "work")
	for _, made := range []string{upper, work} {
		if err := os.Mkdir(made, 0o755); err != nil {
			return "", "", err
		}
	}
	return upper, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", Escape(image), Escape(upper), Escape(work)), nil
}

// Data makes /data in a root, writable by all, since servers run as other users. A link
// of the image leads within the root.
func Data(root string) error {
	data, err := beneath.Directory(root, "data")
	if err == nil {
		defer data.Close()
		err = data.Chmod(".", 0o777)
	}
	if err != nil {
		return fmt.Errorf("/data of the root: %w", err)
	}
	return nil
}

// Shown makes a root with bind mounts of another root's top-level directories, except
// /data and those of kernel file systems.
func Shown(from, root string, readOnly bool) (binds []string, err error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, fmt.Errorf("reading the root %s: %w", from, err)
	}
	how := ""
	if readOnly {
		how = ":ro"
	}
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(from, e.Name())
		if slices.Contains(kernels, name) || name == "data" || name == "lost+found" || strings.Contains(name, ":") {
			continue
		}
		switch {
		case e.IsDir():
			binds = append(binds, path+":/"+name+how)
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err == nil {
				err = os.Symlink(to, filepath.Join(root, name))
			}
			if err != nil {
				return nil, fmt.Errorf("making a root that shows %s: %w", from, err)
			}
		}
	}
	return binds, nil
}

// copying copies a tree with modes, owners, times, hard links, extended
// attributes and device nodes.
type copying struct {
	links map[[2]uint64]string // device and inode → the copy
	// leaf reports whether a directory is made without its contents.
	leaf func(below string, info fs.FileInfo) bool
}

func (c *copying) directory(from, to, below string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if !c.leaf(below, info) {
		if err := c.contents(from, to, below, nil); err != nil {
			return err
		}
	}
	return copyMetadata(from, to, info) // last: filling a directory changes its time
}

// contents copies what is in a directory, but for the names that are there.
func (c *copying) contents(from, to, below string, there []string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		inner, next := filepath.Join(below, e.Name()), c.file
		if slices.Contains(there, e.Name()) {
			continue
		}
		if e.IsDir() {
			next = c.directory
		}
		if err := next(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()), inner); err != nil {
			return err
		}
	}
	return nil
}

func (c *copying) file(from, to, _ string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	stat := info.Sys().(*syscall.Stat_t)
	if stat.Nlink > 1 {
		inode := [2]uint64{uint64(stat.Dev), stat.Ino}
		if first, ok := c.links[inode]; ok {
			return os.Link(first, to)
		}
		c.links[inode] = to
	}
	switch {
	case info.Mode().IsRegular():
		err = content(from, to)
	case info.Mode()&fs.ModeSymlink != 0:
		var target string
		if target, err = os.Readlink(from); err == nil {
			err = os.Symlink(target, to)
		}
	default:
		err = unix.Mknod(to, stat.Mode, int(stat.Rdev))
	}
	if err != nil {
		return err
	}
	return copyMetadata(from, to, info)
}

// content copies a file; the kernel shares the blocks where the file system can.
func content(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// copyMetadata copies owner, extended attributes, mode and modification time.
func copyMetadata(from, to string, info fs.FileInfo) error {
	stat := info.Sys().(*syscall.Stat_t)
	if int(stat.Uid) != os.Geteuid() || int(stat.Gid) != os.Getegid() {
		if err := os.Lchown(to, int(stat.Uid), int(stat.Gid)); err != nil {
			return err
		}
	}
	if err := attributes(from, to); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		// After the owner: a change of owner takes the set-user bit away.
		if err := unix.Chmod(to, stat.Mode&0o7777); err != nil {
			return &fs.PathError{Op: "chmod", Path: to, Err: err}
		}
	}
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Sec: int64(stat.Mtim.Sec), Nsec: int64(stat.Mtim.Nsec)}}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, to, times, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &fs.PathError{Op: "utimes", Path: to, Err: err}
	}
	return nil
}

func attributes(from, to string) error {
	var buffer [1024]byte
	names := buffer[:]
	n, err := unix.Llistxattr(from, names)
	if errors.Is(err, unix.ERANGE) {
		names = make([]byte, 1<<16)
		n, err = unix.Llistxattr(from, names)
	}
	if n == 0 || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	if err != nil {
		return &fs.PathError{Op: "listxattr", Path: from, Err: err}
	}
	for _, name := range attributeNames(names[:n]) {
		value := make([]byte, 1<<16)
		n, err := unix.Lgetxattr(from, name, value)
		if err == nil {
			err = unix.Lsetxattr(to, name, value[:n], 0)
		}
		if err != nil && !ofSELinux(name) {
			return &fs.PathError{Op: "copying attribute " + name, Path: from, Err: err}
		}
	}
	return nil
}

// attributeNames are those of a list, each of which ends with a zero byte.
func attributeNames(list []byte) []string {
	return strings.FieldsFunc(string(list), func(r rune) bool { return r == 0 })
}

// ofSELinux says whether an attribute is a label, which files of the host get automatically.
func ofSELinux(name string) bool { return strings.HasPrefix(name, "security.selinux") }
