//go:build !amd64

package vmm

// TSCKHz returns 0: the architecture has no time stamp counter.
func TSCKHz() int { return 0 }
