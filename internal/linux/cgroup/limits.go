package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/base/quantity"
)

// period of the CPU quota: the kernel's default, which container engines use too,
// so that throttling has the same granularity everywhere.
const period = 100000 // microseconds

// setting is one line to write.
type setting struct {
	controller string // v2's name
	what       string // in messages: "2 CPUs"
	v1, v2     string // files
	text1      string // what v1 gets
	text2      string // what v2 gets
}

func (l Limits) settings() []setting {
	list := []setting{}
	if l.CPUs > 0 {
		quota := strconv.Itoa(int(math.Round(l.CPUs * period)))
		list = append(list, setting{"cpu", fmt.Sprintf("%g CPUs", l.CPUs),
			"cpu.cfs_quota_us", "cpu.max", quota, quota + " " + strconv.Itoa(period)})
	}
	if l.Memory > 0 {
		n := strconv.FormatInt(int64(l.Memory), 10)
		list = append(list, setting{"memory", l.Memory.String() + " of memory",
			"memory.limit_in_bytes", "memory.max", n, n})
	}
	if l.PIDs > 0 {
		n := strconv.Itoa(l.PIDs)
		list = append(list, setting{"pids", n + " processes", "pids.max", "pids.max", n, n})
	}
	if len(l.Cores) > 0 {
		cores := FormatCores(l.Cores)
		list = append(list, setting{"cpuset", "cores " + cores, "cpuset.cpus", "cpuset.cpus", cores, cores})
	}
	for _, r := range l.IO.rates() {
		n := strconv.FormatInt(r.value, 10)
		list = append(list, setting{"io", r.text(),
			r.v1, "io.max", l.IO.Device + " " + n, l.IO.Device + " " + r.v2 + "=" + n})
	}
	return list
}

// rate is one of the four of a throttle.
type rate struct {
	value    int64
	what, of string // "read", "bytes"
	v1, v2   string // v1's file, v2's key
}

// rates returns the limits of a throttle that are set.
func (t Throttle) rates() []rate {
	list := []rate{}
	for _, r := range []rate{
		{int64(t.Read), "read", "bytes", "blkio.throttle.read_bps_device", "rbps"},
		{int64(t.Write), "written", "bytes", "blkio.throttle.write_bps_device", "wbps"},
		{int64(t.ReadOps), "read", "operations", "blkio.throttle.read_iops_device", "riops"},
		{int64(t.WriteOps), "written", "operations", "blkio.throttle.write_iops_device", "wiops"},
	} {
		if r.value > 0 {
			list = append(list, r)
		}
	}
	return list
}

func (r rate) text() string {
	if r.of == "bytes" {
		return fmt.Sprintf("%s %s per second", quantity.Bytes(r.value), r.what)
	}
	return fmt.Sprintf("%d operations %s per second", r.value, r.what)
}

// limit writes the limits. A missing file is left to Check.
func (g *Group) limit(l Limits) error {
	for _, s := range l.settings() {
		dir, v1, ok := g.place(s.controller)
		if !ok {
			continue
		}
		file, text := filepath.Join(dir, s.v2), s.text2
		if v1 {
			file, text = filepath.Join(dir, s.v1), s.text1
		}
		if err := write(file, text); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("limiting cgroup %s to %s in %s: %w", g.path, s.what, file, err)
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
	file, text := "", "0"
	if dir, v1 := g.dirs["memory"]; v1 {
		if l.Memory > 0 {
			file, text = filepath.Join(dir, "memory.memsw.limit_in_bytes"), strconv.FormatInt(int64(l.Memory), 10)
		} else {
			file = filepath.Join(dir, "memory.swappiness")
		}
	} else if dir, v2 := g.dirs[""]; v2 {
		file = filepath.Join(dir, "memory.swap.max")
	}
	if file == "" {
		return nil
	}
	if err := write(file, text); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
