package vmm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/internal/linux/beneath"
)

// Template is the content of a sparse file in memory: an empty file system or
// overlay that a tool created once, and that each instance gets a copy of within
// a millisecond.
type Template struct {
	size   int64
	pieces []piece
}

type piece struct {
	offset int64
	data   []byte
}

const blockSize = 4096

// ReadTemplate reads the non-zero blocks of a file.
func ReadTemplate(path string) (*Template, error) {
	f, err := beneath.Open(filepath.Split(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	t := &Template{size: info.Size()}
	zero := make([]byte, blockSize)
	for at := int64(0); at < t.size; {
		start, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) { // only a hole follows
			break
		}
		if err != nil {
			return nil, fmt.Errorf("seeking data in %s: %w", path, err)
		}
		end, err := unix.Seek(int(f.Fd()), start, unix.SEEK_HOLE)
		if err != nil {
			return nil, fmt.Errorf("seeking a hole in %s: %w", path, err)
		}
		for at = start; at < end; {
			block := make([]byte, min(blockSize, end-at))
			if _, err := io.ReadFull(io.NewSectionReader(f, at, end-at), block); err != nil {
				return nil, fmt.Errorf("reading %s: %w", path, err)
			}
			if !bytes.Equal(block, zero[:len(block)]) {
				t.add(at, block)
			}
			at += int64(len(block))
		}
	}
	return t, nil
}

func (t *Template) add(offset int64, data []byte) {
	if n := len(t.pieces); n > 0 {
		last := &t.pieces[n-1]
		if last.offset+int64(len(last.data)) == offset {
			last.data = append(last.data, data...)
			return
		}
	}
	t.pieces = append(t.pieces, piece{offset, data})
}

// Write creates a file with the template's content. The file must not exist.
func (t *Template) Write(path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Truncate(t.size); err != nil {
		return fmt.Errorf("setting the size of %s to %d bytes: %w", path, t.size, err)
	}
	for _, p := range t.pieces {
		if _, err := f.WriteAt(p.data, p.offset); err != nil {
			return err
		}
	}
	return nil
}
