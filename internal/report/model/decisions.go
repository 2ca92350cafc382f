package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/verdict"
)

// decision is a report with what the sentences of its answer share.
type decision struct {
	*Report
	rows   []Row
	used   []used
	varied float64        // by how much the speed of the machine varied
	blocks int            // in which that was measured
	told   map[Grade]bool // the grades that have to be explained
}

// used is an environment that says something about a layer in use, and not about emulation,
// with its comparisons.
type used struct {
	*Environment
	all []placed
}

// placed is a comparison with the place that it is of.
type placed struct {
	Row
	*verdict.Contrast
	of *Environment
}

func (v *Report) decision() *decision {
	d := &decision{Report: v, rows: v.Rows(), told: map[Grade]bool{}}
	d.varied, d.blocks = v.varied()
	for i := range v.Environments {
		e := &v.Environments[i]
		if !e.Compared() || emulated(e) {
			continue
		}
		u := used{Environment: e}
		for _, r := range d.rows {
			if c := r.Metric.Cell(e.Name); c != nil && c.Contrast != nil {
				u.all = append(u.all, placed{r, c.Contrast, e})
			}
		}
		d.used = append(d.used, u)
	}
	return d
}

func (u used) primary() []placed {
	return lists.Filter(u.all, func(c placed) bool { return c.Row.Metric.Primary })
}

// unfair reports whether something besides the layer affects a comparison, and leaves it its
// meaning.
func (u used) unfair() bool {
	return slices.ContainsFunc(u.primary(), func(c placed) bool { return c.Confounded() && !c.Withheld() })
}

// Grade is what a reader can do with a comparison.
type Grade string

// The grades.
const (
	Safe      Grade = "safe to act on" // decided, and its interval is narrow
	Direction Grade = "direction only" // decided, and its size is not to be trusted
	Unfair    Grade = "something else differs" + Mark
	Undecided Grade = "undecided"  // more blocks can decide it
	Without   Grade = "no verdict" // none can
)

// Grades are all of them, the surest first.
var Grades = []Grade{Safe, Direction, Unfair, Undecided, Without}

func byGrade(a, b Grade) int {
	return cmp.Compare(slices.Index(Grades, a), slices.Index(Grades, b))
}

// grade of a comparison, by its verdict, the width of its interval and the machine. A narrow
// interval is no wider than the change, or than the margin to both sides.
func (d *decision) grade(c *verdict.Contrast) Grade {
	switch {
	case open(c):
		return Undecided
	case c.Verdict == verdict.None:
		return Without
	case c.Confounded():
		return Unfair
	case d.Manifest.Machine.Emulated():
		return Direction
	case c.Verdict != verdict.Equivalent && (d.varied >= loudFrom || c.High-c.Low > max(2*d.Margin(), math.Abs(c.Estimate))):
		return Direction
	}
	return Safe
}

// open reports whether a comparison could have a verdict, and has none.
func open(c *verdict.Contrast) bool {
	return !c.Unpaired && (c.Verdict == verdict.Inconclusive || c.Verdict == verdict.None && !c.Barred() && c.N > 0 && c.N < stats.LeastBlocks)
}

// takes is how many blocks a verdict is likely to take; more than any run has where that is
// out of reach.
func (c placed) takes() int {
	switch {
	case c.N < stats.LeastBlocks:
		return stats.LeastBlocks
	case c.Projection > c.N && c.Projection <= verdict.FarAway:
		return c.Projection
	}
	return math.MaxInt
}

// needs is how many blocks a verdict is likely to take, in words.
func (c placed) needs() string {
	switch takes := c.takes(); {
	case c.N < stats.LeastBlocks:
		return fmt.Sprintf("n=%d of at least %d", c.N, takes)
	case takes > verdict.FarAway:
		return fmt.Sprintf("over %d blocks", verdict.FarAway)
	default:
		return fmt.Sprintf("~%d blocks", takes)
	}
}

// among is the title of a comparison, with its metric where the others have one of another
// metric there.
func (c placed) among(all []placed) string {
	name := c.Title()
	if same := lists.Filter(all, func(o placed) bool { return o.Title() == name }); len(same) > 1 {
		name += " " + c.Row.Metric.Title()
	}
	return name
}

// serves tells whether a workload is a service under load.
func (v *Report) serves(workload string) bool {
	return slices.ContainsFunc(v.Plan.Workloads, func(w study.Workload) bool { return w.Name == workload && len(w.Pack.Servers) > 0 })
}
