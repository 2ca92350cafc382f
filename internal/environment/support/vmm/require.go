package vmm

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"time"

	"tare/internal/base/quantity"
	"tare/internal/environment"
)

// ProbeTimeout bounds the probe of KVM.
const ProbeTimeout = 2 * time.Second

// Supported reports whether guests run on the host's architecture.
func Supported() bool { return runtime.GOARCH == "amd64" }

// CheckProcessor checks the host's architecture.
func CheckProcessor(context.Context) environment.Finding {
	if !Supported() {
		return environment.Finding{State: environment.Missing, Reason: "this host's architecture is " + runtime.GOARCH}
	}
	return environment.Finding{State: environment.Usable}
}

// CheckRoot checks for root, which creating cgroups needs.
func CheckRoot(context.Context) environment.Finding {
	if uid := os.Geteuid(); uid != 0 {
		return environment.Finding{State: environment.Missing, Reason: fmt.Sprintf("this is user %d", uid), Fix: "sudo tare ..."}
	}
	return environment.Finding{State: environment.Usable}
}

// OnPath returns a check that a program is on the PATH.
func OnPath(name, fix string) func(context.Context) environment.Finding {
	return func(context.Context) environment.Finding {
		path, err := exec.LookPath(name)
		if err != nil {
			return environment.Finding{State: environment.Missing, Reason: name + " is not on the PATH", Fix: fix}
		}
		return environment.Finding{State: environment.Usable, Reason: path}
	}
}

// The minimum sizes: with less memory the kernel does not boot, and with less data
// ext4 has no journal.
const (
	MinMemory = 64 * quantity.MiB
	MinData   = 16 * quantity.MiB
)

// Size returns the virtual CPUs and the memory of a guest: those of the options,
// or of the limits, or one and 512 MiB.
func Size(cpus int, memory quantity.Bytes, l environment.Limits) (int, quantity.Bytes) {
	switch {
	case cpus > 0:
	case len(l.Cores) > 0:
		cpus = len(l.Cores)
	default:
		cpus = max(1, int(math.Ceil(l.CPUs)))
	}
	switch {
	case memory > 0:
	case l.Memory > 0:
		memory = l.Memory
	default:
		memory = 512 * quantity.MiB
	}
	return cpus, memory
}
