package schedule

import (
	"iter"
	"slices"
	"time"

	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/subject"
)

// pace estimates how long trials take, from the end of one to the end of the next,
// so that starts and stops of instances are included. It uses medians of the latest, which
// the pause before a resumed session does not affect.
type pace struct {
	cells        map[subject.Cell][]*span
	environments map[string][]*span
	all          []*span
	between      []time.Duration // from the end of a block to the first trial of the next
	ends         map[string]end  // by nodes
}

// end of the previous trial on a node, and its span; nil where it has none.
type end struct {
	trial rundir.Trial
	span  *span
}

// span is the time of one trial, or of several that were made together: each of
// them is charged an equal share, whatever of it lies between its own times.
type span struct {
	took   time.Duration
	trials int
	rounds int // that it has, and how long they took
	ofThem time.Duration
}

// share of a trial, if there are so many rounds; 0: as many as there were.
func (s *span) share(rounds int) time.Duration {
	took := s.took
	if rounds > 0 && s.rounds > 0 {
		took += s.ofThem * time.Duration(rounds-s.rounds) / time.Duration(s.rounds)
	}
	return max(0, took) / time.Duration(s.trials)
}

func newPace() pace {
	return pace{cells: map[subject.Cell][]*span{}, environments: map[string][]*span{}, ends: map[string]end{}}
}

func (p *pace) add(at subject.Cell, t rundir.Trial) {
	previous, last := p.ends[t.Node].trial, p.ends[t.Node].span
	took := t.Ended.Sub(t.Started)
	counts := (t.Status == rundir.OK || t.Status == rundir.Failed) && took >= 0
	gap := t.Started.Sub(previous.Ended)
	if last != nil && gap < 0 && previous.Block == t.Block && previous.Cell().Place() == t.Cell().Place() {
		last.took += max(0, t.Ended.Sub(previous.Ended))
		if counts {
			last.trials++
			p.charge(at, last, t)
		}
		if previous.Ended.After(t.Ended) {
			t.Ended = previous.Ended
		}
		p.ends[t.Node] = end{t, last}
		return
	}
	switch {
	case previous.Ended.IsZero() || gap < 0:
	case previous.Block == t.Block:
		took += gap
	default:
		p.between = append(p.between, gap)
	}
	last = nil
	if counts {
		last = &span{took: took, trials: 1}
		p.charge(at, last, t)
	}
	p.ends[t.Node] = end{t, last}
}

func (p *pace) charge(at subject.Cell, s *span, t rundir.Trial) {
	s.rounds = max(s.rounds, len(t.Rounds))
	s.ofThem = max(s.ofThem, time.Duration(t.RoundsSeconds*float64(time.Second)))
	p.cells[at] = append(p.cells[at], s)
	p.environments[at.Environment] = append(p.environments[at.Environment], s)
	p.all = append(p.all, s)
}

// pause notes that the next trials do not follow directly on the last ones.
func (p *pace) pause() { clear(p.ends) }

func (p *pace) known() bool { return len(p.all) > 0 }

// one estimates a trial with so many rounds, 0 for as many as before: from its cell,
// else its environment, else all trials.
func (p *pace) one(at subject.Cell, rounds int) time.Duration {
	if known := p.cells[at]; len(known) > 0 {
		return middle(lists.Map(latest(known), func(s *span) time.Duration { return s.share(rounds) }))
	}
	for _, known := range [][]*span{p.environments[at.Environment], p.all} {
		if len(known) > 0 {
			return middle(lists.Map(latest(known), func(s *span) time.Duration { return s.share(0) }))
		}
	}
	return 0
}

// block estimates these trials together.
func (p *pace) block(slots iter.Seq[Slot]) time.Duration {
	total := middle(latest(p.between))
	type key struct {
		subject.Cell
		rounds int
	}
	known := map[key]time.Duration{} // many nodes have slots of the same cell
	type batch struct {
		subject.Place
		block int
	}
	most := map[batch]int{} // the rounds of those that are made together
	for s := range slots {
		if at := (batch{s.Cell().Place(), s.Block}); s.Within == 0 {
			most[at] = max(most[at], s.Rounds)
		}
	}
	for s := range slots {
		at := key{s.Cell(), most[batch{s.Cell().Place(), s.Block}]}
		if _, have := known[at]; !have {
			known[at] = p.one(at.Cell, at.rounds)
		}
		total += known[at]
	}
	return total
}

// latest are as many of the last as suffice for a median: a run can have many.
func latest[T any](all []T) []T { return all[max(0, len(all)-200):] }

func middle(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
