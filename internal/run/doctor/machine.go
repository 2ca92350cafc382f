package doctor

import (
	"bufio"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/base/quantity"
	"tare/internal/linux/cgroup"
	"tare/internal/rundir"
)

// Machine describes this machine.
func Machine() rundir.Machine {
	m := rundir.Machine{Cores: runtime.NumCPU(), Cgroups: string(cgroup.Mode())}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.Memory = quantity.Bytes(info.Totalram * uint64(info.Unit))
	}
	m.Distribution = strings.Trim(field("/etc/os-release", "PRETTY_NAME", "="), `"`)
	m.CPU = field("/proc/cpuinfo", "model name", ":")
	if flags := " " + field("/proc/cpuinfo", "flags", ":") + " "; strings.Contains(flags, " hypervisor ") {
		m.Virtualised = "this machine is a virtual machine (the CPU has the hypervisor flag)"
	}
	return m
}

// field returns the value of the first line of a file with this key.
func field(path, key, separator string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), separator); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
