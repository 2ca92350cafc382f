package trial

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/base/crash"
	"tare/internal/base/lists"
	"tare/internal/run/schedule"
	"tare/internal/run/trial/instances"
	"tare/internal/run/trial/lifecycle"
	"tare/internal/rundir"
	"tare/internal/usage"
	"tare/internal/workload/capacity"
)

// participant is one slot of a batch whose samples alternate, with its trial.
type participant struct {
	*Runner
	job
	slot     schedule.Slot
	trial    rundir.Trial
	group    *instances.Group
	record   *lifecycle.Record
	workload *lifecycle.Workload
	meters   *meters
	evidence *evidenceCounter
	rounds   []figures               // of each of the trial's rounds
	search   *capacity.Block         // for the capacity; nil where the rate is given
	usages   []usage.Usage           // of each, where the rounds are starts
	starts   *usage.Edges            // of the starts: what the hypervisor took
	readings []rundir.InstanceSeries // where the rounds are starts
	skipped  bool
	// halfFailed: a sample of half the length failed, and there are no more.
	halfFailed bool
	// sharing are the environments of the batch that share the loopback of a machine
	// with this one, whose servers then listen at the address loopback; "" is 127.0.0.1.
	sharing  []string
	loopback string
	err      error // why the trial failed; it then has no more samples
	// spent is the time that the participant took so far, and elsewhere what of
	// it is no overhead of tare: starts, stops and the workload's own commands.
	spent, elsewhere time.Duration
	sampling         time.Duration // of spent, that of samples
}

// alternate makes the trials of a batch whose environments give samples in turn:
// all instances live at the same time, and each waits while the others work.
// Where the error is not nil there are no trials.
func (r *Runner) alternate(ctx context.Context, batch schedule.Batch) ([]rundir.Trial, error) {
	all, err := r.participants(batch)
	if err != nil {
		return nil, err
	}
	r.enterBlock(batch.Slots[0].Block)
	requests := lists.Map(all, func(p *participant) instances.Request { return p.request })
	stopOthers := r.pool.StopOtherShapes
	if all[0].fromStart() {
		requests, stopOthers = nil, r.pool.StopOthers // starts are measured alone
	}
	if err := stopOthers(requests...); err != nil {
		return nil, err
	}
	before := usage.ReadHost()
	var full *instances.DiskError
	each := func(all []*participant, do func(*participant, context.Context)) {
		for _, p := range all {
			if p.takesPart() && ctx.Err() == nil && full == nil {
				do(p, ctx)
				errors.As(p.err, &full)
			}
		}
	}
	each(all, (*participant).start)
	r.spreadOverLoopback(all)
	r.underWay, r.starting = amounts{}, capacities{}
	if full == nil { // else some are not started
		sideBySide(ctx, all)
	}
	each(r.inOrderOfSearch(all), (*participant).calibrate)
	if full == nil && ctx.Err() == nil { // else some are not prepared
		r.sync() // starts and preparations are not written back during the samples
		sampleRounds(ctx, batch, all, r.AfterRound)
	}
	during := usage.Between(before, usage.ReadHost())
	for _, p := range all {
		errors.As(p.err, &full)
		p.trial.Pressure = r.pressure(during)
		p.finish(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case full != nil:
		return nil, full
	}
	return lists.Map(all, func(p *participant) rundir.Trial { return p.trial }), nil
}

// participants of a batch. Those that a known limit excludes are skipped.
func (r *Runner) participants(batch schedule.Batch) (all []*participant, err error) {
	for _, slot := range batch.Slots {
		p := &participant{Runner: r, slot: slot, trial: newTrial(slot, time.Now())}
		p.record = r.record(p.trial, true, "")
		if p.job, err = r.job(slot); err != nil {
			return nil, err
		}
		if p.knownLimit != "" {
			p.skip(p.knownLimit)
		}
		all = append(all, p)
	}
	return all, nil
}

func (p *participant) skip(reason string) {
	p.trial, p.skipped = skipped(p.trial, reason), true
}

// takesPart says whether the participant still gives samples.
func (p *participant) takesPart() bool { return !p.skipped && p.err == nil }

// timed adds the time until the returned function is called to what the
// participant took.
func (p *participant) timed() (done func()) {
	began := time.Now()
	return func() { p.spent += time.Since(began) }
}

// fromStart says whether each sample begins with the start of its instances.
func (p *participant) fromStart() bool { return p.job.workload.Pack.FromStart() }

// start starts the instances, unless that is what the samples do.
func (p *participant) start(ctx context.Context) {
	defer p.timed()()
	p.trial.Started = time.Now().UTC()
	if p.fromStart() {
		p.starts, _ = usage.NewEdges(p.request.Cores)
		return
	}
	p.elapse(func() { p.group, p.err = p.pool.Get(ctx, p.request) })
	if limit := (*instances.Unsupported)(nil); errors.As(p.err, &limit) {
		p.skip(limit.Reason)
	}
}

// sideBySide prepares the participants, of which as many as the machine has cores work at
// the same time: nothing is measured yet. Neighbours would disturb the others, and of
// servers that collide the first one starts.
func sideBySide(ctx context.Context, all []*participant) {
	most := runtime.NumCPU()
	if all[0].request.Shape.Neighbours != nil || slices.ContainsFunc(all, (*participant).collides) {
		most = 1
	}
	slots := make(chan struct{}, most)
	var under sync.WaitGroup
	for _, p := range all {
		slots <- struct{}{}
		under.Go(func() {
			defer crash.Exit()
			defer func() { <-slots }()
			defer crash.Exit()
			if p.takesPart() && ctx.Err() == nil {
				p.prepare(ctx)
			}
		})
	}
	under.Wait()
}

// prepare brings the workload to where the amount of work can be found.
func (p *participant) prepare(ctx context.Context) {
	if p.fromStart() {
		return
	}
	defer p.timed()()
	facts, _ := p.group.TakeFacts()
	describe(&p.trial, p.group, facts)
	p.record.Warn(facts.Notes...)
	p.caution(&p.trial, p.record, p.job)
	c := p.lifecycle(p.record, p.job, p.group, p.group.Copies)
	c.Loopback, c.Alternating = p.loopback, true
	if p.workload, p.err = lifecycle.New(c); p.err != nil {
		return
	}
	if p.err = p.workload.Prepare(ctx); p.err != nil {
		return
	}
	p.takeFingerprint(ctx, pairOf(&p.trial), p.record, p.job, p.workload)
	if len(p.group.Neighbours) > 0 {
		p.wait(ctx) // else nothing works
	}
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
	if p.err = p.workload.Calibrate(ctx, p.like(p.job)); p.err != nil {
		return
	}
	if p.job.workload.Find != nil {
		if p.err = p.startSearch(ctx); p.err != nil {
			return
		}
	}
	if p.err = p.setLoad(p.workload, &p.trial, p.job.level.Load); p.err != nil {
		return
	}
	describeWork(&p.trial, p.workload)
	p.underWay[p.job.cell] = p.workload.Work()
	p.meters = openEdges(ctx, p.group.Copies, p.request.Cores, p.callback(&p.trial))
	p.evidence = startEvidence(ctx, p.trial.Traced, p.plan.Sampling.Syscalls, p.group.Measured())
	p.wait(ctx)
}

// finish takes the workload down and completes the trial.
func (p *participant) finish(ctx context.Context) {
	if p.skipped {
		return
	}
	defer func() { p.trial.OwnSeconds = (p.spent - p.elsewhere).Seconds() }()
	defer p.timed()()
	switch {
	case p.fromStart():
		p.endStarts(ctx)
	case p.workload != nil:
		p.takeDown(ctx)
	}
	t := &p.trial
	p.summarize()
	if p.err == nil {
		p.err = p.checkSent()
	}
	if p.search != nil && p.err == nil {
		p.err = p.endSearch()
	}
	p.amounts.learn(p.job.cell, *t, p.err)
	p.explainSharing()
	if t.Status = rundir.OK; p.err != nil {
		t.Status, t.Reason, t.Metrics, t.Missing, t.Copies = rundir.Failed, p.err.Error(), nil, nil, nil
	}
	p.capacities.learn(*t)
	t.Charge(p.job.workload.Pack, p.plan.Price)
	if p.group != nil && ctx.Err() == nil && (p.slot.Fresh == "trial" || p.group.Lost()) {
		p.elapse(func() {
			if err := p.pool.Release(p.request); err != nil {
				p.record.Warn("after the trial: " + err.Error())
			}
		})
	}
	t.Raw, t.Warnings = p.record.Outputs(), p.record.Warnings()
	t.Ended = time.Now().UTC()
}

// thawTimeout is how long a thaw may take after the context has ended.
const thawTimeout = 10 * time.Second

// takeDown ends the measurement and the workload, also after the context's end.
func (p *participant) takeDown(ctx context.Context) {
	thawing, cancel := context.WithTimeout(context.WithoutCancel(ctx), thawTimeout)
	defer cancel()
	p.err = errors.Join(p.err, p.group.Thaw(thawing))
	if p.meters != nil {
		p.trial.Evidence = p.evidence.stop(ctx)
		metered := p.meters.stop(ctx)
		p.trial.Usage = &metered.usage
		p.keepReadings(ctx, metered.series)
	}
	if err := p.workload.Finish(ctx); err != nil {
		p.err = errors.Join(p.err, err)
	}
	p.err = withGone(p.err, p.group)
	p.elsewhere += p.workload.Spent()
}

// withGone adds to a failure that an instance was lost, where it says nothing of it.
func withGone(err error, g *instances.Group) error {
	if err == nil || errors.Is(err, agent.ErrGone) {
		return err
	}
	return errors.Join(err, g.Gone())
}

func (p *participant) keepReadings(ctx context.Context, all []rundir.InstanceSeries) {
	if p.KeepReadings == nil || ctx.Err() != nil {
		return
	}
	var err error
	if p.trial.Readings, err = p.KeepReadings(p.trial, all); err != nil {
		p.record.Warn(err.Error())
	}
}

// fail ends the participation.
func (p *participant) fail(round int, err error) { p.err = fmt.Errorf("round %d: %w", round, err) }
