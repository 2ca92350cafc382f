//go:build !amd64

package calls

import "golang.org/x/sys/unix"

// system makes a system call. No environment tells the C library's from Go's here.
//
//go:nosplit
func system(number, a, b, c, d, e, f uintptr) (r, errno uintptr) {
	r, _, failed := unix.RawSyscall6(number, a, b, c, d, e, f)
	return r, uintptr(failed)
}

const fstatat = unix.SYS_FSTATAT
