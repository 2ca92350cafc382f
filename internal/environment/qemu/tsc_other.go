//go:build !amd64

package qemu

// tscKHz is known only on processors that have the counter.
func tscKHz() int { return 0 }
