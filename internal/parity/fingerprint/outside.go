package fingerprint

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/agent/observe"
	"tare/internal/environment"
	"tare/internal/linux/cgroup"
	"tare/internal/parity"
)

// Outside holds the facts about an instance that only the host and the provider
// have.
type Outside struct {
	Paths    environment.Paths
	Provider map[string]string // facts that only the provider knows
	Unknown  map[string]string // reasons why others are not known
	Bounds   cgroup.Bounds
	// Elsewhere is the reason why the host's files do not describe the instance;
	// "" if they do.
	Elsewhere string
	Host      Host
	LSM       cgroup.Bound
	Governor  cgroup.Bound
	// Weaknesses are the CPU vulnerabilities that the host's kernel lists.
	Weaknesses []string
	// Sysctls of the host, by their names.
	Sysctls map[string]string
	// Disks are the settings of disks, by the path that the provider reports.
	Disks map[string]map[string]string
	// Filter is the packet filter in the instance's network namespace, for agents
	// without the right to read it.
	Filter observe.Filter
	// Shared is true if the instance runs on the host's kernel.
	Shared bool
}

// Host identifies namespaces and other objects of the host.
type Host struct {
	Boot, Node, Release, Version string
	Namespaces                   map[string]string
}

// outside collects the facts about an instance that the host shows.
func outside(i environment.Instance) Outside {
	o := Outside{Paths: i.Paths(), Host: here(), Disks: map[string]map[string]string{}}
	about := i.Details()
	o.Provider, o.Unknown = about.Facts, about.Unknown
	if i.Footprint().Elsewhere != nil {
		o.Elsewhere = "it runs on another machine"
		o.LSM, o.Governor = cgroup.Bound{Missing: o.Elsewhere}, cgroup.Bound{Missing: o.Elsewhere}
		o.Bounds = missingBounds(o.Elsewhere)
		return o
	}
	o.Bounds = bounds(i)
	o.LSM = file(modules, ": the kernel has no security file system, or it is not mounted")
	o.Governor = file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", ": the kernel does not show how it scales the frequency")
	entries, _ := os.ReadDir(weaknesses)
	for _, e := range entries {
		o.Weaknesses = append(o.Weaknesses, e.Name())
	}
	o.Sysctls = map[string]string{}
	for _, name := range settings {
		if text, err := os.ReadFile(sysctlPath(name)); err == nil {
			o.Sysctls[name] = strings.Join(strings.Fields(string(text)), " ")
		}
	}
	mounts, _ := os.ReadFile(mountinfoFile)
	for _, m := range parseMounts(string(mounts)) {
		if device, is := strings.CutPrefix(m.source, "/dev/"); is {
			o.Disks[m.kind+" on "+device] = queue(device)
		}
	}
	for _, below := range []string{o.Paths.RootOn, o.Paths.DataOn} {
		if device, is := strings.CutPrefix(below, "device "); is {
			o.Disks[below] = queue(device)
		}
	}
	return o
}

// here reads this machine's facts from its kernel.
func here() Host {
	h := Host{Namespaces: map[string]string{}}
	boot, _ := os.ReadFile(bootID)
	h.Boot = string(boot)
	var name unix.Utsname
	if err := unix.Uname(&name); err == nil {
		h.Node, h.Release, h.Version = unix.ByteSliceToString(name.Nodename[:]), unix.ByteSliceToString(name.Release[:]), unix.ByteSliceToString(name.Version[:])
	}
	entries, _ := os.ReadDir("/proc/self/ns")
	for _, e := range entries {
		h.Namespaces[e.Name()], _ = os.Readlink("/proc/self/ns/" + e.Name())
	}
	return h
}

func file(path, hint string) cgroup.Bound {
	text, err := os.ReadFile(path)
	if err != nil {
		return cgroup.Bound{Missing: err.Error() + hint}
	}
	return cgroup.Bound{Value: strings.TrimSpace(string(text))}
}

// bounds returns the limits of the cgroup that contains the instance.
func bounds(i environment.Instance) cgroup.Bounds {
	groups := i.Footprint().Cgroups
	if len(groups) == 0 {
		return missingBounds("the instance has no cgroup")
	}
	group, err := cgroup.At(groups[0])
	if err != nil {
		return missingBounds(err.Error())
	}
	b := group.Bounds()
	// Without swap a limit of swap has no effect.
	if swaps, err := os.ReadFile("/proc/swaps"); err == nil && strings.Count(string(swaps), "\n") < 2 {
		b.Swap = cgroup.Bound{Value: "0"}
	}
	return b
}

func missingBounds(why string) cgroup.Bounds {
	m := cgroup.Bound{Missing: why}
	return cgroup.Bounds{CPUs: m, Period: m, Weight: m, Cores: m, Memory: m, Swap: m, PIDs: m}
}

// limits adds the limits of the cgroup.
func (r *reading) limits() {
	b := r.outer.Bounds
	for key, bound := range map[string]cgroup.Bound{
		"limit.cpu": b.CPUs, "limit.cpu.period": b.Period, "limit.cpu.weight": b.Weight, "limit.cores": b.Cores,
		"limit.memory": b.Memory, "limit.swap": b.Swap, "limit.pids": b.PIDs,
	} {
		if bound.Missing != "" {
			r.missing(key, parity.Outside, "%s", bound.Missing)
		} else {
			r.outside(key, bound.Value)
		}
	}
}

// queue returns the settings of a disk by their file names; for a partition those
// of the whole disk.
func queue(device string) map[string]string {
	directory, err := filepath.EvalSymlinks("/dev/" + device)
	if err != nil {
		return nil
	}
	directory = "/sys/class/block/" + filepath.Base(directory)
	if _, err := os.Stat(directory + "/partition"); err == nil {
		if directory, err = filepath.EvalSymlinks(directory); err == nil {
			directory = filepath.Dir(directory)
		}
	}
	settings := map[string]string{}
	for _, name := range []string{"scheduler", "read_ahead_kb", "write_cache"} {
		if text, err := os.ReadFile(filepath.Join(directory, "queue", name)); err == nil {
			settings[name] = strings.TrimSpace(string(text))
		}
	}
	return settings
}
