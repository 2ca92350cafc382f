//go:build !amd64

package kvm

import (
	"errors"
	"runtime"
	"time"
)

// machine is implemented only where there is guest code for the architecture.
type machine struct{}

func newMachine(string, func(string)) (*machine, error) {
	return nil, errors.New("tare has no KVM probe for " + runtime.GOARCH)
}

func (*machine) loop(uint64) (time.Duration, error) { return 0, errors.ErrUnsupported }
