//go:build !amd64

package kvm

import (
	"errors"
	"runtime"
	"time"
)

// machine exists only where there is guest code to run.
type machine struct{}

func newMachine(string) (*machine, error) {
	return nil, errors.New("there is no probe for KVM on " + runtime.GOARCH)
}

func (*machine) loop(uint64) (time.Duration, error) { return 0, errors.ErrUnsupported }
