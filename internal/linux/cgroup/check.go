package cgroup

import (
	"cmp"
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
	for _, k := range l.limits() {
		list = append(list, EffectiveLimit{Limit: k.name, Asked: k.asked})
	}
	return list
}

// Has reports whether a throttle has the limit of a wish.
func (t Throttle) Has(wish EffectiveLimit) bool {
	return slices.ContainsFunc(t.limits(), func(k limit) bool { return wish.Limit == "io" && wish.Asked == k.asked })
}

// Check reads back the effective limits of a process in the group: those of the
// group, or tighter ones of its parents. A limit that is tighter than requested
// does not hold either, since other environments do not have it.
func (g *Group) Check(l Limits) []EffectiveLimit {
	list := []EffectiveLimit{}
	for _, k := range l.limits() {
		switch k.name {
		case "cores":
			list = append(list, g.checkCores(k.asked))
		case "io":
			list = append(list, g.tightest(k, l.IO.Device))
		default:
			list = append(list, g.tightest(k, ""))
		}
	}
	if swap, matters := g.checkSwap(l); matters {
		list = append(list, swap)
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

// tightest returns the smallest value of a limit in a group and its parents: of a rate,
// that of a disk, or of any disk if the device is "".
func (g *Group) tightest(k limit, device string) EffectiveLimit {
	s := EffectiveLimit{Limit: k.name, Asked: k.asked, Seen: "none"}
	dir, v1, ok := g.place(k.controller)
	if !ok {
		return s.nothing("cgroup "+g.path, "there is no "+k.controller+" controller")
	}
	s.Where, _ = k.in(dir, v1)
	own, least, read := s.Where, math.Inf(1), false
	for ; ; dir = filepath.Dir(dir) {
		path, unit := k.in(dir, v1)
		var n float64
		var of string
		var ok bool
		if k.controller == "io" {
			n, of, ok = g.tree.rate(path, k.key, device, v1)
		} else {
			n, ok = g.tree.number(path, unit)
		}
		if read = read || ok; n < least {
			least, s.Where, s.Seen = n, path, k.show(n)+of
		}
		if dir == g.tree.mountOf(dir) || dir == "/" {
			break
		}
	}
	if !read {
		return s.nothing(own, "it cannot be read, so the "+k.controller+" controller is not on for this group")
	}
	s.Holds = math.Abs(least-k.want) <= k.off
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

// rate returns the smallest rate of a disk in a file, and " on" the disk.
func (t *Tree) rate(path, key, device string, v1 bool) (least float64, on string, ok bool) {
	least = math.Inf(1)
	data, err := t.read(path)
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || device != "" && fields[0] != device {
			continue
		}
		for _, field := range fields[1:] {
			value, named := strings.CutPrefix(field, key+"=")
			if n, err := strconv.ParseInt(value, 10, 64); err == nil && named != v1 && float64(n) < least {
				least, on = float64(n), " on "+fields[0]
			}
		}
	}
	return least, on, err == nil
}

func (g *Group) checkCores(asked string) EffectiveLimit {
	s := EffectiveLimit{Limit: "cores", Asked: asked}
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

// checkSwap matters only on a machine that has swap.
func (g *Group) checkSwap(l Limits) (s EffectiveLimit, matters bool) {
	swaps := strings.Split(text(g.tree.read(filepath.Join(g.tree.proc, "swaps"))), "\n")
	if len(swaps) < 2 {
		return s, false
	}
	s = EffectiveLimit{Limit: "swap", Asked: "no swap"}
	dir, v1, ok := g.place("memory")
	s.Where, _ = swapFile.in(dir, v1)
	switch {
	case !ok:
		return s.nothing("cgroup "+g.path, "there is no memory controller, and the machine has swap: disable it with `swapoff -a`"), true
	case !v1:
		s.Seen = text(g.tree.read(s.Where))
		s.Holds = s.Seen == "0"
	case l.Memory == 0:
		return s.nothing(s.Where, "without a memory limit cgroup v1 cannot disable swap, and the machine has some: disable it with `swapoff -a`"), true
	default:
		n, ok := g.tree.number(s.Where, "")
		s.Seen, s.Holds = fmt.Sprintf("%s with memory", quantity.Bytes(min(n, 1<<62))), ok && math.Abs(n-float64(l.Memory)) <= roundedPages
	}
	if !s.Holds {
		s.Seen = cmp.Or(s.Seen, "nothing")
		s.Seen += ", and the machine has swap: disable it with `swapoff -a`"
	}
	return s, true
}

// Bound is an effective limit, whichever program set it: a number as text, "none", or why it
// cannot be read.
type Bound struct{ Value, Missing string }

// Bounds are the effective limits of a process in the group: those of the group,
// or tighter ones of its parents.
type Bounds struct {
	CPUs   Bound // in cores
	Period Bound // of the group's own quota, in microseconds
	Weight Bound // relative to sibling groups
	Cores  Bound
	Memory Bound // bytes
	Swap   Bound // bytes in addition to the memory
	PIDs   Bound
}

// Bounds reads them.
func (g *Group) Bounds() Bounds {
	b := Bounds{CPUs: g.least(quotaFile), Memory: g.least(memoryFile), PIDs: g.least(pidsFile), Cores: bound(g.checkCores("").Seen), Swap: g.least(swapFile)}
	b.Weight, b.Period = g.weight()
	// v1 limits memory and swap together.
	_, v1, _ := g.place("memory")
	sum, err := strconv.ParseFloat(b.Swap.Value, 64)
	own, e := strconv.ParseFloat(b.Memory.Value, 64)
	if v1 && err == nil && e == nil {
		b.Swap.Value = number(max(sum-own, 0))
	}
	return b
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func (g *Group) least(f file) Bound { return bound(g.tightest(limit{file: f, show: number}, "").Seen) }

// weight of the group, and the period of its own quota where it has one.
func (g *Group) weight() (weight, period Bound) {
	dir, v1, ok := g.place("cpu")
	if !ok {
		missing := Bound{Missing: "there is no cpu controller"}
		return missing, missing
	}
	limit, unit := quotaFile.in(dir, v1)
	fields := strings.Fields(text(g.tree.read(limit)))
	period.Value = "none"
	switch {
	case len(fields) == 0:
		period = Bound{Missing: limit + " cannot be read"}
	case v1 && fields[0] != "-1":
		period = g.text(unit)
	case len(fields) == 2 && fields[0] != "max":
		period.Value = fields[1]
	}
	if v1 {
		return g.text(filepath.Join(dir, "cpu.shares")), period
	}
	return g.text(filepath.Join(dir, "cpu.weight")), period
}

func (g *Group) text(path string) Bound {
	if seen := text(g.tree.read(path)); seen != "" {
		return Bound{Value: seen}
	}
	return Bound{Missing: path + " cannot be read"}
}

func bound(seen string) Bound {
	if why, nothing := strings.CutPrefix(seen, "nothing: "); nothing {
		return Bound{Missing: why}
	}
	return Bound{Value: seen}
}
