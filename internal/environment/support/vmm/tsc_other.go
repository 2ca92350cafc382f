//go:build !amd64

package vmm

// TSCKHz is known only on processors that have the counter.
func TSCKHz() int { return 0 }
