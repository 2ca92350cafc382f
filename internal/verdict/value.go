package verdict

import (
	"slices"

	"tare/internal/rundir"
	"tare/internal/study"
)

// With returns the contrasts of a run with another baseline, as Contrasts does.
// Environments left the run by their verdicts against its own.
func With(baseline string, plan *study.Plan, trials []rundir.Trial, m rundir.Manifest) []Contrast {
	other := *plan
	other.Baseline, other.Steps = baseline, nil
	all := newBook(&other, usable(plan, m.Environments), whole(plan, trials, m)).judged(trials, m)
	warnOfCarryOver(&other, trials, all)
	return all
}

// Values are the contrasts of each metric of one environment with 1 in its unit, so
// that Ratio is the value with its interval, as of the values of successive blocks
// (stats.Value): all of them, in one analysis, since the verdicts mean nothing. A value
// depends on the machine, as a comparison within blocks does not.
func Values(environment string, plan *study.Plan, trials []rundir.Trial, m rundir.Manifest) []Contrast {
	b := emptyBook(plan)
	b.turns = plan.Turns(usable(plan, m.Environments))
	for at, w := range places(plan) {
		for i, metric := range b.metrics[w.Name] {
			cell := at.In(environment)
			e := newEntry(b.blank(cell, metric), w.Fresh)
			e.contrast.Family = 1
			b.enter(e, i, cell, cell)
			b.join(e, e)
		}
	}
	b.take(trials, m)
	for _, e := range b.entries {
		e.over, e.value = []*series{e.of[0].ones()}, true
	}
	return b.Contrasts()
}

// ones is a series that has 1 wherever this one has a value, of the same rounds.
func (s *series) ones() *series {
	one := *s
	one.logs, one.means = make([]float64, len(s.logs)), slices.Repeat([]float64{1}, len(s.means))
	one.rounds, one.lengths = slices.Clone(s.rounds), nil
	for i := range one.rounds {
		one.rounds[i].Trial = 0
		one.rounds[i].Rounds = nil
	}
	return &one
}
