package cgroup

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/quantity"
)

// EffectiveLimit is one effective limit, as read back.
type EffectiveLimit struct {
	Limit string `json:"limit"` // "cpus", "memory", "swap", "pids", "cores" or "io"
	Asked string `json:"asked"`
	Seen  string `json:"seen"` // in the same words; "nothing" and why, where none can be read
	Where string `json:"where"`
	Holds bool   `json:"holds"`
}

// String is one sentence.
func (s EffectiveLimit) String() string {
	verb := "requested, but"
	if s.Holds {
		verb = "requested, and"
	}
	return fmt.Sprintf("%s: %s %s %s shows %s", s.Limit, s.Asked, verb, s.Where, s.Seen)
}

// Requested returns the limits in the form of Check, before they are read back.
func (l Limits) Requested() (list []EffectiveLimit) {
	wish := func(limit, asked string) { list = append(list, EffectiveLimit{Limit: limit, Asked: asked}) }
	if l.CPUs > 0 {
		wish("cpus", fmt.Sprintf("%g CPUs", l.CPUs))
	}
	if l.Memory > 0 {
		wish("memory", l.Memory.String())
	}
	if l.PIDs > 0 {
		wish("pids", strconv.Itoa(l.PIDs))
	}
	if len(l.Cores) > 0 {
		wish("cores", FormatCores(l.Cores))
	}
	for _, r := range l.IO.rates() {
		wish("io", r.text())
	}
	return list
}

// Has reports whether a throttle has the limit of a wish.
func (t Throttle) Has(wish EffectiveLimit) bool {
	return slices.ContainsFunc(t.rates(), func(r rate) bool { return wish.Limit == "io" && wish.Asked == r.text() })
}

// Check reads back the effective limits of a process in the group: those of the
// group, or tighter ones of its parents. A limit that is tighter than requested
// does not hold either, since other environments do not have it.
func (g *Group) Check(l Limits) []EffectiveLimit {
	list := []EffectiveLimit{}
	if l.CPUs > 0 {
		list = append(list, g.tightest("cpus", fmt.Sprintf("%g CPUs", l.CPUs), "cpu", l.CPUs, 0.01*l.CPUs, quotaOf,
			func(v float64) string { return fmt.Sprintf("%.4g CPUs", v) }))
	}
	if l.Memory > 0 {
		// The kernel rounds down to pages.
		list = append(list, g.tightest("memory", l.Memory.String(), "memory", float64(l.Memory), 1<<16, memoryOf,
			func(v float64) string { return quantity.Bytes(v).String() }))
	}
	if swap, matters := g.checkSwap(l); matters {
		list = append(list, swap)
	}
	if l.PIDs > 0 {
		list = append(list, g.tightest("pids", strconv.Itoa(l.PIDs), "pids", float64(l.PIDs), 0,
			func(dir string, v1 bool) (string, string) { return filepath.Join(dir, "pids.max"), "" },
			func(v float64) string { return strconv.Itoa(int(v)) }))
	}
	if len(l.Cores) > 0 {
		list = append(list, g.checkCores(l.Cores))
	}
	for _, r := range l.IO.rates() {
		list = append(list, g.checkRate(l.IO.Device, r))
	}
	return list
}

// Cautions returns notes about limits that are weaker than they seem.
func (g *Group) Cautions(l Limits) (notes []string) {
	if _, v1, _ := g.place("io"); v1 && (l.IO.Write > 0 || l.IO.WriteOps > 0) {
		notes = append(notes, "cgroup v1 throttles what a process writes itself, with O_DIRECT or by fsync; what the kernel writes back later on its own is not throttled")
	}
	if s, matters := g.checkSwap(l); matters && !s.Holds && l.Memory == 0 {
		notes = append(notes, s.String())
	}
	return notes
}

// files returns the file of a limit, and on v1 that of its unit.
type files func(dir string, v1 bool) (limit, unit string)

func quotaOf(dir string, v1 bool) (limit, unit string) {
	if v1 {
		return filepath.Join(dir, "cpu.cfs_quota_us"), filepath.Join(dir, "cpu.cfs_period_us")
	}
	return filepath.Join(dir, "cpu.max"), ""
}

func memoryOf(dir string, v1 bool) (limit, unit string) {
	if v1 {
		return filepath.Join(dir, "memory.limit_in_bytes"), ""
	}
	return filepath.Join(dir, "memory.max"), ""
}

// tightest returns the smallest value of a limit in a group and its parents.
func (g *Group) tightest(limit, asked, controller string, want, off float64, at files, text func(float64) string) EffectiveLimit {
	s := EffectiveLimit{Limit: limit, Asked: asked}
	dir, v1, ok := g.place(controller)
	if !ok {
		return s.nothing("cgroup "+g.path, "there is no "+controller+" controller")
	}
	own, _ := at(dir, v1)
	value, where := math.Inf(1), own
	read := false
	for ; ; dir = filepath.Dir(dir) {
		file, unit := at(dir, v1)
		n, ok := g.tree.number(file, unit)
		if read = read || ok; n < value {
			value, where = n, file
		}
		if dir == g.tree.mountOf(dir) || dir == "/" {
			break
		}
	}
	switch {
	case !read:
		return s.nothing(own, "it cannot be read, so the "+controller+" controller is not on for this group")
	case math.IsInf(value, 1):
		s.Seen = "none"
	default:
		s.Seen = text(value)
	}
	s.Where, s.Holds = where, math.Abs(value-want) <= off
	return s
}

func (s EffectiveLimit) nothing(where, why string) EffectiveLimit {
	s.Where, s.Seen = where, "nothing: "+why
	return s
}

// number reads a limit, +Inf for none. v2's cpu.max has the period in the same
// file.
func (t *Tree) number(file, unit string) (float64, bool) {
	fields := strings.Fields(text(t.read(file)))
	if len(fields) == 0 {
		return math.Inf(1), false
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	// v1 shows no memory limit as the largest number of pages.
	if err != nil || value < 0 || value > 1<<62 {
		return math.Inf(1), true
	}
	per := ""
	if len(fields) > 1 {
		per = fields[1]
	} else if unit != "" {
		per = text(t.read(unit))
	}
	if p, err := strconv.ParseFloat(per, 64); err == nil && p > 0 {
		value /= p
	}
	return value, true
}

func (g *Group) checkCores(cores []int) EffectiveLimit {
	s := EffectiveLimit{Limit: "cores", Asked: FormatCores(cores)}
	dir, v1, ok := g.place("cpuset")
	if !ok {
		return s.nothing("cgroup "+g.path, "there is no cpuset controller")
	}
	names := []string{"cpuset.cpus.effective", "cpuset.cpus"}
	if v1 {
		names = []string{"cpuset.effective_cpus", "cpuset.cpus"}
	}
	for _, name := range names {
		s.Where = filepath.Join(dir, name)
		if seen := text(g.tree.read(s.Where)); seen != "" {
			s.Seen = FormatCores(ParseCores(seen))
			s.Holds = s.Seen == s.Asked
			return s
		}
	}
	return s.nothing(s.Where, "it cannot be read, so the cpuset controller is not on for this group")
}

// checkRate returns the smallest rate of a disk in a group and its parents; of any
// disk if the device is "".
func (g *Group) checkRate(device string, r rate) EffectiveLimit {
	s := EffectiveLimit{Limit: "io", Asked: r.text()}
	dir, v1, ok := g.place("io")
	if !ok {
		return s.nothing("cgroup "+g.path, "there is no io controller")
	}
	name := "io.max"
	if v1 {
		name = r.v1
	}
	s.Where, s.Seen = filepath.Join(dir, name), "none"
	least := int64(math.MaxInt64)
	read := false
	for ; ; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, name)
		data, err := g.tree.read(file)
		read = read || err == nil
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			if len(fields) < 2 || device != "" && fields[0] != device {
				continue
			}
			for _, field := range fields[1:] {
				value, named := strings.CutPrefix(field, r.v2+"=")
				n, err := strconv.ParseInt(value, 10, 64)
				if err == nil && named != v1 && n < least {
					least, s.Where = n, file
					seen := r
					seen.value = n
					s.Seen = seen.text() + " on " + fields[0]
				}
			}
		}
		if dir == g.tree.mountOf(dir) || dir == "/" {
			break
		}
	}
	if !read {
		return s.nothing(s.Where, "it cannot be read, so the io controller is not on for this group")
	}
	s.Holds = least == r.value
	return s
}

// checkSwap matters only on a machine that has swap.
func (g *Group) checkSwap(l Limits) (s EffectiveLimit, matters bool) {
	swaps := strings.Split(text(g.tree.read(filepath.Join(g.tree.proc, "swaps"))), "\n")
	if len(swaps) < 2 {
		return s, false
	}
	s = EffectiveLimit{Limit: "swap", Asked: "no swap"}
	dir, v1, ok := g.place("memory")
	switch {
	case !ok:
		return s.nothing("cgroup "+g.path, "there is no memory controller, and the machine has swap: disable it with `swapoff -a`"), true
	case !v1:
		s.Where = filepath.Join(dir, "memory.swap.max")
		s.Seen = text(g.tree.read(s.Where))
		s.Holds = s.Seen == "0"
	case l.Memory == 0:
		return s.nothing(filepath.Join(dir, "memory.memsw.limit_in_bytes"), "without a memory limit cgroup v1 cannot disable swap, and the machine has some: disable it with `swapoff -a`"), true
	default:
		s.Where = filepath.Join(dir, "memory.memsw.limit_in_bytes")
		n, ok := g.tree.number(s.Where, "")
		s.Seen, s.Holds = fmt.Sprintf("%s with memory", quantity.Bytes(min(n, 1<<62))), ok && math.Abs(n-float64(l.Memory)) <= 1<<16
	}
	if !s.Holds {
		if s.Seen == "" {
			s.Seen = "nothing"
		}
		s.Seen += ", and the machine has swap: disable it with `swapoff -a`"
	}
	return s, true
}
