package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"tare/internal/agent"
	"tare/internal/base/crash"
	"tare/internal/base/quoted"
	"tare/internal/image"
	"tare/internal/run/schedule"
	"tare/internal/run/trial/instances"
	"tare/internal/run/trial/lifecycle"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/usage"
	"tare/internal/workload"
	"tare/internal/workload/capacity"
)

// participant is one slot of a batch, with its trial.
type participant struct {
	run      *Runner
	slot     schedule.Slot
	spec     spec
	trial    rundir.Trial
	record   *lifecycle.Record
	group    *instances.Group    // nil before its start, and between starts that are measured
	session  *lifecycle.Workload // nil where the samples are starts
	meters   *meters
	evidence *evidenceCounter
	rounds   []figures               // of each of the trial's samples
	search   *capacity.Block         // for the capacity; nil where the rate is given
	usages   []usage.Usage           // of each, where the samples are starts
	starts   *usage.Sampling         // of the starts: what the hypervisor took
	readings []rundir.InstanceSeries // where the samples are starts
	skipped  bool
	late     bool // the budget was spent before the first sample: there is no trial
	// halfFailed: a sample of half the length failed, and there are no more.
	halfFailed bool
	// sharing are the environments of the batch that share the loopback of a machine
	// with this one, whose servers then listen at the address loopback; "" is 127.0.0.1.
	sharing  []string
	loopback string
	err      error // why the trial failed; it then has no more samples
	// spent is the time that the participant took so far, and externalTime what of
	// it is not tare's overhead: starts, stops and the workload's own commands.
	spent, externalTime time.Duration
	sampling            time.Duration // of spent, that of samples
}

// spec is what the plan says about a slot.
type spec struct {
	workload *study.Workload
	planned  study.Level
	level    study.Level   // with the environment's own parameters
	sample   time.Duration // how long a sample shall be; 0 is what the parameters say
	request  instances.Request
	key      amountKey
}

// participant of a slot. One that a known limit excludes is skipped.
func (r *Runner) participant(slot schedule.Slot) (*participant, error) {
	w := r.plan.Workload(slot.Workload)
	if w == nil {
		return nil, fmt.Errorf("the plan has no workload %s", slot.Workload)
	}
	level, known := w.Level(slot.Level)
	if !known {
		return nil, fmt.Errorf("the plan has no level %q of workload %s", slot.Level, slot.Workload)
	}
	e := r.plan.Environment(slot.Environment)
	if e == nil {
		return nil, fmt.Errorf("the plan has no environment %s", slot.Environment)
	}
	if level.Shape.Copies == 0 {
		return nil, fmt.Errorf("the plan does not say which instances workload %s needs at level %q: it was made by another version of tare; begin a new run", w.Name, level.Name)
	}
	p := &participant{run: r, slot: slot, trial: rundir.Trial{
		Block: slot.Block, Position: slot.Position, Environment: slot.Environment,
		Workload: slot.Workload, Level: slot.Level, Node: slot.Node, Started: time.Now().UTC(), Traced: slot.Traced,
	}}
	p.spec = spec{workload: w, planned: level, level: level, sample: w.SampleLength(level, e, p.alternates())}
	p.spec.level.Parameters = e.Parameters(w.Name, level)
	p.spec.key = amountKey{subject.Cell{Environment: e.Name, Workload: w.Name, Level: level.Name}, p.alternates()}
	p.spec.request = instances.Request{
		Block: slot.Block, Environment: e.Name, Shape: level.Shape, Application: w.Application,
		Fresh: slot.Fresh, EmptyCache: w.Pack.EmptyCache, Cores: r.plan.CoresOf(e, w),
	}
	p.record = r.record(p.trial, p.alternates(), "")
	if limit := w.Pack.KnownLimits[e.Kind]; limit != "" {
		p.skip("known limit: " + limit)
	} else if r.Unable != nil {
		if why := r.Unable(slot); why != "" {
			p.skip(why)
		}
	}
	return p, nil
}

// pack of the workload, without parameters.
func (p *participant) pack() *workload.Pack { return &p.spec.workload.Pack }

// alternates says whether the samples alternate with those of other environments; else
// the trial is one of its own, with one sample.
func (p *participant) alternates() bool { return p.slot.Rounds > 0 }

// fromStart says whether each sample begins with the start of its instances.
func (p *participant) fromStart() bool { return p.pack().Startup || p.pack().Cold && p.alternates() }

func (p *participant) skip(reason string) {
	p.skipped = true
	p.trial.Status, p.trial.Reason, p.trial.Ended = rundir.Skipped, reason, time.Now().UTC()
}

// takesPart says whether the participant still gives samples.
func (p *participant) takesPart() bool { return !p.skipped && !p.late && p.err == nil }

// timed adds the time until the returned function is called to what the
// participant took.
func (p *participant) timed() (done func()) {
	began := time.Now()
	return func() { p.spent += time.Since(began) }
}

// external times what is not tare's overhead.
func (p *participant) external(do func()) {
	began := time.Now()
	do()
	p.externalTime += time.Since(began)
}

// start starts the instances, unless that is what the samples do.
func (p *participant) start(ctx context.Context) {
	defer p.timed()()
	if p.trial.Started = time.Now().UTC(); !p.fromStart() {
		p.get(ctx, p.spec.request)
	} else if p.alternates() {
		p.starts = usage.StartAll(usage.Options{AtEdges: true, Cores: p.spec.request.Cores})
	}
}

// get takes the instances. What the environment cannot provide skips the trial.
func (p *participant) get(ctx context.Context, r instances.Request) {
	p.external(func() { p.group, p.err = p.run.pool.Get(ctx, r) })
	if limit := (*instances.Unsupported)(nil); errors.As(p.err, &limit) {
		p.skip("known limit: " + limit.Reason)
	}
}

// sideBySide prepares the participants, of which as many as the machine has cores work at
// the same time: nothing is measured yet. Neighbours would disturb the others, and of
// servers that collide the first one starts.
func sideBySide(ctx context.Context, all []*participant, limit *limit) {
	most := runtime.NumCPU()
	if all[0].spec.request.Shape.Neighbours != nil || slices.ContainsFunc(all, (*participant).collides) {
		most = 1
	}
	crash.Each(len(all), most, func(n int) {
		if p := all[n]; p.inTime(limit) && ctx.Err() == nil {
			limit.during(ctx, p, (*participant).prepare)
		}
	})
}

// prepare brings the workload to where the amount of work can be found.
func (p *participant) prepare(ctx context.Context) {
	if p.fromStart() {
		return
	}
	defer p.timed()()
	p.describe()
	c := p.lifecycle(p.record)
	c.Loopback, c.Alternating = p.loopback, p.alternates()
	if p.session, p.err = lifecycle.New(c); p.err != nil {
		return
	}
	if p.err = p.session.Prepare(ctx); p.err != nil {
		return
	}
	p.takeFingerprint(ctx, p.session)
	if len(p.group.Neighbours) > 0 {
		p.wait(ctx) // else nothing works
	}
}

// describe adds instances to the trial, and what their start showed: first says whether
// no trial has used them before.
func (p *participant) describe() (first bool) {
	facts, first := p.group.TakeFacts()
	t, names := &p.trial, []string(nil)
	for _, i := range p.group.Instances() {
		names = append(names, i.Name)
	}
	switch {
	case t.Instance == "":
		t.Instance, t.Phases, t.Paths = names[0], facts.Phases, facts.Paths
		if len(names) > 1 {
			t.Instances = names
		}
	case len(t.Instances) == 0:
		t.Instances = append([]string{t.Instance}, names...)
	default:
		t.Instances = append(t.Instances, names...)
	}
	p.record.WarnOnce(facts.Notes...)
	if caution := p.pack().Cautions[p.run.plan.Environment(t.Environment).Kind]; caution != "" {
		p.record.WarnOnce(caution)
	}
	return first
}

// lifecycle of the workload in the instances.
func (p *participant) lifecycle(record *lifecycle.Record) lifecycle.Config {
	r, w := p.run, p.spec.workload
	of := func(name string) *image.Image { return r.Instances.ImageOf(cmp.Or(name, w.Image)) }
	c := lifecycle.Config{
		Name: w.Name, Copies: p.group.Copies, Network: p.group.Network, Pin: r.plan.Pin, Divide: r.plan.Divides(*w), Record: record,
		Load: lifecycle.Load{
			Pack: w.ProbePack().Of(of), Parameters: p.spec.level.Parameters, Sample: p.spec.sample, Known: r.amounts[p.spec.key],
		},
	}
	if len(p.group.Neighbours) > 0 {
		c.Neighbour = lifecycle.Load{Pack: w.Neighbour.Of(r.Instances.ImageOf), Parameters: p.spec.level.Neighbour}
		c.Neighbours = p.group.Neighbours
	}
	return c
}

// calibrate brings the workload to where it can be sampled.
func (p *participant) calibrate(ctx context.Context) {
	if p.fromStart() {
		return
	}
	defer p.timed()()
	if p.err = p.group.Thaw(ctx); p.err != nil {
		return
	}
	if p.err = p.findAmount(ctx, p.session); p.err != nil {
		return
	}
	if p.spec.workload.Find != nil && p.alternates() {
		if p.err = p.startSearch(ctx); p.err != nil {
			return
		}
	}
	if p.err = p.setLoad(); p.err != nil {
		return
	}
	p.meters = newMeters(ctx, p)
	p.evidence = startEvidence(ctx, p.trial.Traced, p.run.plan.Environment(p.trial.Environment).Counted, p.run.plan.Sampling.Syscalls, p.group.Measured())
	p.wait(ctx)
}

// findAmount finds the amount of work of a sample, and writes it down.
func (p *participant) findAmount(ctx context.Context, session *lifecycle.Workload) error {
	if err := session.Calibrate(ctx, p.like()); err != nil {
		return err
	}
	found := session.Work()
	p.trial.Amounts, p.trial.ExpectedSeconds = found.Amounts, found.Length.Seconds()
	p.run.underWay[p.spec.key] = found
	return nil
}

// finish takes the workload down and completes the trial.
func (p *participant) finish(ctx context.Context, during usage.Pressure) {
	if p.skipped {
		return
	}
	defer func() {
		p.trial.TookSeconds, p.trial.OwnSeconds = p.spent.Seconds(), (p.spent - p.externalTime).Seconds()
	}()
	defer p.timed()()
	switch {
	case p.fromStart():
		p.endStarts(ctx)
	case p.session != nil:
		p.takeDown(ctx)
	}
	t, r := &p.trial, p.run
	p.summarize()
	if p.err == nil {
		p.err = p.checkSent()
	}
	if p.search != nil && p.err == nil {
		p.err = p.endSearch()
	}
	r.amounts.learn(p.spec.key, *t, p.err)
	p.explainSharing()
	if t.Status = rundir.OK; p.err != nil {
		t.Status, t.Metrics, t.Missing, t.Copies = rundir.Failed, nil, nil, nil
		t.Reason, t.Output = quoted.Cut(p.err.Error())
	}
	r.capacities.learn(*t)
	t.Charge(*p.pack(), r.plan.Price)
	t.Pressure = r.pressure(during)
	if p.group != nil && ctx.Err() == nil && (p.slot.Fresh == "trial" || p.group.Lost()) {
		p.release(p.spec.request, "after the trial")
	}
	t.Raw, t.Warnings = p.record.Outputs(), p.record.Warnings()
	t.ClockRate, t.ClockUncertain = p.record.Clock()
	t.Ended = t.Started.Add(time.Since(t.Started)) // the machine's clock may have been set meanwhile
}

// release stops the instances. A failure is a warning, which says when that was.
func (p *participant) release(r instances.Request, when string) {
	p.external(func() {
		if err := p.run.pool.Release(r); err != nil {
			p.record.Warn(when + ": " + err.Error())
		}
	})
}

// thawTimeout is how long a thaw may take after the context has ended.
const thawTimeout = 10 * time.Second

// thaw lets the instances go on, also after the context's end.
func (p *participant) thaw(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), thawTimeout)
	defer cancel()
	p.err = errors.Join(p.err, p.group.Thaw(ctx))
}

// takeDown ends the measurement and the workload, also after the context's end.
func (p *participant) takeDown(ctx context.Context) {
	p.thaw(ctx)
	if p.meters != nil {
		p.trial.Evidence = p.evidence.stop(ctx)
		metered := p.meters.stop(ctx)
		p.trial.Usage = &metered.usage
		p.keepReadings(ctx, metered.series)
	}
	p.err = errors.Join(p.err, p.session.Finish(ctx))
	if p.err != nil && !errors.Is(p.err, agent.ErrGone) {
		p.err = errors.Join(p.err, p.group.Gone()) // where the failure says nothing of it
	}
	p.externalTime += p.session.Spent()
}

func (p *participant) keepReadings(ctx context.Context, all []rundir.InstanceSeries) {
	if p.run.KeepReadings == nil || ctx.Err() != nil {
		return
	}
	var err error
	if p.trial.Readings, err = p.run.KeepReadings(p.trial, all); err != nil {
		p.record.Warn(err.Error())
	}
}

// fail ends the participation.
func (p *participant) fail(round int, err error) {
	if p.err = err; p.alternates() {
		p.err = fmt.Errorf("round %d: %w", round, err)
	}
}
