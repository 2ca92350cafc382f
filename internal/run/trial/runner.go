// Package trial makes the trials of a batch: it takes the instances that they need,
// samples their workloads on them in turn or measures their starts, and returns a
// rundir.Trial of each with a status and a reason, whatever happens.
//
// The instances are started by trial/instances and the workload's commands run
// by trial/lifecycle. It never decides which trial is next, and it must not know
// statistics.
package trial

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/base/lists"
	"tare/internal/run/schedule"
	"tare/internal/run/trial/instances"
	"tare/internal/run/trial/lifecycle"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/usage"
)

// Config is what trials are made from.
type Config struct {
	// Instances has the plan, and what its instances are started from.
	Instances instances.Config
	// Keep stores what a tool printed; nil discards it.
	Keep func(t rundir.Trial, name string) *rundir.RawFile
	// KeepReadings stores the readings of the instances of a trial; nil stores
	// nothing.
	KeepReadings func(t rundir.Trial, all []rundir.InstanceSeries) (*rundir.ReadingsFile, error)
	// Fingerprints takes one of each environment and workload on each node; nil takes none.
	Fingerprints *Fingerprints
	// Unable says why the instances of a trial cannot be started, before anything is tried;
	// "" where they can. nil: all can.
	Unable func(schedule.Slot) string
	// Elsewhere says that the instances are on another machine: how fast that is and what
	// else it does is not known here.
	Elsewhere bool
	// Before are the trials of earlier sessions, whose amounts of work are used again.
	Before []rundir.Trial
	// Watch returns, for each measured instance of a trial, the callback for its
	// readings; nil where nothing receives them.
	Watch func(node string, at subject.Cell) func(usage.Reading)
	// AfterRound receives the trials of a batch so far after each of its rounds, but
	// those that failed. It is called between two samples, so it must be quick.
	AfterRound func(number int, underWay []rundir.Trial)
}

// Runner makes the trials of one plan, one batch at a time.
type Runner struct {
	Config
	plan       *study.Plan
	pool       *instances.Pool
	amounts    amounts
	underWay   amounts // found in the batch under way
	capacities capacities
	starting   capacities // rates from which the searches of the batch under way start
	block      int
	canary     time.Duration
	sync       func() // writes what is dirty in the page cache to the disks
}

// NewRunner makes a runner without instances.
func NewRunner(c Config) *Runner {
	r := &Runner{
		Config: c, plan: c.Instances.Plan, pool: instances.NewPool(c.Instances),
		amounts: amounts{}, capacities: capacities{}, sync: unix.Sync,
	}
	r.replay(c.Before)
	return r
}

// Close stops every instance that is left.
func (r *Runner) Close() error { return r.pool.Close() }

// Again lets a batch be made once more, in fresh instances unless they live as long as
// the run.
func (r *Runner) Again() error {
	r.pool.NextBlock()
	return r.pool.StopOthers()
}

// Run makes the trials of a batch, in the order of its slots: all their instances live at
// the same time, and each waits while the others give samples. A trial of its own is a
// batch of one with one sample. The error is for what ends the run: the context's end,
// or a full disk; then there are no trials. Every other failure is in a trial. Of an
// environment whose first sample would begin after the end of the budget there is none.
func (r *Runner) Run(ctx context.Context, batch schedule.Batch) ([]rundir.Trial, error) {
	var all []*participant
	for _, slot := range batch.Slots {
		p, err := r.participant(slot)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	trials := func() []rundir.Trial {
		made := lists.Filter(all, func(p *participant) bool { return !p.late })
		return lists.Map(made, func(p *participant) rundir.Trial { return p.trial })
	}
	if !slices.ContainsFunc(all, (*participant).takesPart) {
		return trials(), nil
	}
	r.enterBlock(batch.Slots[0].Block)
	if err := r.stopOthers(all); err != nil {
		return nil, err
	}
	before := usage.ReadHost()
	var full *instances.DiskError
	limit := limitOf(batch)
	each := func(all []*participant, do func(*participant, context.Context)) {
		for _, p := range all {
			if p.inTime(limit) && ctx.Err() == nil && full == nil {
				limit.during(ctx, p, do)
				errors.As(p.err, &full)
			}
		}
	}
	each(all, (*participant).start)
	r.spreadOverLoopback(all)
	r.underWay, r.starting = amounts{}, capacities{}
	if full == nil { // else some are not started
		sideBySide(ctx, all, limit)
	}
	each(r.inOrderOfSearch(all), (*participant).calibrate)
	if full == nil && ctx.Err() == nil { // else some are not prepared
		if all[0].alternates() {
			r.sync() // starts and preparations are not written back during the samples
		}
		sampleRounds(ctx, batch, all, limit, r.AfterRound)
	}
	during := usage.Between(before, usage.ReadHost())
	for _, p := range all {
		errors.As(p.err, &full)
		p.finish(ctx, during)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case full != nil:
		return nil, full
	}
	return trials(), nil
}

// stopOthers stops the instances that must not run at the same time as those of a batch.
func (r *Runner) stopOthers(all []*participant) error {
	requests := lists.Map(all, func(p *participant) instances.Request { return p.spec.request })
	switch {
	case !all[0].alternates():
		return r.pool.StopOthers(requests...)
	case all[0].fromStart():
		return r.pool.StopOthers() // starts are measured alone
	}
	return r.pool.StopOtherShapes(requests...)
}

// enterBlock times the calibration loop before the first trial of a block.
func (r *Runner) enterBlock(block int) {
	if block != r.block {
		r.block = block
		r.pool.NextBlock()
		if !r.Elsewhere {
			r.canary = usage.Canary()
		}
	}
}

// record keeps the outputs of a trial on the disk as they come, so that a kill in a
// long trial leaves what there was; if quiet, no file is written before its rounds
// are over. Their names begin with the prefix.
func (r *Runner) record(t rundir.Trial, quiet bool, prefix string) *lifecycle.Record {
	if r.Keep == nil {
		return lifecycle.NewRecord(nil)
	}
	return lifecycle.NewRecord(func(name string) *rundir.RawFile {
		f := r.Keep(t, prefix+name)
		if quiet {
			f.Hold()
		}
		return f
	})
}

// pressure during a trial, and the canary before its block; nil where neither is known.
func (r *Runner) pressure(p usage.Pressure) *rundir.Pressure {
	if r.Elsewhere {
		return nil
	}
	seconds := r.canary.Seconds()
	return &rundir.Pressure{CPU: p.CPU, IO: p.IO, Memory: p.Memory, StealSeconds: p.Steal, CanarySeconds: &seconds}
}
