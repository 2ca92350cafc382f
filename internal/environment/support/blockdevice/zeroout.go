package blockdevice

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// zeroOut asks the device to make a range read as zeros.
func zeroOut(f *os.File, from, length int64) error {
	extent := [2]uint64{uint64(from), uint64(length)}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.BLKZEROOUT, uintptr(unsafe.Pointer(&extent))); errno != 0 {
		return errno
	}
	return nil
}
