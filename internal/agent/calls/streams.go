package calls

import (
	"bytes"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

var ofStreams = []Kind{
	{"pipe-1", through(pipe, 1)},
	{"pipe-4k", through(pipe, 4<<10)},
	{"pipe-64k", through(pipe, largest)},
	{"socket-1", through(pair, 1)},
	{"socket-4k", through(pair, 4<<10)},
	{"socket-64k", through(pair, largest)},
	{"epoll", epoll},
	{"epoll-ctl", epollControl},
	{"timer", timer},
	{Line, line},
}

func pipe() (ends [2]int, err error) {
	err = unix.Pipe2(ends[:], unix.O_CLOEXEC)
	return [2]int{ends[1], ends[0]}, err
}

func pair() ([2]int, error) {
	return unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
}

// through writes into one end of a stream and reads from the other, in one thread.
func through(open func() ([2]int, error), size int) func() (func(int) error, error) {
	return func() (func(int) error, error) {
		ends, err := open()
		buffer := make([]byte, size)
		return both(err, func() error { return passOn(ends, buffer) })
	}
}

func passOn(ends [2]int, buffer []byte) error {
	err := whole(unix.SYS_WRITE, ends[0], buffer)
	for left := buffer; err == nil && len(left) > 0; {
		var got uintptr
		got, err = raw(unix.SYS_READ, uintptr(ends[1]), uintptr(unsafe.Pointer(&left[0])), uintptr(len(left)))
		left = left[got:]
	}
	return err
}

// watched are 16 descriptors in a set of epoll, of which the last one has an event.
func watched() (set, last int, err error) {
	set, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	for i := range uint(16) {
		if err == nil {
			last, err = unix.Eventfd(i/15, unix.EFD_CLOEXEC)
		}
		if err == nil {
			err = unix.EpollCtl(set, unix.EPOLL_CTL_ADD, last, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(last)})
		}
	}
	return set, last, err
}

// epollControl changes of which events of a descriptor a set asks for, to and fro.
func epollControl() (func(int) error, error) {
	set, fd, err := watched()
	ask := &unix.EpollEvent{Fd: int32(fd)}
	return both(err, func() error {
		ask.Events ^= unix.EPOLLIN
		_, err := raw5(unix.SYS_EPOLL_CTL, uintptr(set), unix.EPOLL_CTL_MOD, uintptr(fd), uintptr(unsafe.Pointer(ask)), 0)
		return err
	})
}

// epoll asks for events while one of 16 descriptors has one.
func epoll() (func(int) error, error) {
	set, _, err := watched()
	events := make([]unix.EpollEvent, 16)
	return both(err, func() error {
		_, err := raw(unix.SYS_EPOLL_PWAIT, uintptr(set), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)))
		return err
	})
}

// pause is long enough for a thread that sleeps to give the core away.
const pause = 20_000

// timer sleeps for 20 µs, which are part of the time: what it takes beyond is to set a timer, to
// give the core away and to get it back.
func timer() (func(int) error, error) {
	// By default a thread's timers are up to 50 µs late, so that several end together. gVisor
	// has no such setting, and fails.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	sleep := unix.Timespec{Nsec: pause}
	return loop(func() error {
		_, err := raw(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&sleep)), 0, 0)
		return err
	})
}

// line writes a line of 100 bytes to the standard error of the agent, which started this
// program, and waits until it has been read there: an engine takes it for its log.
func line() (func(int) error, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/fd/2", unix.Getppid()), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	text := append(bytes.Repeat([]byte("x"), 99), '\n')
	sleep := unix.Timespec{Nsec: 5 * pause}
	return func(n int) error {
		for range n {
			if err := whole(unix.SYS_WRITE, fd, text); err != nil {
				return err
			}
		}
		for {
			// What cannot say how much it holds, such as a terminal, is not waited for.
			if left, err := unix.IoctlGetInt(fd, unix.TIOCINQ); err != nil || left == 0 {
				return nil
			}
			if _, err := raw(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&sleep)), 0, 0); err != nil {
				return err
			}
		}
	}, err
}
