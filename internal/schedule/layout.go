package schedule

import (
	"slices"

	"tare/internal/rundir"
)

// giveUpAfter is how many failures in a row, counted from the first trial, make
// further ones pointless.
const giveUpAfter = 3

// attempts is what became of a cell in an environment.
type attempts struct {
	failures int
	worked   bool
	gaveUp   int // the block in which it was given up; 0 while it was not
	reason   string
}

func (a *attempts) add(t rundir.Trial) {
	if t.Status == rundir.OK {
		a.worked = true
		return
	}
	a.failures++
	if !a.worked && a.gaveUp == 0 && (t.Status == rundir.Skipped || a.failures >= giveUpAfter) {
		a.gaveUp, a.reason = t.Block, t.Reason
	}
}

// layout is the order of a stage, from what was known before it began.
func (s *Schedule) layout(at stage) []Slot {
	live := s.live(at)
	draw := newOrder(s.plan.Seed, uint64(at.block)|uint64(at.environment+1)<<32)

	// A part is run without interruption: all that shares instances, or one
	// cell in one environment after another.
	var shared []cell
	var parts [][]cell
	for _, c := range s.cells {
		if len(live[c]) == 0 {
			continue
		}
		if c.fresh == "trial" {
			parts = append(parts, []cell{c})
		} else {
			shared = append(shared, c)
		}
	}
	if len(shared) > 0 {
		parts = append(parts, shared)
	}
	shuffle(draw, parts)

	var slots []Slot
	for _, part := range parts {
		var environments []string
		for _, name := range s.environments {
			if slices.ContainsFunc(part, func(c cell) bool { return slices.Contains(live[c], name) }) {
				environments = append(environments, name)
			}
		}
		shuffle(draw, environments)
		for _, name := range environments {
			for _, c := range s.inside(draw, part, live, name) {
				slots = append(slots, Slot{Block: at.block, Environment: name, Workload: c.workload, Level: c.level, Fresh: c.fresh})
			}
		}
	}
	// In sequential order the positions of a block go on from one environment
	// to the next.
	first := 1 + max(at.environment, 0)*len(s.cells)
	for i := range slots {
		slots[i].Position = first + i
	}
	return slots
}

// inside is the order of a part's cells in one environment: random, but those
// that can use the same instances follow each other, and the start of an
// instance, which is measured when it happens, comes first among them.
func (s *Schedule) inside(draw order, part []cell, live map[cell][]string, environment string) []cell {
	var cells []cell
	for _, c := range part {
		if slices.Contains(live[c], environment) {
			cells = append(cells, c)
		}
	}
	shuffle(draw, cells)
	var shapes []string // in the order of their first cell
	for _, c := range cells {
		if !slices.Contains(shapes, c.shape) {
			shapes = append(shapes, c.shape)
		}
	}
	slices.SortStableFunc(cells, func(a, b cell) int {
		switch {
		case a.shape != b.shape:
			return slices.Index(shapes, a.shape) - slices.Index(shapes, b.shape)
		case a.startup == b.startup:
			return 0
		case a.startup:
			return -1
		}
		return 1
	})
	return cells
}

// live are the environments that run each cell in a stage.
func (s *Schedule) live(at stage) map[cell][]string {
	live := map[cell][]string{}
	for _, c := range s.cells {
		if s.byStep() {
			s.liveByStep(live, c, at)
			continue
		}
		if s.gaveUp(s.plan.Baseline, c, at) {
			continue // nothing to compare with
		}
		needed := len(s.environments) == 1 && s.mustRun(at.block)
		for _, name := range s.environments {
			if name == s.plan.Baseline || s.gaveUp(name, c, at) || !s.mustRun(at.block) && !s.book.Open(name, c.workload, c.level, at.block) {
				continue
			}
			needed = true
			live[c] = append(live[c], name)
		}
		if needed {
			live[c] = append(live[c], s.plan.Baseline)
		}
		s.keepTurn(live, c, at)
	}
	return live
}

// keepTurn leaves a cell to the one environment whose turn it is in sequential
// order.
func (s *Schedule) keepTurn(live map[cell][]string, c cell, at stage) {
	if s.sequential() {
		live[c] = slices.DeleteFunc(live[c], func(name string) bool { return name != s.environments[at.environment] })
	}
}

// byStep says whether what is compared are steps, so that no environment is
// needed by all others.
func (s *Schedule) byStep() bool { return len(s.plan.Steps) > 0 }

// liveByStep keeps each environment for as long as a comparison is open that it
// is one side of: of a ladder, a rung leaves when the steps below and above it
// are decided.
func (s *Schedule) liveByStep(live map[cell][]string, c cell, at stage) {
	for _, name := range s.environments {
		if !s.gaveUp(name, c, at) && (s.mustRun(at.block) || s.book.Open(name, c.workload, c.level, at.block)) {
			live[c] = append(live[c], name)
		}
	}
	s.keepTurn(live, c, at)
}

// mustRun says whether a block is run whatever has been decided.
func (s *Schedule) mustRun(block int) bool {
	d := s.plan.Design
	if d.Blocks.Fixed || s.sequential() {
		return true // the number of blocks was settled beforehand
	}
	return block <= d.Blocks.Min || d.Drop == "never" && len(s.environments) > 1
}

// gaveUp says whether a cell was given up in an environment before a stage.
func (s *Schedule) gaveUp(environment string, c cell, at stage) bool {
	a := s.attempts[place{environment, c.workload, c.level}]
	if a == nil || a.gaveUp == 0 {
		return false
	}
	// In sequential order the whole of another environment lies before or after.
	return a.gaveUp < at.block || s.sequential() && environment != s.environments[at.environment]
}
