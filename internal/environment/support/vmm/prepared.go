package vmm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"tare/internal/agent"
	"tare/internal/base/bounded"
	"tare/internal/image"
	"tare/internal/image/kernel"
)

// Prepared is what all instances of an environment share: the guest's kernel and
// initramfs, an empty data disk, and a form of each image's disk.
type Prepared[T any] struct {
	// Check refuses a kernel that the VMM does not boot.
	Check func(*kernel.Guest) error
	// Data makes the data disk, with the file at its disposal.
	Data func(ctx context.Context, file string) (*Template, error)
	// Root makes the form of an image's disk; file is at its disposal.
	Root func(ctx context.Context, file, disk string) (T, error)

	mutex sync.Mutex
	guest *kernel.Guest
	data  *Template
	roots map[string]T // by the image's digest
}

// Prepare makes what is shared, and the form of the image's disk.
func (p *Prepared[T]) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	if progress == nil {
		progress = func(string) {}
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if _, done := p.roots[img.Digest]; done {
		return nil
	}
	work, err := bounded.Temporary("tare-guest-")
	if err != nil {
		return fmt.Errorf("creating a directory to prepare a guest in: %w", err)
	}
	defer os.RemoveAll(work)
	if p.guest == nil {
		program, err := agent.WriteBinary(work)
		if err != nil {
			return err
		}
		guest, err := img.Guest(ctx, program, progress)
		if err != nil {
			return err
		}
		if err := p.Check(guest); err != nil {
			return err
		}
		p.guest = guest
	}
	if p.data == nil {
		if p.data, err = p.Data(ctx, filepath.Join(work, "data")); err != nil {
			return err
		}
	}
	progress("disk of image " + img.Name)
	disk, err := img.Disk(ctx)
	if err == nil {
		disk, err = filepath.Abs(disk)
	}
	if err != nil {
		return err
	}
	root, err := p.Root(ctx, filepath.Join(work, "root"), disk)
	if err != nil {
		return err
	}
	if p.roots == nil {
		p.roots = map[string]T{}
	}
	p.roots[img.Digest] = root
	return nil
}

// Of returns what Prepare makes for an image.
func (p *Prepared[T]) Of(ctx context.Context, img *image.Image) (guest *kernel.Guest, root T, data *Template, err error) {
	if err := p.Prepare(ctx, img, nil); err != nil {
		return nil, root, nil, err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.guest, p.roots[img.Digest], p.data, nil
}

// AddKernel adds the version of the guest's kernel, once it is known.
func (p *Prepared[T]) AddKernel(versions map[string]string) map[string]string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.guest != nil {
		versions["guest kernel"] = p.guest.Version
	}
	return versions
}
