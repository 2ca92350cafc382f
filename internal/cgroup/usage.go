package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tare/internal/quantity"
)

// CPU is the processor time that a group and those below it have used since it
// was made.
type CPU struct {
	Total time.Duration // exact
	// User and System tell only how Total is to be divided: v1 samples them at
	// the timer's tick, so they do not add up to Total.
	User, System time.Duration
	// Throttled is how long the group or one below it had work and was held
	// back by its quota.
	Throttled time.Duration
}

// Since is the time used since an earlier reading, divided as v2 does it: the
// exact total in the proportion of the sampled parts.
func (c CPU) Since(before CPU) (user, system time.Duration) {
	total := max(c.Total-before.Total, 0)
	u, s := max(c.User-before.User, 0), max(c.System-before.System, 0)
	if u+s == 0 {
		return total, 0
	}
	system = time.Duration(float64(total) * (float64(s) / float64(u+s)))
	return total - system, system
}

// CPU reads the processor time.
func (g *Group) CPU() (CPU, error) {
	if dir, v1 := g.dirs["cpuacct"]; v1 {
		return g.cpuV1(dir)
	}
	dir, ok := g.dirs[""]
	if !ok {
		return CPU{}, fmt.Errorf("reading the CPU time of cgroup %s: there is no cpuacct controller", g.path)
	}
	stat, err := readTable(filepath.Join(dir, "cpu.stat"))
	if err != nil {
		return CPU{}, g.reading("CPU time", err)
	}
	if _, ok := stat["usage_usec"]; !ok {
		return CPU{}, fmt.Errorf("reading the CPU time of cgroup %s: %s has no usage_usec", g.path, filepath.Join(dir, "cpu.stat"))
	}
	us := func(key string) time.Duration { return time.Duration(stat[key]) * time.Microsecond }
	return CPU{us("usage_usec"), us("user_usec"), us("system_usec"), sumBelow(dir, "throttled_usec", time.Microsecond)}, nil
}

func (g *Group) cpuV1(dir string) (CPU, error) {
	total, err := readNumber(filepath.Join(dir, "cpuacct.usage"))
	if err != nil {
		return CPU{}, g.reading("CPU time", err)
	}
	c := CPU{Total: time.Duration(total)}
	user, errU := readNumber(filepath.Join(dir, "cpuacct.usage_user"))
	system, errS := readNumber(filepath.Join(dir, "cpuacct.usage_sys"))
	if errU == nil && errS == nil {
		c.User, c.System = time.Duration(user), time.Duration(system)
	} else { // before Linux 4.7: in ticks of 1/100 s
		stat, err := readTable(filepath.Join(dir, "cpuacct.stat"))
		if err != nil {
			return CPU{}, g.reading("CPU time", err)
		}
		c.User, c.System = time.Duration(stat["user"])*10*time.Millisecond, time.Duration(stat["system"])*10*time.Millisecond
	}
	if cpu, ok := g.dirs["cpu"]; ok {
		c.Throttled = sumBelow(cpu, "throttled_time", time.Nanosecond)
	}
	return c, nil
}

// sumBelow adds a line of cpu.stat over a group and those below: the kernel
// counts throttling in the very group whose quota it was.
func sumBelow(dir, key string, unit time.Duration) (sum time.Duration) {
	_ = walk(dir, func(at string) error {
		stat, _ := readTable(filepath.Join(at, "cpu.stat"))
		sum += time.Duration(stat[key]) * unit
		return nil
	})
	return sum
}

// Memory is what a group and those below it hold now.
type Memory struct {
	Current quantity.Bytes // everything that is charged to the group
	Peak    quantity.Bytes // the highest Current so far, page cache included; 0 if the kernel does not keep it
	Anon    quantity.Bytes
	Cache   quantity.Bytes // page cache, Shmem included
	Shmem   quantity.Bytes
	// InactiveFile is the part of Cache that the kernel would drop first.
	InactiveFile quantity.Bytes
}

// WorkingSet is what the group holds without the page cache: anonymous and
// shared memory, and what the kernel holds on its behalf.
func (m Memory) WorkingSet() quantity.Bytes { return max(m.Current-m.Cache+m.Shmem, 0) }

// Memory reads what the group holds.
func (g *Group) Memory() (Memory, error) {
	if dir, v1 := g.dirs["memory"]; v1 {
		return g.memory(dir, "memory.usage_in_bytes", "memory.max_usage_in_bytes",
			"total_rss", "total_cache", "total_shmem", "total_inactive_file")
	}
	dir, ok := g.dirs[""]
	if !ok {
		return Memory{}, fmt.Errorf("reading the memory of cgroup %s: there is no memory controller", g.path)
	}
	return g.memory(dir, "memory.current", "memory.peak", "anon", "file", "shmem", "inactive_file")
}

func (g *Group) memory(dir, current, peak, anon, cache, shmem, inactive string) (Memory, error) {
	now, err := readNumber(filepath.Join(dir, current))
	if err != nil {
		return Memory{}, g.reading("memory", err)
	}
	stat, err := readTable(filepath.Join(dir, "memory.stat"))
	if err != nil {
		return Memory{}, g.reading("memory", err)
	}
	top, _ := readNumber(filepath.Join(dir, peak))
	return Memory{
		Current: quantity.Bytes(now), Peak: quantity.Bytes(top), Anon: quantity.Bytes(stat[anon]),
		Cache: quantity.Bytes(stat[cache]), Shmem: quantity.Bytes(stat[shmem]), InactiveFile: quantity.Bytes(stat[inactive]),
	}, nil
}

// IO is what a group and those below it have moved to and from block devices.
type IO struct{ Read, Written quantity.Bytes }

// IO reads io.stat. Only v2 has figures worth having: v1 counts a device only
// while it has a throttle rule, and charges written pages to nobody.
// counts says which devices (MAJOR:MINOR) to add up; nil means all.
func (g *Group) IO(counts func(device string) bool) (IO, error) {
	dir, ok := g.dirs[""]
	if !ok || len(g.tree.v1) > 0 {
		return IO{}, fmt.Errorf("reading the disk bytes of cgroup %s: cgroup v1 counts them only under a throttle rule", g.path)
	}
	data, err := os.ReadFile(filepath.Join(dir, "io.stat"))
	if err != nil {
		return IO{}, g.reading("disk bytes", err)
	}
	var io IO
	for _, line := range strings.Split(string(data), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || counts != nil && !counts(fields[0]) {
			continue
		}
		for _, field := range fields[1:] {
			key, value, _ := strings.Cut(field, "=")
			n, err := strconv.ParseInt(value, 10, 64)
			switch {
			case err != nil:
			case key == "rbytes":
				io.Read += quantity.Bytes(n)
			case key == "wbytes":
				io.Written += quantity.Bytes(n)
			}
		}
	}
	return io, nil
}

func (g *Group) reading(what string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the %s of cgroup %s: the group or its controller is not there: %w", what, g.path, err)
	}
	return fmt.Errorf("reading the %s of cgroup %s: %w", what, g.path, err)
}

func readNumber(file string) (int64, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s holds %q, not a number", file, data)
	}
	return n, nil
}

// readTable reads lines of a word and a number.
func readTable(file string) (map[string]int64, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	table := map[string]int64{}
	for _, line := range strings.Split(string(data), "\n") {
		key, value, ok := strings.Cut(line, " ")
		if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); ok && err == nil {
			table[key] = n
		}
	}
	return table, nil
}
