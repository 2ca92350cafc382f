package fingerprint

import (
	_ "embed"
	"math/bits"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/linux/cgroup"
	"tare/internal/parity"
)

// Files of /proc and /sys that are read.
const (
	bootID          = "/proc/sys/kernel/random/boot_id"
	cmdline         = "/proc/cmdline"
	variables       = "/proc/self/environ"
	cpuinfo         = "/proc/cpuinfo"
	meminfo         = "/proc/meminfo"
	mountinfoFile   = "/proc/self/mountinfo"
	online          = "/sys/devices/system/cpu/online"
	weaknesses      = "/sys/devices/system/cpu/vulnerabilities"
	hugePages       = "/sys/kernel/mm/transparent_hugepage/"
	clocks          = "/sys/devices/system/clocksource/clocksource0/"
	entropy         = "/proc/sys/kernel/random/entropy_avail"
	generator       = "/sys/class/misc/hw_random/rng_current"
	modules         = "/sys/kernel/security/lsm"
	lastCap         = "/proc/sys/kernel/cap_last_cap"
	localtime       = "/etc/localtime"
	zone            = "/etc/timezone"
	fullEntropy     = 256
	sysctlDirectory = "/proc/sys/"
)

//go:embed sysctls.txt
var sysctls string

// settings are the sysctls that affect servers.
var settings = strings.Fields(sysctls)

// grown are sysctls that a kernel computes from its free memory at boot: those of a
// guest differ slightly from boot to boot.
var grown = strings.Fields(`fs.file-max fs.inotify.max_user_watches kernel.threads-max net.ipv4.tcp_mem net.ipv4.tcp_rmem net.ipv4.tcp_wmem
	net.ipv4.tcp_max_tw_buckets vm.min_free_kbytes`)

// about rounds a number down to a power of two, so that small differences
// disappear; other texts stay.
func about(number string) string {
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || n == 0 {
		return number
	}
	return "about " + strconv.FormatUint(1<<(bits.Len64(n)-1), 10)
}

func sysctlPath(name string) string { return sysctlDirectory + strings.ReplaceAll(name, ".", "/") }

// texts are the files that the agent reads in any instance.
func texts() []string {
	list := []string{bootID, cmdline, variables, cpuinfo, meminfo, mountinfoFile, online, weaknesses,
		hugePages + "enabled", hugePages + "defrag", clocks + "current_clocksource", clocks + "available_clocksource",
		entropy, generator, modules, lastCap, localtime, zone}
	for _, name := range settings {
		list = append(list, sysctlPath(name))
	}
	return list
}

// sharesKernel compares boot IDs, and versions where there is no boot ID.
func (r *reading) sharesKernel() bool {
	if boot := r.Texts[bootID]; boot != "" {
		return boot == r.outer.Host.Boot
	}
	return r.System.Release == r.outer.Host.Release && r.System.Version == r.outer.Host.Version
}

// system adds the facts about the whole machine as the instance sees it.
func (r *reading) system() {
	r.inside("kernel.release", r.System.Release)
	r.inside("kernel.version", r.System.Version)
	r.inside("kernel.architecture", r.System.Machine)
	r.inside("page.size", strconv.Itoa(r.System.PageSize))
	r.text("kernel.cmdline", cmdline)
	switch {
	case r.outer.Elsewhere != "":
		r.missing("kernel.own", parity.Inside, "%s, and so is the kernel to compare with", r.outer.Elsewhere)
	case r.outer.Shared:
		r.inside("kernel.own", parity.Hosts)
	default:
		r.inside("kernel.own", parity.OwnKernel)
	}
	r.processors()
	r.memory()
	r.text("clock.source", clocks+"current_clocksource")
	r.text("clock.available", clocks+"available_clocksource")
	for _, name := range settings {
		key := "sysctl[" + name + "]"
		// A sysctl that a separate network namespace does not show is global.
		if whole, known := r.outer.Sysctls[name]; known && r.outer.Shared && r.Texts[sysctlPath(name)] == "" {
			r.outside(key, whole)
			continue
		}
		r.text(key, sysctlPath(name))
		if fields := strings.Fields(r.facts[key].Value); !r.outer.Shared && len(fields) > 0 && slices.Contains(grown, name) {
			from := 0
			if name == "net.ipv4.tcp_rmem" || name == "net.ipv4.tcp_wmem" {
				from = len(fields) - 1 // the others are what they are
			}
			for n := from; n < len(fields); n++ {
				fields[n] = about(fields[n])
			}
			r.inside(key, strings.Join(fields, " "))
		}
	}
	if n, err := strconv.Atoi(strings.TrimSpace(r.Texts[entropy])); err != nil {
		r.missing("entropy", parity.Inside, "%s: %s", entropy, r.why(entropy))
	} else if n >= fullEntropy {
		r.inside("entropy", strconv.Itoa(fullEntropy))
	} else {
		r.inside("entropy", "less")
	}
	if r.Texts[generator] == "" {
		r.inside("entropy.source", parity.None)
	} else {
		r.text("entropy.source", generator)
	}
	r.zone()
	switch {
	case !r.outer.Shared:
		r.text("lsm", modules)
	case r.outer.LSM.Missing != "":
		r.missing("lsm", parity.Outside, "%s", r.outer.LSM.Missing)
	default:
		r.outside("lsm", r.outer.LSM.Value)
	}
	if r.outer.Governor.Missing != "" {
		r.missing("cpu.governor", parity.Outside, "%s", r.outer.Governor.Missing)
	} else {
		r.outside("cpu.governor", r.outer.Governor.Value)
	}
}

func (r *reading) processors() {
	fields := map[string]string{}
	for line := range strings.Lines(r.Texts[cpuinfo]) {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); ok && fields[name] == "" {
			fields[name] = strings.TrimSpace(value)
		}
	}
	first := func(key string, names ...string) {
		for _, name := range names {
			if fields[name] != "" && fields[name] != "unknown" {
				words := strings.Fields(fields[name])
				if key == "cpu.flags" {
					slices.Sort(words)
				}
				r.inside(key, strings.Join(words, " "))
				return
			}
		}
		r.missing(key, parity.Inside, "%s does not report it", cpuinfo)
	}
	first("cpu.model", "model name", "Model", "cpu model", "CPU part")
	first("cpu.flags", "flags", "Features", "isa")
	if n := len(cgroup.ParseCores(r.Texts[online])); n > 0 {
		r.inside("cpu.count", strconv.Itoa(n))
	} else if n := strings.Count("\n"+r.Texts[cpuinfo], "\nprocessor"); n > 0 {
		r.inside("cpu.count", strconv.Itoa(n))
	} else {
		r.missing("cpu.count", parity.Inside, "%s: %s", online, r.why(online))
	}
	names := slices.Clone(r.outer.Weaknesses)
	for path := range r.Texts {
		if name, ok := strings.CutPrefix(path, weaknesses+"/"); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		r.text("cpu.mitigation["+name+"]", weaknesses+"/"+name)
	}
}

func (r *reading) memory() {
	sizes := map[string]int64{}
	for line := range strings.Lines(r.Texts[meminfo]) {
		name, value, _ := strings.Cut(line, ":")
		if kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64); err == nil {
			sizes[name] = kib
		}
	}
	for _, f := range []struct{ key, name string }{{"memory.total", "MemTotal"}, {"memory.swap", "SwapTotal"}} {
		kib, ok := sizes[f.name]
		if !ok {
			r.missing(f.key, parity.Inside, "%s does not report it", meminfo)
			continue
		}
		r.inside(f.key, strconv.FormatInt(kib>>14<<24, 10)) // to 16 MiB
	}
	for _, f := range []struct{ key, file string }{{"memory.thp", "enabled"}, {"memory.thp.defrag", "defrag"}} {
		if choice := chosen(r.Texts[hugePages+f.file]); choice != "" {
			r.inside(f.key, choice)
		} else {
			r.text(f.key, hugePages+f.file)
		}
	}
}

// chosen returns the word in brackets among those that the kernel lists.
func chosen(list string) string {
	_, rest, _ := strings.Cut(list, "[")
	word, _, closed := strings.Cut(rest, "]")
	if !closed {
		return ""
	}
	return word
}

func (r *reading) zone() {
	name := strings.TrimSpace(r.Texts[zone])
	if _, at, ok := strings.Cut(r.Texts[localtime], "zoneinfo/"); ok {
		name = at
	}
	switch {
	case name == "" && r.Texts[localtime] != "":
		r.inside("time.zone", "custom: "+localtime)
	case name == "" || filepath.Base(name) == "UTC":
		r.inside("time.zone", "UTC")
	default:
		r.inside("time.zone", name)
	}
}
