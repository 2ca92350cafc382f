package archive

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
)

// maxWindow is how much memory the decoder takes at the most.
const maxWindow = 64 << 20

// Is reports whether a file may be an archive, or a zip with one: whether it is compressed
// so.
func Is(path string) bool {
	file, err := bounded.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	var begin [4]byte
	_, err = io.ReadFull(file, begin[:])
	return err == nil && (string(begin[:]) == zipBegin || begin == [4]byte{0x28, 0xb5, 0x2f, 0xfd}) // RFC 8878, section 3.1.1
}

// ErrNoRoom is in the chain of the error about an archive that does not fit on the disk.
var ErrNoRoom = errors.New("it does not fit")

// Read unpacks the run of an archive into a directory, in which it makes one of the name
// of the run. Images are read, and left out. What was unpacked before an error stays for
// the caller to remove.
func Read(ctx context.Context, from io.Reader, into string) (Index, error) {
	root, err := os.OpenRoot(into)
	if err != nil {
		return Index{}, err
	}
	defer root.Close()
	var x Index
	err = each(ctx, from, func(index Index) error {
		x = index
		if err := enough(into, x.room()); err != nil {
			return err
		}
		return root.Mkdir(x.Run, 0o700)
	}, func(f File, content io.Reader) error {
		if !x.holds(f.Path) {
			return nil
		}
		return f.write(root, content)
	})
	return x, err
}

// ReadImages gives take each image of an archive, and writes nothing itself. The data of
// an image is known to be that of the index when ReadImages has returned, and not before.
func ReadImages(ctx context.Context, from io.Reader, take func(Image, io.Reader) error) error {
	images := map[string]Image{}
	return each(ctx, from, func(x Index) error {
		for _, i := range x.Images {
			images[i.file()] = i
		}
		return nil
	}, func(f File, content io.Reader) error {
		if i, is := images[f.Path]; is {
			return take(i, content)
		}
		return nil
	})
}

// each calls begin with the index of an archive, and file with each of its files, which
// may leave content unread.
func each(ctx context.Context, from io.Reader, begin func(Index) error, file func(File, io.Reader) error) error {
	decoder, err := zstd.NewReader(reader{ctx, from}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(uint64(maxSize)))
	if err != nil {
		return err
	}
	defer decoder.Close()
	in := tar.NewReader(decoder)
	x, err := readIndex(in)
	if err != nil {
		return fmt.Errorf("it is not a run archive: %w", err)
	}
	if err := begin(x); err != nil {
		return err
	}
	for _, f := range x.Files {
		if err := f.read(in, func(content io.Reader) error { return file(f, content) }); err != nil {
			return err
		}
	}
	switch _, err := in.Next(); {
	case err == nil:
		return errors.New("it has a file that its index does not name")
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("after its last file: %w", err)
	}
	// The checksum of the compressed data is behind the end of the tar.
	switch n, err := io.CopyN(io.Discard, decoder, 1); {
	case n > 0:
		return errors.New("it goes on after its last file")
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("after its last file: %w", err)
	}
	return nil
}

func readIndex(in *tar.Reader) (x Index, err error) {
	h, err := in.Next()
	if err != nil {
		return x, err
	}
	if h.Name != indexName || !simple(h) {
		return x, fmt.Errorf("its first file is %.100q, and not %s", h.Name, indexName)
	}
	text, err := bounded.ReadAll(in, maxIndex)
	if err != nil {
		return x, err
	}
	return parse(text)
}

// simple reports whether a header is that of a regular file as Write writes it, of which
// nothing but the name and the size means anything.
func simple(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if key != "path" && key != "size" {
			return false
		}
	}
	return h.Typeflag == tar.TypeReg && h.Linkname == ""
}

// enough refuses an archive that does not fit, before anything is written.
func enough(into string, size quantity.Bytes) error {
	var at unix.Statfs_t
	if err := unix.Statfs(into, &at); err != nil {
		return fmt.Errorf("free space of %s: %w", into, err)
	}
	if free := quantity.Bytes(at.Bavail) * quantity.Bytes(at.Bsize); size > free/10*9 {
		return fmt.Errorf("%w: its files need %s, and %s has %s free", ErrNoRoom, size, into, free)
	}
	return nil
}

// read reads the next file of the archive, which has to be this one.
func (f File) read(in *tar.Reader, do func(io.Reader) error) error {
	h, err := in.Next()
	switch {
	case err != nil:
		return fmt.Errorf("%s: it ends early: %w", f.Path, err)
	case h.Name != f.Path || !simple(h) || h.Size != int64(f.Size):
		return fmt.Errorf("%s: %.100q (%d bytes) is in its place", f.Path, h.Name, h.Size)
	}
	sum := sha256.New()
	content := io.TeeReader(in, sum)
	if err := do(content); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("%s: the data has the checksum %s, and its index %s: the archive is damaged or was changed", f.Path, got, f.SHA256)
	}
	return nil
}

func (f File) write(root *os.Root, from io.Reader) error {
	if err := root.MkdirAll(path.Dir(f.Path), 0o700); err != nil {
		return err
	}
	file, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		err = fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	return errors.Join(err, file.Close())
}
