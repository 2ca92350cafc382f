package rootfs

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
	"tare/internal/image/store"

	"golang.org/x/sys/unix"
)

// What an image may hold. Its maker decides how much that is, so more is refused
// before it takes memory or disk. docs/reference/images.md has the same figures.
const (
	maxSize    = 64 * quantity.GiB // of its files
	maxEntries = 1_000_000         // of all layers together
	maxNames   = 256 * quantity.MiB
	maxName    = 4096 // the kernel's PATH_MAX
)

// Budget is what is left for an image.
type Budget struct {
	size, names quantity.Bytes
	entries     int
	why         string // the reason for the size
}

// NewBudget returns the budget of an image whose files are written below a directory:
// most of what is free there, if that is less.
func NewBudget(dir string) (*Budget, error) {
	b := unwritten()
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return nil, fmt.Errorf("free space for images: %w", &os.PathError{Op: "statfs", Path: dir, Err: err})
	}
	// The rest is for what else writes to the disk.
	if usable := quantity.Bytes(fs.Bavail) * quantity.Bytes(fs.Bsize) / 20 * 19; usable < b.size {
		b.size, b.why = usable, fmt.Sprintf("%s can be used in %s: free some space there, or remove images (tare ls images, tare rm)", usable, dir)
	}
	return b, nil
}

// unwritten returns the budget of an image of which nothing is written.
func unwritten() *Budget {
	return &Budget{size: maxSize, names: maxNames, entries: maxEntries, why: fmt.Sprintf("the limit of an image is %s", maxSize)}
}

// File takes the content of a file.
func (b *Budget) File(name string, size int64) error {
	if quantity.Bytes(size) > b.size {
		return fmt.Errorf("%s has %s, which is too much: %s", name, quantity.Bytes(size), b.why)
	}
	b.size -= quantity.Bytes(size)
	return nil
}

// Entry takes an entry of a tar file, without its content.
func (b *Budget) Entry(header *tar.Header) error {
	if len(header.Name) > maxName || len(header.Linkname) > maxName {
		return fmt.Errorf("the name of an entry has more than %d bytes", maxName)
	}
	b.entries--
	b.names -= quantity.Bytes(len(header.Name) + len(header.Linkname))
	if b.entries < 0 || b.names < 0 {
		return fmt.Errorf("it has too many files: the limit is %d, with %s of names", maxEntries, quantity.Bytes(maxNames))
	}
	return nil
}

// Copy copies a stream whose length nobody knows.
func (b *Budget) Copy(to io.Writer, from io.Reader) error {
	n, err := io.Copy(to, io.LimitReader(from, int64(b.size)))
	b.size -= quantity.Bytes(n)
	if err == nil && b.size == 0 {
		if more, _ := io.CopyN(io.Discard, from, 1); more > 0 {
			return fmt.Errorf("%w: %s", bounded.ErrTooLong, b.why)
		}
	}
	return store.Explain(err)
}

// Room checks that a directory has space for a form of an image.
func Room(dir string, size int64) error {
	b, err := NewBudget(dir)
	if err != nil {
		return err
	}
	return b.File("it", size)
}

// Limit lowers what the files may hold.
func (b *Budget) Limit(size quantity.Bytes) { b.size = min(b.size, size) }
