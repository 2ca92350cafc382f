package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/linux/cgroup"
	"tare/internal/rundir"
)

// Noise checks for sources of noise on this machine. Each finding is usable
// (nothing to fix) or a caveat.
func Noise() []environment.Finding {
	return noise("/")
}

// noise reads files below a root, so that tests can use a recorded machine.
func noise(root string) []environment.Finding {
	checks := []func(string) environment.Finding{processor, frequency, boost, controllers, busy, swap, killer, pressure}
	return lists.Map(checks, func(check func(string) environment.Finding) environment.Finding { return check(root) })
}

func fine(what, reason string) environment.Finding {
	return environment.Finding{State: environment.Usable, What: what, Reason: reason}
}

func caveat(what, reason, fix string) environment.Finding {
	return environment.Finding{State: environment.Caveat, What: what, Reason: reason, Fix: environment.Advice(fix)}
}

func processor(root string) environment.Finding {
	const what = "a real processor"
	if m := (rundir.Machine{CPU: field(filepath.Join(root, "proc/cpuinfo"), "model name", ":")}); m.Emulated() {
		return caveat(what, "this machine's processor is emulated ("+m.CPU+"): changes measured here have other sizes on hardware", "measure on hardware, or on a virtual machine with KVM")
	}
	return fine(what, "not emulated, as far as its name tells")
}

func frequency(root string) environment.Finding {
	const what = "steady CPU frequency"
	files, _ := filepath.Glob(filepath.Join(root, "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"))
	if len(files) == 0 {
		return fine(what, "the kernel does not scale the frequency (no cpufreq)")
	}
	var governors []string
	for _, f := range files {
		if g := read(f); !slices.Contains(governors, g) {
			governors = append(governors, g)
		}
	}
	if slices.Equal(governors, []string{"performance"}) {
		return fine(what, "governor performance on every core")
	}
	return caveat(what, "governor "+strings.Join(governors, ", ")+": the frequency depends on the load, so what runs second may run faster",
		"cpupower frequency-set -g performance")
}

func boost(root string) environment.Finding {
	const what = "no turbo"
	for file, on := range map[string]string{"sys/devices/system/cpu/intel_pstate/no_turbo": "0", "sys/devices/system/cpu/cpufreq/boost": "1"} {
		if read(filepath.Join(root, file)) == on {
			off := map[string]string{"0": "1", "1": "0"}[on]
			return caveat(what, "turbo is on: the frequency depends on the temperature and on the load of other cores", fmt.Sprintf("echo %s > /%s", off, file))
		}
	}
	return fine(what, "off, or not visible on this machine")
}

func controllers(string) environment.Finding {
	const what = "cgroup controllers"
	tree, err := cgroup.Host()
	if err != nil {
		return caveat(what, err.Error(), "mount the cgroup file system: mount -t cgroup2 none /sys/fs/cgroup")
	}
	have := tree.Controllers()
	missing := lists.Filter([]string{"cpu", "cpuset", "memory", "pids"}, func(c string) bool { return !slices.Contains(have, c) })
	if len(missing) > 0 {
		return caveat(what, fmt.Sprintf("missing: %s (have %s; %s): limits on them have no effect", strings.Join(missing, ", "), strings.Join(have, ", "), cgroup.Mode()),
			"boot with cgroup_enable="+missing[0])
	}
	return fine(what, fmt.Sprintf("%s, with %s", cgroup.Mode(), strings.Join(have, ", ")))
}

func busy(root string) environment.Finding {
	const what = "an idle host"
	words := strings.Fields(read(filepath.Join(root, "proc/loadavg")))
	if len(words) == 0 {
		return caveat(what, "the load cannot be read (/proc/loadavg)", "")
	}
	load, _ := strconv.ParseFloat(words[0], 64)
	if cores := float64(runtime.NumCPU()); load > cores/4 {
		return caveat(what, fmt.Sprintf("load %.2f on %g cores in the last minute: other processes are running", load, cores), "stop other processes (`top` lists them)")
	}
	return fine(what, fmt.Sprintf("load %.2f on %d cores", load, runtime.NumCPU()))
}

func swap(root string) environment.Finding {
	const what = "no swap"
	lines := strings.Split(strings.TrimSpace(read(filepath.Join(root, "proc/swaps"))), "\n")
	if len(lines) > 1 {
		return caveat(what, fmt.Sprintf("swap is on (areas: %d): memory that was swapped out is not measured", len(lines)-1), "swapoff -a")
	}
	return fine(what, "no swap area is in use")
}

func killer(root string) environment.Finding {
	const what = "no out-of-memory daemon"
	if _, err := os.Stat(filepath.Join(root, "sys/fs/cgroup/system.slice/systemd-oomd.service")); err == nil {
		return caveat(what, "systemd-oomd runs: where memory gets scarce it kills whole cgroups of a user's session, or of the machine, before a limit of memory does",
			"systemctl stop systemd-oomd.socket systemd-oomd.service while you measure")
	}
	return fine(what, "systemd-oomd does not run")
}

func pressure(root string) environment.Finding {
	const what = "pressure and steal time"
	if _, err := os.Stat(filepath.Join(root, "proc/pressure/cpu")); err != nil {
		return caveat(what, "the kernel has no pressure stall information (PSI), so a busy machine looks like a slow one", "boot with psi=1")
	}
	return fine(what, "the kernel reports both")
}

func read(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
