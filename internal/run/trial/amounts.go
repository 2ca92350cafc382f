package trial

import (
	"errors"
	"slices"
	"time"

	"tare/internal/base/lists"
	"tare/internal/run/trial/lifecycle"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
)

// amountKey is what has amounts of work of its own. The length of a sample differs between
// trials with rounds and without.
type amountKey struct {
	subject.Cell
	rounds bool
}

// amounts that were found, which later blocks use again: a block then costs less time,
// and all blocks do the same work.
type amounts map[amountKey]lifecycle.Work

// maxLengthRatio is by which factor samples may differ from the expected length before their
// amounts are sought again.
const maxLengthRatio = 2

// learn keeps the amounts of a trial if its median sample took about as long as
// expected.
func (a amounts) learn(c amountKey, t rundir.Trial, err error) {
	if len(t.Amounts) == 0 {
		return
	}
	delete(a, c)
	if ratio := medianSample(t) / t.ExpectedSeconds; err == nil && ratio < maxLengthRatio && ratio > 1./maxLengthRatio {
		a[c] = lifecycle.Work{Amounts: t.Amounts, Length: time.Duration(t.ExpectedSeconds * float64(time.Second))}
	}
}

// medianSample is how long the driver took, in seconds.
func medianSample(t rundir.Trial) float64 {
	if len(t.Rounds) == 0 {
		return t.GuestSeconds
	}
	all := lists.Map(t.Rounds, func(r rundir.Round) float64 { return r.GuestSeconds })
	slices.Sort(all)
	return all[len(all)/2]
}

// replay learns the amounts of earlier trials.
func (r *Runner) replay(trials []rundir.Trial) {
	for _, t := range trials {
		r.capacities.learn(t)
		c, err := amountKey{t.Cell(), len(t.Rounds) > 0}, error(nil)
		if t.Status != rundir.OK {
			err = errors.New(t.Reason)
			c.rounds = r.plan.Design.Order == study.Alternating && !t.Traced // it may have none
		}
		r.amounts.learn(c, t, err)
	}
}

// ranked are the environments in the order in which their amounts are used by others:
// the baseline first, then as in the plan.
func (r *Runner) ranked() (names []string) {
	if r.plan.Baseline != "" {
		names = append(names, r.plan.Baseline)
	}
	for _, e := range r.plan.Environments {
		if e.Name != r.plan.Baseline {
			names = append(names, e.Name)
		}
	}
	return names
}

// like is what was found for samples of the same length in another environment.
func (p *participant) like() (found lifecycle.Work) {
	if !p.findsAmount() {
		return found
	}
	for _, name := range p.run.ranked() {
		key := amountKey{p.spec.key.In(name), p.spec.key.rounds}
		for _, known := range []amounts{p.run.amounts, p.run.underWay} {
			if w := known[key]; len(w.Amounts) > 0 && p.wanted(name) == p.wanted(p.slot.Environment) {
				return w
			}
		}
	}
	return found
}

// wanted is the length of the samples in an environment.
func (p *participant) wanted(name string) time.Duration {
	e, w := p.run.plan.Environment(name), p.spec.workload
	if sample := w.SampleLength(p.spec.planned, e, p.alternates()); sample > 0 {
		return sample
	}
	return w.Pack.SampleLength(e.Parameters(w.Name, p.spec.planned))
}

// findsAmount says whether the pack has a parameter that scales its work.
func (p *participant) findsAmount() bool {
	l := p.pack().Length
	return l != nil && l.Amount != ""
}

// inOrderOfSearch puts the environment whose amounts or rates the others use first, where none
// is known yet.
func (r *Runner) inOrderOfSearch(all []*participant) []*participant {
	if !all[0].findsAmount() && all[0].spec.workload.Find == nil {
		return all
	}
	for _, name := range r.ranked() {
		if i := slices.IndexFunc(all, func(p *participant) bool { return p.slot.Environment == name && p.takesPart() }); i >= 0 {
			if len(all[i].like().Amounts) > 0 {
				return all
			}
			return append([]*participant{all[i]}, slices.Delete(slices.Clone(all), i, i+1)...)
		}
	}
	return all
}
