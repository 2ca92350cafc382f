package schedule

import (
	"slices"
	"time"

	"tare/internal/rundir"
)

// pace estimates how long trials take, from the end of one to the end of the next,
// so that starts and stops of instances are included. It uses medians, which the
// pause before a resumed session does not affect.
type pace struct {
	cells        map[cellKey][]time.Duration
	environments map[string][]time.Duration
	all          []time.Duration
	between      []time.Duration // from the end of a block to the first trial of the next
	previous     rundir.Trial
}

func newPace() pace {
	return pace{cells: map[cellKey][]time.Duration{}, environments: map[string][]time.Duration{}}
}

func (p *pace) add(at cellKey, t rundir.Trial) {
	previous := p.previous
	p.previous = t
	took := t.Ended.Sub(t.Started)
	switch gap := t.Started.Sub(previous.Ended); {
	case previous.Ended.IsZero() || gap < 0:
	case previous.Block == t.Block:
		took += gap
	default:
		p.between = append(p.between, gap)
	}
	if t.Status != rundir.OK && t.Status != rundir.Failed || took < 0 {
		return
	}
	p.cells[at] = append(p.cells[at], took)
	p.environments[at.environment] = append(p.environments[at.environment], took)
	p.all = append(p.all, took)
}

// pause notes that the next trial does not follow directly on the last one.
func (p *pace) pause() { p.previous = rundir.Trial{} }

func (p *pace) known() bool { return len(p.all) > 0 }

// one estimates a trial: from its cell, else its environment, else all trials.
func (p *pace) one(at cellKey) time.Duration {
	for _, known := range [][]time.Duration{p.cells[at], p.environments[at.environment], p.all} {
		if len(known) > 0 {
			return middle(known)
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
