package cgroup

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
)

// Bound is an effective limit, whoever set it: a number as text, "none", or why it
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
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	least := func(controller string, at files) Bound {
		s := g.tightest(controller, "", controller, 0, 0, at, number)
		return bound(s.Seen)
	}
	b := Bounds{
		CPUs:   least("cpu", quotaOf),
		Memory: least("memory", memoryOf),
		PIDs:   least("pids", func(dir string, v1 bool) (string, string) { return filepath.Join(dir, "pids.max"), "" }),
		Cores:  bound(g.checkCores(nil).Seen),
	}
	b.Weight, b.Period = g.weight()
	b.Swap = g.swap(least, b.Memory)
	return b
}

// weight of the group, and the period of its own quota where it has one.
func (g *Group) weight() (weight, period Bound) {
	dir, v1, ok := g.place("cpu")
	if !ok {
		missing := Bound{Missing: "there is no cpu controller"}
		return missing, missing
	}
	limit, unit := quotaOf(dir, v1)
	fields := strings.Fields(text(g.tree.read(limit)))
	period.Value = "none"
	switch {
	case len(fields) == 0:
		period = Bound{Missing: limit + " cannot be read"}
	case v1 && fields[0] != "-1":
		period = g.file(unit)
	case len(fields) == 2 && fields[0] != "max":
		period.Value = fields[1]
	}
	if v1 {
		return g.file(filepath.Join(dir, "cpu.shares")), period
	}
	return g.file(filepath.Join(dir, "cpu.weight")), period
}

// swap returns the limit of swap in addition to memory. v1 limits both together.
func (g *Group) swap(least func(string, files) Bound, memory Bound) Bound {
	_, v1, _ := g.place("memory")
	both := least("memory", func(dir string, v1 bool) (string, string) {
		if v1 {
			return filepath.Join(dir, "memory.memsw.limit_in_bytes"), ""
		}
		return filepath.Join(dir, "memory.swap.max"), ""
	})
	sum, err := strconv.ParseFloat(both.Value, 64)
	own, e := strconv.ParseFloat(memory.Value, 64)
	if v1 && err == nil && e == nil {
		return Bound{Value: strconv.FormatFloat(math.Max(sum-own, 0), 'f', -1, 64)}
	}
	return both
}

func (g *Group) file(path string) Bound {
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
