// Package share writes a directory as a tar stream, and writes such a stream into a
// directory, so that services in different instances have the same files one after the
// other.
//
// It must not know the protocol, nor what the files are.
package share

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Pack writes all directories, regular files and links of a directory. Sockets, pipes and
// devices are left out: they mean nothing in another instance.
func Pack(directory string, to io.Writer) error {
	w := tar.NewWriter(to)
	err := filepath.WalkDir(directory, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(directory, name)
		if err != nil {
			return err
		}
		return pack(w, name, inside, entry)
	})
	return errors.Join(err, w.Close())
}

func pack(w *tar.Writer, name, inside string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	target := ""
	switch info.Mode().Type() {
	case 0, fs.ModeDir:
	case fs.ModeSymlink:
		if target, err = os.Readlink(name); err != nil {
			return err
		}
	default:
		return nil
	}
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	header.Name, header.Uname, header.Gname = inside, "", ""
	if !info.Mode().IsRegular() {
		return w.WriteHeader(header)
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	if _, err := io.CopyN(w, file, header.Size); err != nil {
		return fmt.Errorf("%s changed while it was read: %w", name, err)
	}
	return nil
}

// Unpack writes the entries of a stream below a directory, with their owners and modes,
// in the place of those of the same names. Nothing is written outside of it.
func Unpack(directory string, from io.Reader) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return err
	}
	defer root.Close()
	for r := tar.NewReader(from); ; {
		header, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = unpack(root, header, r)
		}
		if err != nil {
			return fmt.Errorf("writing into %s: %w", directory, err)
		}
	}
}

func unpack(root *os.Root, header *tar.Header, content io.Reader) error {
	name, mode := filepath.Clean(header.Name), header.FileInfo().Mode()
	was, err := root.Lstat(name)
	if err == nil && (!was.IsDir() || header.Typeflag != tar.TypeDir) {
		if err := root.RemoveAll(name); err != nil {
			return err
		}
	}
	switch header.Typeflag {
	case tar.TypeDir:
		if err := root.MkdirAll(name, 0o700); err != nil {
			return err
		}
	case tar.TypeSymlink:
		if err := root.Symlink(header.Linkname, name); err != nil {
			return err
		}
		return owned(root.Lchown(name, header.Uid, header.Gid))
	case tar.TypeReg:
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	default:
		return nil
	}
	if err := owned(root.Lchown(name, header.Uid, header.Gid)); err != nil {
		return err
	}
	return root.Chmod(name, mode) // after the owner, whose change clears some bits
}

// owned leaves files to the user that unpacks, where that cannot give them away.
func owned(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}
