package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/internal/base/crash"
	"tare/internal/linux/userns"
)

// lock waits until the caller holds the lock of a name, among all goroutines of
// all processes that share the store. The kernel releases it when the process
// dies, so that a killed build does not block others.
func (s *Store) lock(ctx context.Context, name string) (unlock func(), err error) {
	path := filepath.Join(s.dir, "locks", name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock of the image store: %w", explain(err))
	}
	held := make(chan error, 1)
	crash.Go(func() {
		for {
			err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
			if err != unix.EINTR {
				held <- err
				return
			}
		}
	})
	select {
	case err := <-held:
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		return func() { release(f) }, nil
	case <-ctx.Done():
		// flock cannot be canceled: release it when it returns.
		crash.Go(func() {
			<-held //nolint:errcheck // the caller has given up the lock
			release(f)
		})
		return nil, fmt.Errorf("waiting for another process that holds %s: %w", path, ctx.Err())
	}
}

// idle takes the lock only if it is free.
func (s *Store) idle(name string) (unlock func(), ok bool) {
	f, err := os.OpenFile(filepath.Join(s.dir, "locks", name), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, false
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		f.Close()
		return nil, false
	}
	return func() { release(f) }, true
}

// release gives a lock back explicitly, since a child that is being forked may
// still have the file open.
func release(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	f.Close()
}

// once creates the file or directory at path, unless it exists, by calling build
// with a temporary name next to it and renaming the result. If several processes
// call it at the same time, one builds and the others wait.
func (s *Store) once(ctx context.Context, lockName, path string, build func(temporary string) error) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	unlock, err := s.lock(ctx, lockName)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	return replace(path, build)
}

// replace replaces path with what build creates in one step, so that no reader
// sees a partial result. The caller holds the lock.
func replace(path string, build func(temporary string) error) error {
	parent := filepath.Dir(path)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("image store: %w", explain(err))
	}
	// A killed process may have left a partial result: its lock was released,
	// and is held here.
	temporary := filepath.Join(parent, ".making-"+filepath.Base(path))
	if err := userns.RemoveAll(temporary); err != nil {
		return fmt.Errorf("leftover of an earlier build: %w", err)
	}
	defer userns.RemoveAll(temporary) //nolint:errcheck // what stays is removed with the store's leftovers
	if err := build(temporary); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("image store: %w", explain(err))
	}
	return nil
}
