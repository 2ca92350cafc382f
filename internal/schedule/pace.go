package schedule

import (
	"slices"
	"time"

	"tare/internal/rundir"
)

// pace is how long trials take, from one end to the next: the start and the end
// of instances lie between trials and count with them. Medians, so that the
// pause before a run was resumed does not matter.
type pace struct {
	places       map[place][]time.Duration
	environments map[string][]time.Duration
	all          []time.Duration
	between      []time.Duration // from the end of a block to the first trial of the next
	previous     rundir.Trial
}

func newPace() pace {
	return pace{places: map[place][]time.Duration{}, environments: map[string][]time.Duration{}}
}

func (p *pace) add(at place, t rundir.Trial) {
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
	p.places[at] = append(p.places[at], took)
	p.environments[at.environment] = append(p.environments[at.environment], took)
	p.all = append(p.all, took)
}

// pause says that the next trial does not follow on the last one.
func (p *pace) pause() { p.previous = rundir.Trial{} }

func (p *pace) known() bool { return len(p.all) > 0 }

// one is how long a trial takes, by the nearest that is known.
func (p *pace) one(at place) time.Duration {
	for _, known := range [][]time.Duration{p.places[at], p.environments[at.environment], p.all} {
		if len(known) > 0 {
			return middle(known)
		}
	}
	return 0
}

// block is how long these trials take together.
func (p *pace) block(slots []Slot) time.Duration {
	total := middle(p.between)
	for _, s := range slots {
		total += p.one(place{s.Environment, s.Workload, s.Level})
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
