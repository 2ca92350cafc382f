package trial

import (
	"errors"
	"slices"
	"time"

	"tare/internal/rundir"
	"tare/internal/schedule"
	"tare/internal/study"
)

// cell is what has amounts of work of its own. The length of a sample differs between
// trials with rounds and without.
type cell struct {
	environment, workload, level string
	rounds                       bool
}

// amounts that were found, which later blocks use again: a block then costs less time,
// and all blocks do the same work.
type amounts map[cell]known

type known struct {
	amounts []int64
	length  time.Duration // of a sample, as expected
}

// mostOff is by which factor samples may differ from the expected length before their
// amounts are sought again.
const mostOff = 2

// learn keeps the amounts of a trial if its median sample took about as long as
// expected. length is 0 where the amounts are from an earlier trial.
func (a amounts) learn(c cell, t rundir.Trial, length time.Duration, err error) {
	if len(t.Amounts) == 0 {
		return
	}
	if length == 0 {
		length = a[c].length
	}
	delete(a, c)
	if ratio := medianSample(t) / length.Seconds(); err == nil && ratio < mostOff && ratio > 1./mostOff {
		a[c] = known{t.Amounts, length}
	}
}

// medianSample is how long the driver took, in seconds.
func medianSample(t rundir.Trial) float64 {
	if len(t.Rounds) == 0 {
		return t.GuestSeconds
	}
	var all []float64
	for _, round := range t.Rounds {
		all = append(all, round.GuestSeconds)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// replay learns the amounts of earlier trials. The journal does not say how long a
// sample was expected to be, but the plan says how long it shall be.
func (r *Runner) replay(trials []rundir.Trial) {
	for _, t := range trials {
		j, err := r.job(schedule.Slot{Environment: t.Environment, Workload: t.Workload, Level: t.Level, Rounds: len(t.Rounds)})
		if len(t.Amounts) == 0 || err != nil || j.workload.Pack.Length == nil {
			continue
		}
		length := j.sample
		if length == 0 {
			length = j.workload.Pack.SampleLength(j.level.Parameters)
		}
		if t.Status != rundir.OK {
			err = errors.New(t.Reason)
			j.cell.rounds = r.plan.Design.Order == study.Alternating && !t.Traced // it may have none
		}
		r.amounts.learn(j.cell, t, length, err)
	}
}
