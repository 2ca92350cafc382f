package archive

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"tare/internal/bounded"
	"tare/internal/quantity"
)

// maxWindow is how much memory the decoder takes at the most.
const maxWindow = 64 << 20

// Read unpacks an archive into a directory, in which it makes one of the name of the run.
// take receives each image that is in it; nil leaves them out. What was unpacked before
// an error stays for the caller to remove.
func Read(ctx context.Context, from io.Reader, into string, take func(Image, io.Reader) error) (Index, error) {
	decoder, err := zstd.NewReader(reader{ctx, from}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(uint64(maxSize)))
	if err != nil {
		return Index{}, err
	}
	defer decoder.Close()
	in := tar.NewReader(decoder)
	x, err := readIndex(in)
	if err != nil {
		return x, fmt.Errorf("it is not a run archive: %w", err)
	}
	if err := enough(into, x); err != nil {
		return x, err
	}
	root, err := os.OpenRoot(into)
	if err != nil {
		return x, err
	}
	defer root.Close()
	if err := root.Mkdir(x.Run, 0o700); err != nil {
		return x, err
	}
	images := map[string]Image{}
	for _, i := range x.Images {
		images[i.file()] = i
	}
	for _, f := range x.Files {
		if err := f.read(in, func(content io.Reader) error {
			if i, is := images[f.Path]; is {
				if take == nil {
					return nil
				}
				return take(i, content)
			}
			return f.write(root, content)
		}); err != nil {
			return x, err
		}
	}
	switch _, err := in.Next(); {
	case err == nil:
		return x, errors.New("it has a file that its index does not name")
	case !errors.Is(err, io.EOF):
		return x, fmt.Errorf("after its last file: %w", err)
	}
	return x, nil
}

func readIndex(in *tar.Reader) (x Index, err error) {
	h, err := in.Next()
	if err != nil {
		return x, err
	}
	if h.Name != indexName || h.Typeflag != tar.TypeReg {
		return x, fmt.Errorf("its first file is %.100q, and not %s", h.Name, indexName)
	}
	text, err := bounded.ReadAll(in, maxIndex)
	if err != nil {
		return x, err
	}
	if err := json.Unmarshal(text, &x); err != nil {
		return x, fmt.Errorf("%s: %w", indexName, err)
	}
	return x, x.check()
}

// enough refuses an archive that does not fit, before anything is written.
func enough(into string, x Index) error {
	var at unix.Statfs_t
	if err := unix.Statfs(into, &at); err != nil {
		return fmt.Errorf("free space of %s: %w", into, err)
	}
	if free := quantity.Bytes(at.Bavail) * quantity.Bytes(at.Bsize); x.size() > free/10*9 {
		return fmt.Errorf("its files have %s, and %s has %s free", x.size(), into, free)
	}
	return nil
}

// read reads the next file of the archive, which has to be this one.
func (f File) read(in *tar.Reader, do func(io.Reader) error) error {
	h, err := in.Next()
	switch {
	case err != nil:
		return fmt.Errorf("%s: it ends early: %w", f.Path, err)
	case h.Name != f.Path || h.Typeflag != tar.TypeReg || h.Size != int64(f.Size):
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
	return errors.Join(err, file.Close())
}
