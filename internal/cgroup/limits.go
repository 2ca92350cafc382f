package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"
)

// period of the CPU quota: the kernel's default, which container engines use
// as well, so that throttling has the same grain everywhere.
const period = 100000 // microseconds

// setting is one line to write and how it reads back.
type setting struct {
	controller string
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
	return list
}

// limit writes the limits. A missing file is left to Verify.
func (g *Group) limit(l Limits) error {
	for _, s := range l.settings() {
		file, text, ok := g.place(s)
		if !ok {
			continue
		}
		if err := write(file, text); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("limiting cgroup %s to %s in %s: %w", g.path, s.what, file, err)
		}
	}
	if err := g.swapOff(l); err != nil {
		return fmt.Errorf("switching swap off for cgroup %s: %w", g.path, err)
	}
	return nil
}

func (g *Group) place(s setting) (file, text string, ok bool) {
	if dir, v1 := g.dirs[s.controller]; v1 {
		return filepath.Join(dir, s.v1), s.text1, true
	}
	dir, ok := g.dirs[""]
	return filepath.Join(dir, s.v2), s.text2, ok
}

// swapOff: v2 has a limit of its own for swap; v1 limits memory and swap
// together, which means no swap when it equals the limit of memory.
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

// Verify reads the limits back and says, a line each, which did not take hold.
func (g *Group) Verify(l Limits) []string {
	notes := []string{}
	for _, s := range l.settings() {
		file, text, ok := g.place(s)
		if !ok {
			notes = append(notes, fmt.Sprintf("the limit of %s has no effect: there is no %s controller", s.what, s.controller))
			continue
		}
		// The kernel rounds memory down to pages and writes cores its own way.
		got := readString(file)
		if s.controller == "cpuset" {
			got = FormatCores(ParseCores(got))
		}
		if same(got, text, s.controller == "memory") {
			continue
		}
		if got == "" {
			notes = append(notes, fmt.Sprintf("the limit of %s has no effect: %s cannot be read, so the %s controller is not on for this group", s.what, file, s.controller))
			continue
		}
		notes = append(notes, fmt.Sprintf("the limit of %s did not take hold: %s reads %q where %q was asked", s.what, file, got, text))
	}
	if note := g.verifySwap(l); note != "" {
		notes = append(notes, note)
	}
	return notes
}

func same(got, want string, pages bool) bool {
	if got == want || !pages {
		return got == want
	}
	g, errG := strconv.ParseInt(got, 10, 64)
	w, errW := strconv.ParseInt(want, 10, 64)
	return errG == nil && errW == nil && g <= w && w-g < 1<<16
}

// verifySwap matters only on a host that has swap.
func (g *Group) verifySwap(l Limits) string {
	swaps := strings.Split(readString(filepath.Join(g.tree.proc, "swaps")), "\n")
	if len(swaps) < 2 {
		return ""
	}
	if dir, v1 := g.dirs["memory"]; v1 {
		if l.Memory == 0 {
			return "the host has swap, and without a limit of memory cgroup v1 cannot rule its use out: switch it off with `swapoff -a`"
		}
		if same(readString(filepath.Join(dir, "memory.memsw.limit_in_bytes")), strconv.FormatInt(int64(l.Memory), 10), true) {
			return ""
		}
	} else if dir, v2 := g.dirs[""]; v2 && readString(filepath.Join(dir, "memory.swap.max")) == "0" {
		return ""
	}
	return "the host has swap and the kernel does not limit it for this group: switch it off with `swapoff -a`"
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

// ParseCores reads what FormatCores writes; what it does not understand it
// leaves out.
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
