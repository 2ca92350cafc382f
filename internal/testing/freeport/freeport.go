// Package freeport reserves TCP ports for tests. A port that was listened at and closed can
// be anybody's a moment later. Only tests import it.
package freeport

import (
	"testing"

	"golang.org/x/sys/unix"
)

// New is an IPv4 port at which nobody listens and that the kernel gives to no other process
// before the test ends. A server of the test can listen there if it sets SO_REUSEADDR, as
// servers do: the port is bound to a socket that has it too and does not listen.
func New(t testing.TB) int {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(socket) })
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(socket, &unix.SockaddrInet4{}); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	return at.(*unix.SockaddrInet4).Port
}
