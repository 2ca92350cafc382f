package calls

// system makes a system call as programs do that use the C library.
//
//go:noescape
func system(number, a, b, c, d, e, f uintptr) (r, errno uintptr)

const fstatat = 262 // newfstatat
