package microvm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
	"tare/internal/linux/beneath"
)

// snapshotKey is the configuration that one snapshot serves.
type snapshotKey struct {
	digest string
	cpus   int
	memory quantity.Bytes
	pids   int
	io     environment.IO
}

// snapshot is a saved guest. Its files are unlinked but open, so that they vanish
// with this process.
type snapshot struct {
	once  sync.Once
	err   error
	files map[string]*os.File
	data  *vmm.Template // the data disk when the snapshot was taken
}

func (s *snapshot) open(v *VMM, dir string) (err error) {
	s.files = map[string]*os.File{}
	for _, name := range v.SnapshotFiles {
		if s.files[name], err = beneath.Open(dir, filepath.Join(SnapshotDirectory, name)); err != nil {
			return fmt.Errorf("opening a file of the snapshot: %w", err)
		}
	}
	s.data, err = vmm.ReadTemplate(filepath.Join(dir, Data))
	return err
}

// install links the snapshot's files into a directory, and writes the data disk.
func (s *snapshot) install(dir string) error {
	if err := os.Mkdir(filepath.Join(dir, SnapshotDirectory), 0o755); err != nil {
		return err
	}
	for name, file := range s.files {
		path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd())
		if err := os.Symlink(path, filepath.Join(dir, SnapshotDirectory, name)); err != nil {
			return err
		}
	}
	return s.data.Write(filepath.Join(dir, Data))
}

// snapshotFor returns the snapshot for a request, and takes it if there is none.
func (e *Environment) snapshotFor(ctx context.Context, r environment.Request, key snapshotKey) (*snapshot, error) {
	e.mutex.Lock()
	s := e.snapshots[key]
	if s == nil {
		s = &snapshot{}
		e.snapshots[key] = s
	}
	e.mutex.Unlock()
	s.once.Do(func() { s.err = e.save(ctx, r, s) })
	if s.err != nil {
		e.mutex.Lock()
		if e.snapshots[key] == s { // the next start tries again
			delete(e.snapshots, key)
		}
		e.mutex.Unlock()
		return nil, fmt.Errorf("taking a snapshot of a guest: %w", s.err)
	}
	return s, nil
}

// save boots a guest until its agent waits for the host, and takes a snapshot.
func (e *Environment) save(ctx context.Context, r environment.Request, s *snapshot) (err error) {
	r.Name, r.Network, r.Console = r.Name+"-saved", nil, io.Discard
	g := vmm.New(e.vmm.Name, r)
	defer func() { err = errors.Join(err, g.Stop(context.WithoutCancel(ctx))) }()
	m, _, err := e.prepareGuest(ctx, g, r, nil, true)
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
	return g.Run(ctx, c, d, e.options.StartTimeout, func(starting context.Context) error {
		conn, err := dialAgentRetrying(starting, d.dir, d.process)
		if err != nil {
			return err
		}
		// It shows that the guest is up. Where a restored guest ends it, the agent listens again
		// only then: a connection from before would end with it.
		if e.vmm.Resets {
			defer conn.Close()
			err = awaitTaken(starting, d.dir)
		} else {
			err = conn.Close()
		}
		if err != nil {
			return err
		}
		// The start has ended, and with it its timeout.
		if err := d.api.Send(ctx, e.vmm.Pause, e.vmm.Save(m)); err != nil {
			return err
		}
		return s.open(e.vmm, m.Directory)
	})
}
