package cgroup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/base/quantity"
)

// period of the CPU quota: the kernel's default, which container engines use too,
// so that throttling has the same granularity everywhere.
const period = 100000 // microseconds

// file is where a limit is, by v2's name of its controller.
type file struct {
	controller string
	v1, unit   string // v1's file, and that of the unit of its number
	v2         string
}

var (
	quotaFile  = file{"cpu", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.max"}
	memoryFile = file{"memory", "memory.limit_in_bytes", "", "memory.max"}
	swapFile   = file{"memory", "memory.memsw.limit_in_bytes", "", "memory.swap.max"}
	pidsFile   = file{"pids", "pids.max", "", "pids.max"}
	coresFile  = file{"cpuset", "cpuset.cpus", "", "cpuset.cpus"}
)

// in returns the paths of the file and of its unit in a group's directory.
func (f file) in(dir string, v1 bool) (limit, unit string) {
	switch {
	case !v1:
		return filepath.Join(dir, f.v2), ""
	case f.unit == "":
		return filepath.Join(dir, f.v1), ""
	}
	return filepath.Join(dir, f.v1), filepath.Join(dir, f.unit)
}

// limit is one of Limits: how it is written, and how it is read back.
type limit struct {
	file
	name, asked  string
	text1, text2 string  // what v1 and v2 get
	want, off    float64 // the number that is read back, and by how much it may be off
	show         func(float64) string
	key          string // of a rate: v2's name of it in io.max
}

// limits lists those that are set.
func (l Limits) limits() (list []limit) {
	if l.CPUs > 0 {
		quota := strconv.Itoa(int(math.Round(l.CPUs * period)))
		list = append(list, limit{
			file: quotaFile, name: "cpus", asked: fmt.Sprintf("%g CPUs", l.CPUs), text1: quota, text2: quota + " " + strconv.Itoa(period),
			want: l.CPUs, off: 0.01 * l.CPUs, show: func(v float64) string { return fmt.Sprintf("%.4g CPUs", v) },
		})
	}
	if l.Memory > 0 {
		n := strconv.FormatInt(int64(l.Memory), 10)
		list = append(list, limit{
			file: memoryFile, name: "memory", asked: l.Memory.String(), text1: n, text2: n,
			want: float64(l.Memory), off: roundedPages, show: func(v float64) string { return quantity.Bytes(v).String() },
		})
	}
	if l.PIDs > 0 {
		n := strconv.Itoa(l.PIDs)
		list = append(list, limit{
			file: pidsFile, name: "pids", asked: n, text1: n, text2: n,
			want: float64(l.PIDs), show: func(v float64) string { return strconv.Itoa(int(v)) },
		})
	}
	if len(l.Cores) > 0 {
		cores := FormatCores(l.Cores)
		list = append(list, limit{file: coresFile, name: "cores", asked: cores, text1: cores, text2: cores})
	}
	return append(list, l.IO.limits()...)
}

// roundedPages is by how much the kernel may round a limit of memory down to pages.
const roundedPages = 1 << 16

// limits lists the rates that are set.
func (t Throttle) limits() (list []limit) {
	for _, r := range []struct {
		value    int64
		what, of string
		v1, key  string
	}{
		{int64(t.Read), "read", "bytes", "blkio.throttle.read_bps_device", "rbps"},
		{int64(t.Write), "written", "bytes", "blkio.throttle.write_bps_device", "wbps"},
		{int64(t.ReadOps), "read", "operations", "blkio.throttle.read_iops_device", "riops"},
		{int64(t.WriteOps), "written", "operations", "blkio.throttle.write_iops_device", "wiops"},
	} {
		if r.value == 0 {
			continue
		}
		show := func(v float64) string {
			if r.of == "bytes" {
				return fmt.Sprintf("%s %s per second", quantity.Bytes(v), r.what)
			}
			return fmt.Sprintf("%.0f operations %s per second", v, r.what)
		}
		n := strconv.FormatInt(r.value, 10)
		list = append(list, limit{
			file: file{"io", r.v1, "", "io.max"}, name: "io", asked: show(float64(r.value)), key: r.key,
			text1: t.Device + " " + n, text2: t.Device + " " + r.key + "=" + n, want: float64(r.value), show: show,
		})
	}
	return list
}

// limit writes the limits. A missing file is left to Check.
func (g *Group) limit(l Limits) error {
	for _, k := range l.limits() {
		dir, v1, ok := g.place(k.controller)
		if !ok {
			continue
		}
		path, _ := k.in(dir, v1)
		text := k.text2
		if v1 {
			text = k.text1
		}
		if err := write(path, text); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("limiting the %s of cgroup %s to %s in %s: %w", k.name, g.path, k.asked, path, err)
		}
	}
	if err := g.swapOff(l); err != nil {
		return fmt.Errorf("disabling swap for cgroup %s: %w", g.path, err)
	}
	return nil
}

// place returns the directory with a controller's files (by v2's name), and whether
// they are v1's.
func (g *Group) place(controller string) (dir string, v1, ok bool) {
	name := controller
	if controller == "io" {
		name = throttling
	}
	if dir, v1 = g.dirs[name]; v1 {
		return dir, true, true
	}
	dir, ok = g.dirs[""]
	return dir, false, ok
}

// swapOff disables swap. v2 has a separate limit for it; v1 limits memory and swap
// together, so swap is off if that limit equals the memory limit.
func (g *Group) swapOff(l Limits) error {
	dir, v1, ok := g.place("memory")
	if !ok {
		return nil
	}
	path, _ := swapFile.in(dir, v1)
	text := "0"
	if v1 && l.Memory > 0 {
		text = strconv.FormatInt(int64(l.Memory), 10)
	} else if v1 {
		path = filepath.Join(dir, "memory.swappiness")
	}
	if err := write(path, text); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// OwnCores are the cores that this process may use; nil if the kernel does not say.
func OwnCores() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	return CoresOf(&set)
}

// ByTopology puts the cores of a NUMA node beside each other, and in it the hyperthreads of
// a core: kernels number both in turns, or together. Cores stay as they are where the kernel
// does not say it.
func ByTopology(cores []int) []int { return byTopology(cores, "/sys/devices/system/cpu") }

func byTopology(cores []int, sys string) []int {
	node, first := map[int]int{}, map[int]int{} // the first of a core's hyperthreads
	for _, c := range cores {
		text, err := os.ReadFile(fmt.Sprintf("%s/cpu%d/topology/thread_siblings_list", sys, c))
		list := ParseCores(strings.TrimSpace(string(text)))
		if err != nil || len(list) == 0 {
			return cores
		}
		first[c] = slices.Min(list)
		// A kernel without NUMA has none.
		if nodes, _ := filepath.Glob(fmt.Sprintf("%s/cpu%d/node[0-9]*", sys, c)); len(nodes) > 0 {
			node[c], _ = strconv.Atoi(strings.TrimPrefix(filepath.Base(nodes[0]), "node"))
		}
	}
	return slices.SortedFunc(slices.Values(cores), func(a, b int) int {
		return cmp.Or(cmp.Compare(node[a], node[b]), cmp.Compare(first[a], first[b]), cmp.Compare(a, b))
	})
}

// CoresOf lists the cores of a set.
func CoresOf(set *unix.CPUSet) (list []int) {
	for n := range len(set) * 64 {
		if set.IsSet(n) {
			list = append(list, n)
		}
	}
	return list
}

// FormatCores writes a list of cores as the kernel does: "0-2,5".
func FormatCores(cores []int) string {
	in, top := map[int]bool{}, -1
	for _, c := range cores {
		in[c], top = true, max(top, c)
	}
	parts := []string{}
	for c := 0; c <= top; c++ {
		if !in[c] {
			continue
		}
		first := c
		for in[c+1] {
			c++
		}
		if first == c {
			parts = append(parts, strconv.Itoa(c))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", first, c))
		}
	}
	return strings.Join(parts, ",")
}

// ParseCores parses the format of FormatCores. It skips invalid parts.
func ParseCores(text string) []int {
	cores := []int{}
	for _, part := range strings.Split(strings.TrimSpace(text), ",") {
		low, high, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(low)
		if err != nil {
			continue
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(high); err != nil {
				continue
			}
		}
		for c := a; c <= b; c++ {
			cores = append(cores, c)
		}
	}
	return cores
}
