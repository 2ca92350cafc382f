package schedule

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/subject"
)

// mostRest bounds how rarely an environment takes part in a workload that is within reach.
const mostRest = 8

// firstTimes are what the trials of the first blocks took, by the journal.
type firstTimes struct {
	began, ended time.Time
	starts       map[string]time.Duration       // of the instances of an environment, which serve all workloads
	samples      map[subject.Cell]time.Duration // of a workload in an environment
	rest         map[subject.Cell]time.Duration // its preparation and its end
}

func newFirstTimes() firstTimes {
	return firstTimes{starts: map[string]time.Duration{}, samples: map[subject.Cell]time.Duration{}, rest: map[subject.Cell]time.Duration{}}
}

// add a trial of a workload that measures starts, or of another one.
func (f *firstTimes) add(t rundir.Trial, ofStarts bool) {
	if f.began.IsZero() || t.Started.Before(f.began) {
		f.began = t.Started
	}
	if t.Ended.After(f.ended) {
		f.ended = t.Ended
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	rest := seconds(t.TookSeconds) - seconds(t.HostSeconds)
	if !ofStarts {
		for _, p := range t.Phases {
			f.starts[t.Environment] += p.Duration
			rest -= p.Duration
		}
	}
	f.samples[t.Cell()] += seconds(t.HostSeconds)
	f.rest[t.Cell()] += max(0, rest) // a journal can have any times
}

// timeOf adds a trial in the first blocks.
func (s *Schedule) timeOf(t rundir.Trial) {
	if w := s.plan.Workload(t.Workload); t.Block <= s.firstBlocks() && w != nil {
		s.times.add(t, w.Pack.FromStart())
	}
}

// cost is what a workload takes in an environment in a block: its share of the starts, its
// preparation, and as many samples as are planned.
func (s *Schedule) cost(c cell, environment string, block int) time.Duration {
	at := c.In(environment)
	total := s.times.rest[at] + s.times.starts[environment]/time.Duration(len(s.cells))
	if chosen := s.choice(c, block); chosen.of != nil {
		return total + chosen.takes[environment]
	}
	return total + s.times.samples[at]
}

// part is how often an environment takes part in a workload: in one of so many blocks. 0 is
// never, until the verdicts that are within reach are final.
type part struct {
	cell
	environment string
	cost        time.Duration
	every       int
}

// restsBetween says how often an environment takes part in a workload. A budget then
// suffices for more blocks of what costs less than, say, an emulated guest; without one,
// the order of the blocks makes no difference. Half of all blocks are left for it.
func (s *Schedule) restsBetween(at subject.Cell, block int) int {
	if !s.mayRest() || at.Environment == s.plan.Baseline || block <= s.firstBlocks() || 2*block > s.plan.Design.Blocks.Max {
		return 1
	}
	from := s.chosenFrom(block)
	if from == 0 {
		return 1
	}
	parts, known := s.parts[from]
	if !known {
		parts = map[subject.Cell]int{}
		for _, p := range s.share(from + 1) {
			parts[p.In(p.environment)] = p.every
		}
		s.parts[from] = parts
	}
	return parts[at]
}

// share says how the environments share the time that the first blocks have left. First,
// those that cost least are given as many blocks as a verdict takes, as long as there is
// time: the others are out of reach. Within reach, the variances of all contrasts together
// are least where the number of blocks of each goes with one over the square root of what
// it costs (Cochran, Sampling techniques, 1977, 5.5); each keeps as many as a verdict takes.
func (s *Schedule) share(block int) (all []part) {
	baseline := map[subject.Place]time.Duration{}
	for _, c := range s.cells {
		baseline[c.Place] = s.cost(c, s.plan.Baseline, block)
		for _, name := range s.environments {
			if name != s.plan.Baseline && !s.gaveUp(c.In(name), stage{-1, block}) {
				all = append(all, part{c, name, s.cost(c, name, block), 0})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b part) int { return cmp.Compare(a.cost, b.cost) })
	left := s.plan.Design.Budget - s.times.ended.Sub(s.times.began)
	var whole time.Duration // of a block
	within := all[:0:0]
	has := map[subject.Place]bool{}
	for i := range all {
		p := &all[i]
		adds := p.cost
		if !has[p.Place] {
			adds += baseline[p.Place]
		}
		if (whole+adds)*stats.LeastLook <= left {
			whole, has[p.Place], p.every = whole+adds, true, 1
			within = append(within, *p)
		}
	}
	if len(within) == 0 { // nothing is within reach: none waits for another
		for i := range all {
			all[i].every = 1
		}
		return all
	}
	usual := max(within[(len(within)-1)/2].cost, 1)
	for i := range all {
		if p := &all[i]; p.every > 0 {
			p.every = min(max(1, int(math.Sqrt(float64(p.cost)/float64(usual)))), mostRest)
			whole -= p.cost - p.cost/time.Duration(p.every)
		}
	}
	for i := len(all) - 1; i >= 0; i-- {
		for p := &all[i]; p.every > 1 && 1+int(left/max(whole, 1)) <= p.every*stats.LeastLook; p.every-- {
			whole += p.cost/time.Duration(p.every-1) - p.cost/time.Duration(p.every)
		}
	}
	return all
}

func (s *Schedule) mayRest() bool {
	d := s.plan.Design
	return d.Budget > 0 && s.alternating() && !d.Blocks.Fixed && !d.Blocks.Open && d.Drop != "never" && !s.byStep() && s.turns == 1 && len(s.environments) > 2 && !s.several()
}

// rests says whether an environment leaves a workload of a block to others with open
// verdicts: where it is out of reach, to those that are not.
func (s *Schedule) rests(at subject.Cell, block stage) bool {
	every := s.restsBetween(at, block.block)
	if every == 1 || every > 1 && block.block%every == 0 {
		return false
	}
	for _, name := range s.environments {
		for _, c := range s.cells {
			other := c.In(name)
			if name != s.plan.Baseline && other != at && s.restsBetween(other, block.block) > 0 && !s.gaveUp(other, block) && s.book.Open(other, block.block) {
				return true
			}
		}
	}
	return false
}
