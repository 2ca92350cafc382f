package schedule

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/subject"
)

// mostRest bounds how rarely an environment takes part in a workload that is within reach.
const mostRest = 8

// firstTimes are what the trials of the first blocks took, by the journal.
type firstTimes struct {
	began time.Time
	of    map[int]*blockTimes
}

type blockTimes struct {
	ended  time.Time
	starts map[string]time.Duration // of the instances of an environment, which serve all workloads
	cells  map[subject.Cell]cellTimes
}

// cellTimes of a workload in an environment: its samples, and its preparation and its end.
type cellTimes struct {
	samples, rest time.Duration
}

// add a trial of a workload that measures starts, or of another one.
func (f *firstTimes) add(t rundir.Trial, ofStarts bool) {
	if f.began.IsZero() || t.Started.Before(f.began) {
		f.began = t.Started
	}
	b := f.of[t.Block]
	if b == nil {
		b = &blockTimes{starts: map[string]time.Duration{}, cells: map[subject.Cell]cellTimes{}}
		f.of[t.Block] = b
	}
	if t.Ended.After(b.ended) {
		b.ended = t.Ended
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	rest := seconds(t.TookSeconds) - seconds(t.HostSeconds)
	if !ofStarts {
		for _, p := range t.Phases {
			b.starts[t.Environment] += p.Duration
			rest -= p.Duration
		}
	}
	at := b.cells[t.Cell()]
	b.cells[t.Cell()] = cellTimes{at.samples + seconds(t.HostSeconds), at.rest + max(0, rest)} // a journal can have any times
}

// usual is what a cell took in one of so many blocks, and the starts of its environment: the
// least, as the first block also has what is done once (a disk that is filled, a cache that
// is cold). Where it was in one block only, its preparation may be of that kind.
func (f *firstTimes) usual(at subject.Cell, blocks int) (c cellTimes, starts time.Duration) {
	in := 0
	for n, b := range f.of {
		now, is := b.cells[at]
		if !is || n > blocks {
			continue
		}
		if in++; in == 1 {
			c, starts = now, b.starts[at.Environment]
			continue
		}
		c = cellTimes{min(c.samples, now.samples), min(c.rest, now.rest)}
		starts = min(starts, b.starts[at.Environment])
	}
	if in == 1 {
		c.rest = 0
	}
	return c, starts
}

// took is the time from the first trial to the end of so many blocks.
func (f *firstTimes) took(blocks int) (took time.Duration) {
	for n, b := range f.of {
		if n <= blocks {
			took = max(took, b.ended.Sub(f.began))
		}
	}
	return took
}

// timeOf adds a trial in the first blocks.
func (s *Schedule) timeOf(t rundir.Trial) {
	if w := s.plan.Workload(t.Workload); t.Block <= study.FirstBlocks*s.turns && w != nil {
		s.times.add(t, w.Pack.FromStart())
	}
}

// cost is what a workload takes in an environment in a block: its share of the starts, its
// preparation, and as many samples as are planned.
func (s *Schedule) cost(c cell, environment string, block int) time.Duration {
	at, starts := s.times.usual(c.In(environment), s.chosenFrom(block))
	total := at.rest + starts/time.Duration(len(s.cells))
	if chosen := s.choice(c, block); chosen.of != nil {
		return total + chosen.takes[environment]
	}
	return total + at.samples
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
	switch {
	case s.leftOut(at, block):
		return 0
	case s.withheld[at]:
		return 1 // until its range is known
	}
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
// those that cost least are given the blocks that a verdict still takes, as long as there is
// time: the others are out of reach. Within reach, the variances of all contrasts together
// are least where the number of blocks of each goes with one over the square root of what
// it costs (Cochran, Sampling techniques, 1977, 5.5); each keeps as many as a verdict takes.
func (s *Schedule) share(block int) (all []part) {
	done := block - 1
	baseline := map[subject.Place]time.Duration{}
	for _, c := range s.cells {
		baseline[c.Place] = s.cost(c, s.plan.Baseline, block)
		for _, name := range s.environments {
			if name != s.plan.Baseline && !s.withheld[c.In(name)] && !s.gaveUp(c.In(name), stage{-1, block}) {
				all = append(all, part{c, name, s.cost(c, name, block), 0})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b part) int { return cmp.Compare(a.cost, b.cost) })
	left := s.plan.Design.Budget - s.times.took(done)
	var whole time.Duration // of a block
	within := all[:0:0]
	has := map[subject.Place]bool{}
	for i := range all {
		p := &all[i]
		adds := p.cost
		if !has[p.Place] {
			adds += baseline[p.Place]
		}
		if (whole+adds)*time.Duration(stats.LeastLook-done) <= left {
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
		for p := &all[i]; p.every > 1 && int(left/max(whole, 1)) < p.every*(stats.LeastLook+1-done); p.every-- {
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
	if s.leftOut(at, block.block) {
		return true
	}
	every := s.restsBetween(at, block.block)
	if every == 1 || every > 1 && block.block%every == 0 {
		return false
	}
	for _, name := range s.environments {
		for _, c := range s.cells {
			other := c.In(name)
			if name != s.plan.Baseline && other != at && !s.withheld[other] && s.restsBetween(other, block.block) > 0 && !s.gaveUp(other, block) && s.book.Open(other, block.block) {
				return true
			}
		}
	}
	return false
}
