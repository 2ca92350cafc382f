package trial

import (
	"slices"
	"time"

	"tare/internal/run/schedule"
)

// shares divide the time of the rounds of a batch equally among its environments. One
// whose samples take long leaves after fewer rounds than the others, which then give
// more in the time. The baseline, with which all are compared, gives samples as long as
// any other does.
type shares struct {
	all  []*participant
	each time.Duration
}

// sharesOf is nil where all environments have the same rounds: without a budget, whose
// blocks are bounded by the time, and on ladders, whose remainder needs all rungs in a
// round.
func sharesOf(batch schedule.Batch, all []*participant) *shares {
	within := batch.Slots[0].Within
	if plan := all[0].run.plan; within == 0 || plan.Design.Budget == 0 || len(plan.Steps) > 0 || len(all) < 3 {
		return nil
	}
	return &shares{all, within / time.Duration(len(all))}
}

// more says whether there is another round.
func (s *shares) more(int) bool { return slices.ContainsFunc(s.all, s.takesPart) }

func (s *shares) takesPart(p *participant) bool {
	if p.trial.Environment == p.run.plan.Baseline {
		return p.takesPart() && (len(p.rounds) == 0 || slices.ContainsFunc(s.all, func(other *participant) bool {
			return other.trial.Environment != p.run.plan.Baseline && s.takesPart(other)
		}))
	}
	done := len(p.rounds)
	return p.takesPart() && (done == 0 || p.sampling+p.sampling/time.Duration(done) <= s.each)
}

// inRounds adds the time until the returned function is called to that of the samples.
func (p *participant) inRounds() (done func()) {
	began := time.Now()
	return func() { p.sampling += time.Since(began) }
}
