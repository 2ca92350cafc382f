package microvm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
	"tare/internal/quantity"
)

// saving is what one saved guest serves for.
type saving struct {
	digest string
	cpus   int
	memory quantity.Bytes
	pids   int
	io     environment.IO
}

// saved is a guest that stands still for good. Its files have no name any more,
// so that they vanish with this process.
type saved struct {
	once  sync.Once
	err   error
	files map[string]*os.File
	data  *vmm.Template // the data disk, as the guest left it
}

// keep takes the files of a guest that was saved.
func (s *saved) keep(v VMM, folder string) (err error) {
	s.files = map[string]*os.File{}
	for _, name := range v.SnapshotFiles() {
		if s.files[name], err = os.Open(filepath.Join(folder, SnapshotDirectory, name)); err != nil {
			return fmt.Errorf("a file of the saved guest: %w", err)
		}
	}
	s.data, err = vmm.ReadTemplate(filepath.Join(folder, Data))
	return err
}

// put makes the saved guest's files appear in a folder.
func (s *saved) put(folder string) error {
	if err := os.Mkdir(filepath.Join(folder, SnapshotDirectory), 0o755); err != nil {
		return err
	}
	for name, file := range s.files {
		path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd())
		if err := os.Symlink(path, filepath.Join(folder, SnapshotDirectory, name)); err != nil {
			return err
		}
	}
	return s.data.Write(filepath.Join(folder, Data))
}

// savedFor finds or makes the saved guest that a request is served by.
func (e *Environment) savedFor(ctx context.Context, r environment.Request, key saving) (*saved, error) {
	e.mutex.Lock()
	s := e.saved[key]
	if s == nil {
		s = &saved{}
		e.saved[key] = s
	}
	e.mutex.Unlock()
	s.once.Do(func() { s.err = e.save(ctx, r, s) })
	if s.err != nil {
		e.mutex.Lock()
		if e.saved[key] == s { // the next start tries again
			delete(e.saved, key)
		}
		e.mutex.Unlock()
		return nil, fmt.Errorf("saving a guest to restore: %w", s.err)
	}
	return s, nil
}

// save boots a guest up to where its agent would say its first word, and saves
// it there.
func (e *Environment) save(ctx context.Context, r environment.Request, s *saved) (err error) {
	r.Name, r.Network, r.Console = r.Name+"-saved", nil, io.Discard
	g := vmm.New(e.vmm.Name(), r)
	defer func() { err = errors.Join(err, g.Stop(context.WithoutCancel(ctx))) }()
	m, _, err := e.furnish(ctx, g, r, nil, true)
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(m.Directory, SnapshotDirectory), 0o755); err != nil {
		return err
	}
	d, c, err := e.launch(g, m, false, true)
	if err != nil {
		return err
	}
	return g.Run(ctx, c, d, e.options.StartTimeout, func(ctx context.Context) error {
		conn, err := callUntil(ctx, d.place, d.process)
		if err != nil {
			return err
		}
		conn.Close() // without a word: it was only to know that the guest listens
		if err := e.vmm.Save(ctx, d.api, m); err != nil {
			return err
		}
		return s.keep(e.vmm, m.Directory)
	})
}
