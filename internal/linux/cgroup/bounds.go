package cgroup

import (
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
