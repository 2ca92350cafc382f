package server

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Monotonic is the clock that everything inside is timed with.
func Monotonic() time.Duration { return read(unix.CLOCK_MONOTONIC) }

// Uptime is the kernel's time since boot, sleep included.
func Uptime() time.Duration { return read(unix.CLOCK_BOOTTIME) }

func read(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	}
	return time.Duration(t.Nano())
}

// pidOf reads the process out of what waitid fills in. The package unix leaves
// that part of the structure opaque: after three ints, aligned to a pointer,
// come the process and its user.
func pidOf(info *unix.Siginfo) int {
	const head = 3 * 4
	const word = unsafe.Sizeof(uintptr(0))
	offset := (uintptr(head) + word - 1) / word * word
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), offset)))
}
