package schedule

import (
	"slices"

	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/subject"
)

// giveUpAfter is the number of failures in a row on one node, from the first trial on,
// after which a cell is given up.
const giveUpAfter = 3

// attempts are the results of a cell in an environment.
type attempts struct {
	failures map[string]int // by nodes: one that is gone says nothing about the cell
	worked   bool
	gaveUp   int // the block in which it was given up; 0 while it was not
	reason   string
}

func (a *attempts) add(t rundir.Trial) {
	if t.Status == rundir.OK {
		a.worked = true
		return
	}
	a.failures[t.Node]++
	if !a.worked && a.gaveUp == 0 && (t.Status == rundir.Skipped || a.failures[t.Node] >= giveUpAfter) {
		a.gaveUp, a.reason = t.Block, t.Reason
	}
}

// layout is the order of a stage. It depends only on trials before the stage.
func (s *Schedule) layout(at stage) []Slot {
	live := s.live(at)
	draw := newOrder(s.plan.Seed, uint64(at.block)|uint64(at.environment+1)<<32)

	groups := s.groups(live)
	shuffle(draw, groups)
	if at.block == 1 { // images of others may be made meanwhile
		slices.SortStableFunc(groups, func(a, b []cell) int { return after(!atOnce(a), !atOnce(b)) })
	}
	slices.SortStableFunc(groups, func(a, b []cell) int { return after(searched(a), searched(b)) })
	var slots []Slot
	add := func(c cell, environment string) {
		rounds, within := s.rounds(c, environment, at.block)
		slots = append(slots, Slot{
			Block: at.block, Environment: environment, Workload: c.Workload, Level: c.Level, Fresh: c.fresh, Rounds: rounds, Within: within,
		})
	}
	for _, group := range groups {
		if s.alternating() {
			for _, c := range cellOrder(draw, slices.Clone(group)) {
				environments := lists.Filter(s.environments, func(name string) bool { return slices.Contains(live[c], name) })
				shuffle(newOrder(s.batchSeed(at.block, c.Place), 0), environments)
				for _, name := range environments {
					add(c, name)
				}
			}
			continue
		}
		environments := lists.Filter(s.environments, func(name string) bool {
			return slices.ContainsFunc(group, func(c cell) bool { return slices.Contains(live[c], name) })
		})
		shuffle(draw, environments)
		for _, name := range environments {
			for _, c := range cellOrder(draw, lists.Filter(group, func(c cell) bool { return slices.Contains(live[c], name) })) {
				add(c, name)
			}
		}
	}
	// In sequential order the positions of a block continue from one environment
	// to the next.
	first := 1 + max(at.environment, 0)*len(s.cells)
	for i := range slots {
		slots[i].Position = first + i
	}
	return slots
}

// groups are the cells whose trials follow each other: all that can share
// instances, or one with fresh instances for each trial. In alternating order the
// instances of all environments live at the same time, so that only cells that
// need the same ones form a group.
func (s *Schedule) groups(live map[cell][]string) (groups [][]cell) {
	var shared [][]cell
	for _, c := range s.cells {
		switch at := slices.IndexFunc(shared, func(group []cell) bool {
			return !s.alternating() || group[0].shape == c.shape && group[0].fresh == c.fresh
		}); {
		case len(live[c]) == 0:
		case c.fresh == "trial":
			groups = append(groups, []cell{c})
		case at < 0:
			shared = append(shared, []cell{c})
		default:
			shared[at] = append(shared[at], c)
		}
	}
	return append(groups, shared...)
}

// cellOrder puts cells in a random order, but those that can use the same
// instances follow each other, and among them the one that measures the start is
// first, and those whose rate follows from a search are last.
func cellOrder(draw order, cells []cell) []cell {
	shuffle(draw, cells)
	var shapes []string // in the order of their first cell
	for _, c := range cells {
		shapes = lists.Add(shapes, c.shape)
	}
	slices.SortStableFunc(cells, func(a, b cell) int {
		switch {
		case a.shape != b.shape:
			return slices.Index(shapes, a.shape) - slices.Index(shapes, b.shape)
		case a.startup != b.startup:
			return after(!a.startup, !b.startup)
		}
		return after(a.loaded, b.loaded)
	})
	return cells
}

// searched says whether the rates of all cells follow from searches of other cells.
func searched(cells []cell) bool {
	return !slices.ContainsFunc(cells, func(c cell) bool { return !c.loaded })
}

// atOnce says whether no cell needs an image that has to be made.
func atOnce(cells []cell) bool {
	return !slices.ContainsFunc(cells, func(c cell) bool { return !c.atOnce })
}

// after puts what is last after what is not.
func after(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// live returns, for each cell, the environments that run it in a stage.
func (s *Schedule) live(at stage) map[cell][]string {
	live := map[cell][]string{}
	for _, c := range s.cells {
		if s.byStep() {
			s.liveByStep(live, c, at)
			continue
		}
		if s.gaveUp(c.In(s.plan.Baseline), at) {
			continue // nothing to compare with
		}
		needed := len(s.environments) == 1 && s.mustRun(at.block)
		for _, name := range s.environments {
			if name == s.plan.Baseline || !s.hasTurn(c.In(name), at) || s.rests(c.In(name), at) || s.gaveUp(c.In(name), at) || !s.mustRun(at.block) && !s.book.Open(c.In(name), at.block) {
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

// keepTurn restricts a cell to the environment of the stage in sequential order.
func (s *Schedule) keepTurn(live map[cell][]string, c cell, at stage) {
	if s.sequential() {
		live[c] = slices.DeleteFunc(live[c], func(name string) bool { return name != s.environments[at.environment] })
	}
}

// byStep says whether the steps of a ladder are compared, so that not every
// contrast needs the baseline.
func (s *Schedule) byStep() bool { return len(s.plan.Steps) > 0 }

// liveByStep keeps an environment while a comparison with it is open: a rung of a
// ladder is dropped when the steps below and above it are decided.
func (s *Schedule) liveByStep(live map[cell][]string, c cell, at stage) {
	for _, name := range s.environments {
		if !s.gaveUp(c.In(name), at) && (s.mustRun(at.block) || s.book.Open(c.In(name), at.block)) {
			live[c] = append(live[c], name)
		}
	}
	s.keepTurn(live, c, at)
}

// mustRun says whether a block is run independent of the verdicts.
func (s *Schedule) mustRun(block int) bool {
	d := s.plan.Design
	if d.Blocks.Fixed || s.sequential() {
		return true // the number of blocks is fixed
	}
	return block <= d.Blocks.Min*s.turns || d.Drop == "never" && len(s.environments) > 1
}

// leftOut reports whether an environment has left a workload because its comparisons can have
// no verdict, and has the blocks that show their range.
func (s *Schedule) leftOut(at subject.Cell, block int) bool {
	return s.withheld[at] && s.plan.Design.Leaves() && block > stats.LeastBlocks*s.turns
}

// hasTurn says whether an environment is in a block together with the baseline.
func (s *Schedule) hasTurn(c subject.Cell, at stage) bool {
	return (at.block-1)%s.turns == s.turn[c]
}

// gaveUp says whether a cell was given up in an environment before a stage.
func (s *Schedule) gaveUp(c subject.Cell, at stage) bool {
	a := s.attempts[c]
	if a == nil || a.gaveUp == 0 {
		return false
	}
	// In sequential order all trials of another environment are before or after.
	return a.gaveUp < at.block || s.sequential() && c.Environment != s.environments[at.environment]
}
