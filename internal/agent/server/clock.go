package server

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Monotonic reads the clock that times everything in the instance.
func Monotonic() time.Duration { return read(unix.CLOCK_MONOTONIC) }

// Uptime returns the time since boot, including suspend.
func Uptime() time.Duration { return read(unix.CLOCK_BOOTTIME) }

func read(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	}
	return time.Duration(t.Nano())
}

// pidOf returns si_pid of what waitid(2) filled in. Package unix leaves that
// part of siginfo_t opaque: the PID and UID follow three ints, aligned to a
// pointer.
func pidOf(info *unix.Siginfo) int {
	const head = 3 * 4
	const word = unsafe.Sizeof(uintptr(0))
	offset := (uintptr(head) + word - 1) / word * word
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), offset)))
}
