package freeport

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/testing/needs"
)

func TestAReservedPortIsFreeForAServerAlone(t *testing.T) {
	at := fmt.Sprintf("127.0.0.1:%d", New(t))
	for range 2 { // the second server comes after the first
		if _, err := net.Dial("tcp", at); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		l.Close()
	}
}

func TestTheKernelGivesAReservedPortToNobody(t *testing.T) {
	const ipLocalPortRange = 51 // IP_LOCAL_PORT_RANGE of linux/in.h: the lowest and the highest port
	port := New(t)
	for _, reuse := range []int{0, 1} {
		socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(socket)
		if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, reuse); err != nil {
			t.Fatal(err)
		}
		needs.Working(t, "Linux 6.3, for a socket with a range of ports", unix.SetsockoptInt(socket, unix.IPPROTO_IP, ipLocalPortRange, port<<16|port))
		if err := unix.Bind(socket, &unix.SockaddrInet4{}); err != unix.EADDRINUSE {
			t.Errorf("SO_REUSEADDR %d: any port of one: %v", reuse, err)
		}
	}
}
