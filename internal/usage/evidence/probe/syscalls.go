package probe

import (
	"runtime"
	"strconv"

	"github.com/elastic/go-seccomp-bpf/arch"
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
