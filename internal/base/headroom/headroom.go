// Package headroom lets a program that imports it start, and end a short command, before garbage
// is collected: the first collection comes at twice the size of this reserve and not at 4 MiB.
// Nobody writes to the reserve, so the kernel gives it no memory.
//
// It imports nothing, so that Go initialises it before what takes memory.
package headroom

// Reserve is of no other use.
var Reserve = make([]byte, 16<<20)
