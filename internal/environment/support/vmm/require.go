package vmm

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"time"

	"tare/internal/environment"
	"tare/internal/quantity"
)

// ProbeTimeout is how long a machine may take to show that its KVM works.
const ProbeTimeout = 2 * time.Second

// Supported says whether guests run on the host's processor.
func Supported() bool { return runtime.GOARCH == "amd64" }

// CheckProcessor finds whether the host is one that guests are built for.
func CheckProcessor(context.Context) environment.Finding {
	if !Supported() {
		return environment.Finding{State: environment.Missing, Reason: "this host's processor is " + runtime.GOARCH}
	}
	return environment.Finding{State: environment.Usable}
}

// CheckRoot finds whether cgroups can be made.
func CheckRoot(context.Context) environment.Finding {
	if uid := os.Geteuid(); uid != 0 {
		return environment.Finding{State: environment.Missing, Reason: fmt.Sprintf("this is user %d", uid), Fix: "sudo tare ..."}
	}
	return environment.Finding{State: environment.Usable}
}

// OnPath finds a program.
func OnPath(name, mend string) func(context.Context) environment.Finding {
	return func(context.Context) environment.Finding {
		path, err := exec.LookPath(name)
		if err != nil {
			return environment.Finding{State: environment.Missing, Reason: name + " is not on the PATH", Fix: mend}
		}
		return environment.Finding{State: environment.Usable, Reason: path}
	}
}

// The least sizes that make sense: below them the kernel does not boot, and
// ext4 has no journal.
const (
	MinMemory = 64 * quantity.MiB
	MinData   = 16 * quantity.MiB
)

// Size decides how many virtual CPUs and how much memory a guest gets: what the
// options say, else what the limits say, else one and 512 MiB.
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
