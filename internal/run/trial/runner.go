// Package trial makes one trial: it takes the instances that the trial needs,
// samples the workload on them or measures their start, and returns a
// rundir.Trial with a status and a reason, whatever happens.
//
// The instances are started by trial/instances and the workload's commands run
// by trial/lifecycle. It never decides which trial is next, and it must not know
// statistics.
package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/run/schedule"
	"tare/internal/run/trial/instances"
	"tare/internal/run/trial/lifecycle"
	"tare/internal/rundir"
	"tare/internal/study"
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
	// Elsewhere says that the instances are on another machine: how fast that is and what
	// else it does is not known here.
	Elsewhere bool
	// Before are the trials of earlier sessions, whose amounts of work are used again.
	Before []rundir.Trial
	// Watch returns, for each measured instance of a trial, the callback for its
	// readings; nil where nothing receives them.
	Watch func(node, environment, workload string) func(usage.Reading)
	// AfterRound receives the trials of a batch so far after each of its rounds, but
	// those that failed. It is called between two samples, so it must be quick.
	AfterRound func(number int, underWay []rundir.Trial)
}

// Runner makes the trials of one plan, one at a time.
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

// Run makes the trials of a batch, in the order of its slots. The error is for
// what ends the run: the context's end, or a full disk. Every other failure is in
// a trial.
func (r *Runner) Run(ctx context.Context, batch schedule.Batch) ([]rundir.Trial, error) {
	if batch.Slots[0].Rounds > 0 {
		return r.alternate(ctx, batch)
	}
	var trials []rundir.Trial
	for _, slot := range batch.Slots {
		t, err := r.single(ctx, slot)
		trials = append(trials, t)
		if err != nil {
			return trials, err
		}
	}
	return trials, nil
}

// Again lets a batch be made once more, in fresh instances unless they live as long as
// the run.
func (r *Runner) Again() error {
	r.pool.NextBlock()
	return r.pool.StopOthers()
}

// single makes a trial of one sample.
func (r *Runner) single(ctx context.Context, slot schedule.Slot) (rundir.Trial, error) {
	began := time.Now()
	t := newTrial(slot, began)
	job, err := r.job(slot)
	if err != nil {
		return t, err
	}
	if job.knownLimit != "" {
		return skipped(t, job.knownLimit), nil
	}
	startBegan := time.Now()
	r.enterBlock(slot.Block)
	if err := r.pool.StopOthers(job.request); err != nil {
		return t, err
	}
	before := usage.ReadHost()
	group, err := r.pool.Get(ctx, job.request)
	// Time of starts, stops and the workload's own commands: the rest is tare's.
	elsewhere := time.Since(startBegan)
	if limit := (*instances.Unsupported)(nil); errors.As(err, &limit) {
		return skipped(t, limit.Reason), nil
	}
	record := r.record(t, false, "")
	if err == nil {
		var took time.Duration
		took, err = r.measure(ctx, &t, record, job, group)
		elsewhere += took
	}
	t.Status = rundir.OK
	if err != nil {
		t.Status, t.Reason = rundir.Failed, err.Error()
	}
	t.Charge(job.workload.Pack, r.plan.Price)
	t.Pressure = r.pressure(usage.Between(before, usage.ReadHost()))
	if ctx.Err() == nil && (slot.Fresh == "trial" || group != nil && group.Lost()) {
		stopBegan := time.Now()
		if err := r.pool.Release(job.request); err != nil {
			record.Warn("after the trial: " + err.Error())
		}
		elsewhere += time.Since(stopBegan)
	}
	t.Raw, t.Warnings = record.Outputs(), record.Warnings()
	t.Ended = time.Now().UTC()
	t.OwnSeconds = (time.Since(began) - elsewhere).Seconds()
	if err := ctx.Err(); err != nil {
		return t, err
	}
	var full *instances.DiskError
	if errors.As(err, &full) {
		return t, full
	}
	return t, nil
}

func newTrial(slot schedule.Slot, began time.Time) rundir.Trial {
	return rundir.Trial{
		Block: slot.Block, Position: slot.Position, Environment: slot.Environment,
		Workload: slot.Workload, Level: slot.Level, Node: slot.Node, Started: began.UTC(), Traced: slot.Traced,
	}
}

// job is a slot with what the plan says about it.
type job struct {
	workload   *study.Workload
	planned    study.Level
	level      study.Level   // with the environment's own parameters
	sample     time.Duration // how long a sample shall be; 0 is what the parameters say
	request    instances.Request
	cell       cell
	knownLimit string // why the workload does not run there; "" where it does
}

func (r *Runner) job(slot schedule.Slot) (job, error) {
	w := r.plan.Workload(slot.Workload)
	if w == nil {
		return job{}, fmt.Errorf("the plan has no workload %s", slot.Workload)
	}
	level, known := w.Level(slot.Level)
	if !known {
		return job{}, fmt.Errorf("the plan has no level %q of workload %s", slot.Level, slot.Workload)
	}
	e := r.plan.Environment(slot.Environment)
	if e == nil {
		return job{}, fmt.Errorf("the plan has no environment %s", slot.Environment)
	}
	planned, sample := level, w.SampleLength(level, e, slot.Rounds > 0)
	level.Parameters = e.Parameters(w.Name, level)
	j := job{workload: w, planned: planned, level: level, sample: sample, knownLimit: w.Pack.KnownLimits[e.Kind]}
	j.cell = cell{slot.Environment, slot.Workload, slot.Level, slot.Rounds > 0}
	if level.Shape.Copies == 0 {
		return job{}, fmt.Errorf("the plan does not say which instances workload %s needs at level %q: it was made by another version of tare; begin a new run", w.Name, level.Name)
	}
	j.request = instances.Request{
		Block: slot.Block, Environment: slot.Environment, Shape: level.Shape, Application: w.Application,
		Fresh: slot.Fresh, EmptyCache: w.Pack.EmptyCache, Cores: r.plan.CoresOf(e, w),
	}
	return j, nil
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

// measure makes the trial in its instances. It returns the time that the
// workload's own commands took.
func (r *Runner) measure(ctx context.Context, t *rundir.Trial, record *lifecycle.Record, j job, group *instances.Group) (time.Duration, error) {
	facts, first := group.TakeFacts()
	describe(t, group, facts)
	record.Warn(facts.Notes...)
	r.caution(t, record, j)
	pack := j.workload.Pack
	if pack.Startup {
		began := time.Now()
		if !first {
			return 0, fmt.Errorf("the instance %s was started for an earlier trial, so its start is not measured again", t.Instance)
		}
		s, err := r.startFigures(ctx, pack, j.level, group)
		took := time.Since(began)
		if err != nil {
			return took, err
		}
		addUp(t, s.up)
		r.fingerprintStart(ctx, t, record, j, group)
		if pack.Ends() && j.request.Fresh != "run" {
			began := time.Now()
			if err := r.pool.Release(j.request); err != nil {
				record.Warn("after the trial: " + err.Error())
			}
			took += time.Since(began)
		}
		s.end(pack, group.Stops)
		t.HostSeconds, t.Metrics, t.Missing, t.Copies, t.Usage = s.host, s.Metrics, s.Missing, s.copies, &s.used
		return took, nil
	}
	w, err := lifecycle.New(r.lifecycle(record, j, group, group.Copies))
	if err != nil {
		return 0, err
	}
	err = r.sampleOnce(ctx, t, record, j, group, w)
	return w.Spent(), err
}

// caution warns of what the pack knows about the kind of environment.
func (r *Runner) caution(t *rundir.Trial, record *lifecycle.Record, j job) {
	if caution := j.workload.Pack.Cautions[r.plan.Environment(t.Environment).Kind]; caution != "" {
		record.Warn(caution)
	}
}

// sampleOnce prepares the workload, samples it once and finishes it.
func (r *Runner) sampleOnce(ctx context.Context, t *rundir.Trial, record *lifecycle.Record, j job, group *instances.Group, w *lifecycle.Workload) (err error) {
	defer func() {
		err = withGone(errors.Join(err, w.Finish(ctx)), group)
		r.amounts.learn(j.cell, *t, err)
	}()
	if err := w.Prepare(ctx); err != nil {
		return err
	}
	if err := w.Calibrate(ctx, r.like(j)); err != nil {
		return err
	}
	if err := r.setLoad(w, t, j.level.Load); err != nil {
		return err
	}
	describeWork(t, w)
	r.takeFingerprint(ctx, pairOf(t), record, j, w)
	meters := startMeters(ctx, group.Copies, r.plan.Sampling.Every(), r.callback(t))
	evidence := startEvidence(ctx, t.Traced, r.plan.Sampling.Syscalls, group.Measured())
	s, err := w.Sample(ctx)
	metered := meters.stop(ctx)
	t.Usage = &metered.usage
	if r.KeepReadings != nil {
		var keepErr error
		if t.Readings, keepErr = r.KeepReadings(*t, metered.series); keepErr != nil {
			record.Warn(keepErr.Error())
		}
	}
	t.Evidence = evidence.stop(ctx)
	if err != nil {
		return err
	}
	warnings, err := addFigures(t, j.workload.Pack.Metrics, s, group.Starts, metered.usage)
	record.Warn(warnings...)
	return err
}

// callback for the readings of one more instance; nil where nothing receives them.
func (r *Runner) callback(t *rundir.Trial) func() func(usage.Reading) {
	return func() func(usage.Reading) {
		if r.Watch == nil {
			return nil
		}
		return r.Watch(t.Node, t.Environment, t.Workload)
	}
}

// lifecycle of a job's workload in some copies of its instances.
func (r *Runner) lifecycle(record *lifecycle.Record, j job, group *instances.Group, copies []instances.Roles) lifecycle.Config {
	c := lifecycle.Config{
		Name: j.workload.Name, Load: lifecycle.Load{Pack: j.workload.ProbePack().Of(r.Instances.ImageOf), Parameters: j.level.Parameters, Sample: j.sample, Known: r.amounts[j.cell]},
		Copies: copies, Network: group.Network, Pin: r.plan.Pin, Divide: r.plan.Divides(*j.workload), Record: record,
	}
	if len(group.Neighbours) > 0 {
		c.Neighbour = lifecycle.Load{Pack: j.workload.Neighbour.Of(r.Instances.ImageOf), Parameters: j.level.Neighbour}
		c.Neighbours = group.Neighbours
	}
	return c
}

// describe writes down which instances the trial runs in, and how they started.
func describe(t *rundir.Trial, group *instances.Group, facts instances.StartFacts) {
	all := group.Instances()
	t.Instance = all[0].Name
	if len(all) > 1 {
		for _, i := range all {
			t.Instances = append(t.Instances, i.Name)
		}
	}
	t.Phases, t.Paths = facts.Phases, facts.Paths
}

// describeWork writes down which amount of work was found for a sample.
func describeWork(t *rundir.Trial, w *lifecycle.Workload) {
	found := w.Work()
	t.Amounts, t.ExpectedSeconds = found.Amounts, found.Length.Seconds()
}

func pairOf(t *rundir.Trial) Pair { return Pair{t.Environment, t.Workload, t.Node} }

func skipped(t rundir.Trial, reason string) rundir.Trial {
	t.Status, t.Reason, t.Ended = rundir.Skipped, "known limit: "+reason, time.Now().UTC()
	return t
}

// pressure during a trial, and the canary before its block; nil where neither is known.
func (r *Runner) pressure(p usage.Pressure) *rundir.Pressure {
	if r.Elsewhere {
		return nil
	}
	seconds := r.canary.Seconds()
	return &rundir.Pressure{CPU: p.CPU, IO: p.IO, Memory: p.Memory, StealSeconds: p.Steal, CanarySeconds: &seconds}
}
