package probe

import (
	"runtime"
	"slices"
	"strconv"

	"github.com/elastic/go-seccomp-bpf/arch"

	"tare/internal/usage/evidence"
)

// calls are the system calls of this architecture; nil where the names are not known.
var calls, _ = arch.GetInfo(runtime.GOARCH)

// syscallName returns the name of a system call, or its number if it has none.
func syscallName(number int) string {
	if calls == nil {
		return strconv.Itoa(number)
	}
	switch name := calls.SyscallNumbers[number]; name {
	case "":
		return strconv.Itoa(number)
	case "fstatat": // on arm64: the same call has one name on all
		return "newfstatat"
	default:
		return name
	}
}

// transfers has 1 at the numbers of calls that read, and 2 at those of calls that write.
func transfers() (of [maxSyscalls]uint8) {
	for n := range of {
		switch name := syscallName(n); {
		case slices.Contains(evidence.ReadCalls, name):
			of[n] = 1
		case slices.Contains(evidence.WriteCalls, name):
			of[n] = 2
		}
	}
	return of
}
