// Package netns makes network namespaces that have no name, and does things
// inside of one. Such a namespace lasts as long as a descriptor of it is open,
// a process is in it, or a tap of it is: when tare is killed it vanishes by
// itself, with every interface in it.
//
// It must not know what the namespaces are for.
package netns

import (
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

// apart runs a function in a thread of its own, which ends with it: a thread
// that has changed its namespace is of no use to anybody else.
func apart(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- do()
	}()
	return <-done
}
