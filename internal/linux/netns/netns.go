// Package netns makes network namespaces that have no name, and does things
// inside of one. Such a namespace lasts as long as a descriptor of it is open,
// a process is in it, or a tap of it is: when tare is killed it vanishes by
// itself, with every interface in it.
//
// It must not know what the namespaces are for.
package netns

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

const own = "/proc/thread-self/ns/net"

// New makes a namespace, in which nothing but a loopback is.
func New() (space *os.File, err error) {
	err = apart(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("making a network namespace: %w", err)
		}
		space, err = os.Open(own)
		return err
	})
	return space, err
}

// Within does something inside of a namespace.
func Within(space *os.File, do func() error) error {
	return apart(func() error {
		if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("entering the network namespace %s: %w", space.Name(), err)
		}
		return do()
	})
}

// apart runs a function in a thread that nobody else uses meanwhile, and brings
// the thread back into the namespace that it came from. A thread is not simply
// left to end with its namespace: the kernel would tell the children that it
// once started that their parent is dead, and agents and guests end then.
func apart(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open(own)
		if err != nil {
			runtime.UnlockOSThread()
			done <- fmt.Errorf("network namespace of this thread: %w", err)
			return
		}
		defer home.Close()
		err = do()
		if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
			// Locked as it is, the thread ends with this goroutine.
			done <- errors.Join(err, fmt.Errorf("going back to the network namespace of before: %w", back))
			return
		}
		runtime.UnlockOSThread()
		done <- err
	}()
	return <-done
}
