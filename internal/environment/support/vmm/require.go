package vmm

import (
	"context"
	"errors"
	"math"
	"runtime"
	"time"

	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
)

// ProbeTimeout bounds the probe of KVM.
const ProbeTimeout = 2 * time.Second

// Supported reports whether guests run on the host's architecture.
func Supported() bool { return runtime.GOARCH == "amd64" }

// CheckProcessor checks the host's architecture.
func CheckProcessor(context.Context) environment.Finding {
	if !Supported() {
		return environment.Lacks("this host's architecture is "+runtime.GOARCH, environment.Fix{})
	}
	return environment.Works("")
}

// The minimum sizes: with less memory the kernel does not boot, and with less data
// ext4 has no journal.
const (
	MinMemory = 64 * quantity.MiB
	MinData   = 16 * quantity.MiB
)

// ValidSizes returns the errors of options that the kinds of virtual machines share.
func ValidSizes(cpus int, memory, data quantity.Bytes, startTimeout time.Duration) error {
	var wrong []error
	if memory != 0 && memory < MinMemory {
		wrong = append(wrong, strictyaml.AtKey("memory", "%s is too small to boot a kernel: at least %s", memory, MinMemory))
	}
	if data < MinData {
		wrong = append(wrong, strictyaml.AtKey("data", "%s is too small for a file system: at least %s", data, MinData))
	}
	if cpus < 0 || cpus > 255 {
		wrong = append(wrong, strictyaml.AtKey("cpus", "%d is not between 1 and 255", cpus))
	}
	if startTimeout <= 0 {
		wrong = append(wrong, strictyaml.AtKey("start_timeout", "%v is not positive", startTimeout))
	}
	return errors.Join(wrong...)
}

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
