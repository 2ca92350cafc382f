package schedule

import (
	"time"

	"tare/internal/rundir"
	"tare/internal/subject"
)

// startsTime is how long the starts of one environment in a block may take, where
// several are measured, and the budget allows it.
const startsTime = 10 * time.Second

// firstStart is how long a start of an environment took in the first block in which
// it was measured.
type firstStart struct {
	block int
	took  time.Duration
}

// addStart notes how long the starts of a trial took, the first time.
func (s *Schedule) addStart(at subject.Cell, t rundir.Trial) {
	if s.starts[at].block > 0 || t.Status != rundir.OK || len(t.Rounds) == 0 {
		return
	}
	each := t.HostSeconds / float64(len(t.Rounds))
	s.starts[at] = firstStart{t.Block, time.Duration(each * float64(time.Second))}
}

// startRounds is how many starts of an environment a block has: as many as fit into
// startsTime, at least one, and no more than the baseline has. Otherwise the block
// would be as long as four starts of the slowest environment, such as an emulated
// guest. With a budget, all environments share the time, so that servers whose start
// takes seconds still have enough blocks for verdicts. How long they take is known after
// the first block, which has one round. It is not asked again, so that later starts have
// no influence on how many are measured.
func (s *Schedule) startRounds(c cell, environment string, block int) int {
	rounds, within := c.rounds, startsTime
	if s.plan.Design.Budget > 0 {
		within = min(within, s.within()/time.Duration(len(s.environments)))
	}
	for _, name := range []string{environment, s.plan.Baseline} {
		if s.byStep() && name != environment {
			continue
		}
		first := s.starts[c.In(name)]
		if first.block == 0 || first.block >= block {
			return min(rounds, 1)
		}
		rounds = min(rounds, max(1, int(within/max(first.took, 1))))
	}
	return rounds
}
