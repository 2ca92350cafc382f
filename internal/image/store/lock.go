package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/internal/base/crash"
	"tare/internal/linux/userns"
)

// locks has one lock file per file that is being made.
const locks = "locks"

// Lock waits until the caller holds the lock of a name, among all goroutines of
// all processes that share the store. The kernel releases it when the process
// dies, so that a killed build does not block others.
func (f Directory) Lock(ctx context.Context, name string) (unlock func(), err error) {
	path := f.Path(locks, name)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock of the image store: %w", Explain(err))
	}
	held := make(chan error, 1)
	crash.Go(func() {
		for {
			err := unix.Flock(int(file.Fd()), unix.LOCK_EX)
			if err != unix.EINTR {
				held <- err
				return
			}
		}
	})
	select {
	case err := <-held:
		if err != nil {
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		return func() { release(file) }, nil
	case <-ctx.Done():
		// flock cannot be canceled: release it when it returns.
		crash.Go(func() {
			<-held //nolint:errcheck // the caller has given up the lock
			release(file)
		})
		return nil, fmt.Errorf("waiting for another process that holds %s: %w", path, ctx.Err())
	}
}

// Idle takes the lock only if it is free.
func (f Directory) Idle(name string) (unlock func(), ok bool) {
	file, err := os.OpenFile(f.Path(locks, name), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, false
	}
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		file.Close()
		return nil, false
	}
	return func() { release(file) }, true
}

// release gives a lock back explicitly, since a child that is being forked may
// still have the file open.
func release(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	f.Close()
}

// Once creates the file or directory at path, unless it exists, by calling build
// with a temporary name next to it and renaming the result. If several processes
// call it at the same time, one builds and the others wait.
func (f Directory) Once(ctx context.Context, lockName, path string, build func(temporary string) error) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	unlock, err := f.Lock(ctx, lockName)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	return Replace(path, build)
}

// Replace replaces path with what build creates in one step, so that no reader
// sees a partial result. The caller holds the lock.
func Replace(path string, build func(temporary string) error) error {
	parent := filepath.Dir(path)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("image store: %w", Explain(err))
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
		return fmt.Errorf("image store: %w", Explain(err))
	}
	return nil
}
