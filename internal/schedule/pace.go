package schedule

import (
	"slices"
	"time"

	"tare/internal/lists"
	"tare/internal/rundir"
)

// pace estimates how long trials take, from the end of one to the end of the next,
// so that starts and stops of instances are included. It uses medians, which the
// pause before a resumed session does not affect.
type pace struct {
	cells        map[cellKey][]*span
	environments map[string][]*span
	all          []*span
	between      []time.Duration // from the end of a block to the first trial of the next
	previous     rundir.Trial
	last         *span // of the previous trial
}

// span is the time of one trial, or of several that were made together: each of
// them is charged an equal share, whatever of it lies between its own times.
type span struct {
	took   time.Duration
	trials int
}

func (s *span) share() time.Duration { return s.took / time.Duration(s.trials) }

func newPace() pace {
	return pace{cells: map[cellKey][]*span{}, environments: map[string][]*span{}}
}

func (p *pace) add(at cellKey, t rundir.Trial) {
	previous := p.previous
	p.previous = t
	took := t.Ended.Sub(t.Started)
	counts := (t.Status == rundir.OK || t.Status == rundir.Failed) && took >= 0
	gap := t.Started.Sub(previous.Ended)
	if p.last != nil && gap < 0 && previous.Block == t.Block && previous.Workload == t.Workload && previous.Level == t.Level {
		p.last.took += max(0, t.Ended.Sub(previous.Ended))
		if previous.Ended.After(t.Ended) {
			p.previous.Ended = previous.Ended
		}
		if counts {
			p.last.trials++
			p.charge(at, p.last)
		}
		return
	}
	switch {
	case previous.Ended.IsZero() || gap < 0:
	case previous.Block == t.Block:
		took += gap
	default:
		p.between = append(p.between, gap)
	}
	p.last = nil
	if counts {
		p.last = &span{took, 1}
		p.charge(at, p.last)
	}
}

func (p *pace) charge(at cellKey, s *span) {
	p.cells[at] = append(p.cells[at], s)
	p.environments[at.environment] = append(p.environments[at.environment], s)
	p.all = append(p.all, s)
}

// pause notes that the next trial does not follow directly on the last one.
func (p *pace) pause() { p.previous, p.last = rundir.Trial{}, nil }

func (p *pace) known() bool { return len(p.all) > 0 }

// one estimates a trial: from its cell, else its environment, else all trials.
func (p *pace) one(at cellKey) time.Duration {
	for _, known := range [][]*span{p.cells[at], p.environments[at.environment], p.all} {
		if len(known) > 0 {
			return middle(lists.Map(known, (*span).share))
		}
	}
	return 0
}

// block estimates these trials together.
func (p *pace) block(slots []Slot) time.Duration {
	total := middle(p.between)
	for _, s := range slots {
		total += p.one(cellKey{s.Environment, s.Workload, s.Level})
	}
	return total
}

func middle(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
