package schedule

import (
	"time"

	"tare/internal/rundir"
	"tare/internal/study"
)

// mostRest bounds how rarely a slow environment takes part.
const mostRest = 8

// timeOf adds a trial to the time of its environment in the first blocks: its starts and
// samples, by the journal.
func (s *Schedule) timeOf(t rundir.Trial) {
	if t.Block > s.firstBlocks() {
		return
	}
	took := time.Duration(t.HostSeconds * float64(time.Second))
	for _, p := range t.Phases {
		took += p.Duration
	}
	s.took[t.Environment] += took
}

// restsBetween is in how many blocks an environment takes part once: in each, unless it
// takes longer than all others together, as an emulated guest. A budget then has more
// blocks for the verdicts of the others; without one, the order of the blocks makes no
// difference. Half of the blocks are left for the slow one.
func (s *Schedule) restsBetween(environment string, block int) int {
	if !s.mayRest() || environment == s.plan.Baseline || block <= study.FirstBlocks || 2*block > s.plan.Design.Blocks.Max {
		return 1
	}
	var others time.Duration
	for name, took := range s.took {
		if name != environment {
			others += took
		}
	}
	if others <= 0 {
		return 1
	}
	return min(mostRest, int((s.took[environment]+others-1)/others))
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
