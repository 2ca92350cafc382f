// Package netns creates unnamed network namespaces and runs functions in them. A
// namespace exists as long as a descriptor of it or of one of its taps is open, or
// a process is in it: if tare is killed, the kernel removes it with all its
// interfaces.
//
// It must not know what the namespaces are for.
package netns

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"tare/internal/base/crash"
)

const own = "/proc/thread-self/ns/net"

// New creates a namespace, which has only a loopback.
func New() (space *os.File, err error) {
	err = onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("making a network namespace: %w", err)
		}
		space, err = os.Open(own)
		return err
	})
	return space, err
}

// Within runs a function in a namespace.
func Within(space *os.File, do func() error) error {
	return onThread(func() error {
		if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("entering the network namespace %s: %w", space.Name(), err)
		}
		return do()
	})
}

// isIn reports whether this thread is in a namespace: a user without privileges could not
// leave it, nor enter it again.
func isIn(space *os.File) bool {
	is, errI := os.Stat(own)
	was, errW := space.Stat()
	return errI == nil && errW == nil && os.SameFile(is, was)
}

// onThread runs a function on a locked thread, and returns the thread to its
// namespace. Letting the thread exit instead would send the parent-death signal
// to processes that it started, and agents and guests exit on that.
func onThread(do func() error) error {
	done := make(chan error)
	crash.Go(func() {
		runtime.LockOSThread()
		home, err := os.Open(own)
		if err != nil {
			runtime.UnlockOSThread()
			done <- fmt.Errorf("network namespace of this thread: %w", err)
			return
		}
		defer home.Close()
		err = do()
		if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil && !isIn(home) {
			// Locked as it is, the thread ends with this goroutine.
			done <- errors.Join(err, fmt.Errorf("returning to the original network namespace: %w", back))
			return
		}
		runtime.UnlockOSThread()
		done <- err
	})
	return <-done
}
