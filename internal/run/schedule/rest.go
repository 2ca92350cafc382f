package schedule

import (
	"math"
	"slices"
	"time"

	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/stats"
)

// mostRest bounds how rarely a slow environment takes part.
const mostRest = 8

// timeOf adds what the starts and samples of a trial in the first blocks took, by the
// journal.
func (s *Schedule) timeOf(t rundir.Trial) {
	if t.Block > s.firstBlocks() {
		return
	}
	for _, p := range t.Phases {
		s.startsTook[t.Environment] += p.Duration
	}
	s.sampled[t.Cell()] += time.Duration(t.HostSeconds * float64(time.Second))
}

// cost is what an environment takes in a block: its starts, as in the first block, and
// as many samples as are planned. Where environments rest, the first block is one.
func (s *Schedule) cost(environment string, block int) time.Duration {
	total := s.startsTook[environment]
	for _, c := range s.cells {
		if chosen := s.choice(c, block); chosen.of != nil {
			total += chosen.takes[environment]
		} else {
			total += s.sampled[c.In(environment)]
		}
	}
	return total
}

// restsBetween is in how many blocks an environment takes part once: in each, unless it
// takes much longer than others, as an emulated guest. A budget then has more blocks for
// the verdicts of the others; without one, the order of the blocks makes no difference.
// For a time, the variances of all contrasts together are least where the number of blocks
// of each goes with one over the square root of what a block of it costs (Cochran,
// Sampling techniques, 1977, 5.5). One that could have its verdict in more blocks has them,
// and half of all blocks are left for it.
func (s *Schedule) restsBetween(environment string, block int) int {
	if !s.mayRest() || environment == s.plan.Baseline || block <= s.firstBlocks() || 2*block > s.plan.Design.Blocks.Max {
		return 1
	}
	costs := lists.Map(s.environments, func(name string) time.Duration { return s.cost(name, block) })
	slices.Sort(costs)
	own, usual := s.cost(environment, block), costs[(len(costs)-1)/2]
	others := -own
	for _, c := range costs {
		others += c
	}
	if usual <= 0 || own <= usual || others <= 0 { // a journal can have any times
		return 1
	}
	most := min(mostRest, int(math.Sqrt(float64(own)/float64(usual))))
	for every := most; every > 1; every-- {
		if blocks := s.plan.Design.Budget / (others + own/time.Duration(every)); int(blocks)/every > stats.LeastLook {
			return every
		}
	}
	if s.plan.Design.Budget/(others+own) > stats.LeastLook {
		return 1
	}
	return max(1, most) // its verdict is out of reach
}

func (s *Schedule) mayRest() bool {
	d := s.plan.Design
	return d.Budget > 0 && s.alternating() && !d.Blocks.Fixed && !d.Blocks.Open && d.Drop != "never" && !s.byStep() && s.turns == 1 && len(s.environments) > 2 && !s.several()
}

// rests says whether an environment leaves a block to others with open verdicts.
func (s *Schedule) rests(environment string, at stage) bool {
	every := s.restsBetween(environment, at.block)
	if every < 2 || at.block%every == 0 {
		return false
	}
	for _, name := range s.environments {
		for _, c := range s.cells {
			if name != s.plan.Baseline && name != environment && !s.gaveUp(c.In(name), at) && s.book.Open(c.In(name), at.block) {
				return true
			}
		}
	}
	return false
}
