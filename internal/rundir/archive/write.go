package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"tare/internal/base/quantity"
	"tare/internal/image"
	"tare/internal/linux/beneath"
)

// Create writes a file that is there when it is complete, and before that under no name:
// not even a process that is killed leaves a part of it. It replaces no file.
func Create(path string, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: unix.EEXIST}
	}
	file, err := os.OpenFile(filepath.Dir(path), os.O_WRONLY|unix.O_TMPFILE, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) {
		return createNamed(path, write)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if err := errors.Join(write(file), file.Sync()); err != nil {
		return err
	}
	self := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	if err := unix.Linkat(unix.AT_FDCWD, self, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &fs.PathError{Op: "create", Path: path, Err: err}
	}
	return nil
}

// createNamed is Create where the file system has no files without a name, such as NFS.
func createNamed(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(write(file), file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// content is a file that goes into an archive.
type content struct {
	path string // in the archive
	open func() (*os.File, error)
}

// Write packs a run directory under a name, with images that it ran, if any. leave says
// which files of the directory stay out. The same files give the same bytes.
func Write(ctx context.Context, w io.Writer, version, name, directory string, leave func(path string) bool, images []*image.Image) error {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return err
	}
	defer root.Close()
	x := Index{Format: Format, Tare: version, Run: name}
	files, err := filesOf(root, name, leave)
	if err != nil {
		return err
	}
	for _, img := range images {
		config, err := json.Marshal(img.Config)
		if err != nil {
			return err
		}
		one := Image{Digest: img.Digest, Name: img.Name, Env: img.Env, Dir: img.Dir, Config: config}
		x.Images = append(x.Images, one)
		files = append(files, content{one.file(), func() (*os.File, error) { return os.Open(img.Tar()) }})
	}
	for _, c := range files {
		f, err := c.describe(ctx)
		if err != nil {
			return err
		}
		x.Files = append(x.Files, f)
	}
	text, err := json.MarshalIndent(x, "", " ")
	if err == nil && len(text) > int(maxIndex) {
		err = fmt.Errorf("its index would have %s, and at most %s are read", quantity.Bytes(len(text)), maxIndex)
	}
	if err == nil {
		_, err = parse(text)
	}
	if err != nil {
		return fmt.Errorf("the archive would be refused when it is read: %w; share the directory of the run instead", err)
	}
	return x.write(ctx, w, text, files)
}

// filesOf lists the regular files of a run directory, in order.
func filesOf(root *os.Root, name string, leave func(string) bool) (files []content, err error) {
	err = fs.WalkDir(root.FS(), ".", func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil, d.IsDir() || leave(at):
			return err
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file: remove it", filepath.Join(root.Name(), at))
		}
		files = append(files, content{path.Join(name, at), func() (*os.File, error) { return beneath.Regular(root, at, os.O_RDONLY) }})
		return nil
	})
	return files, err
}

func (c content) describe(ctx context.Context) (f File, err error) {
	file, err := c.open()
	if err != nil {
		return f, err
	}
	defer file.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, reader{ctx, file})
	return File{c.path, quantity.Bytes(n), hex.EncodeToString(sum.Sum(nil))}, err
}

func (x Index) write(ctx context.Context, w io.Writer, text []byte, files []content) error {
	compressed, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	out := tar.NewWriter(compressed)
	add := func(name string, size int64, from io.Reader) error {
		if err := out.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644, Typeflag: tar.TypeReg, Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err := io.CopyN(out, from, size)
		return err
	}
	err = add(indexName, int64(len(text)), bytes.NewReader(text))
	for i, c := range files {
		if err != nil {
			break
		}
		err = x.Files[i].copy(ctx, c, add)
	}
	return errors.Join(err, out.Close(), compressed.Close())
}

// copy adds a file, which must not have changed since it was described.
func (f File) copy(ctx context.Context, c content, add func(string, int64, io.Reader) error) error {
	file, err := c.open()
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	err = add(f.Path, int64(f.Size), io.TeeReader(reader{ctx, file}, sum))
	if errors.Is(err, io.EOF) || err == nil && hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
		return fmt.Errorf("%s changed while it was packed: is the run under way?", f.Path)
	}
	return err
}

// reader ends when the context does.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
