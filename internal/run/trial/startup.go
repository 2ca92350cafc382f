package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tare/internal/base/crash"
	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/run/trial/instances"
	"tare/internal/run/trial/lifecycle"
	"tare/internal/study"
	"tare/internal/usage"
	"tare/internal/workload"
)

// instancesUp is the series of how many instances were up, over the time since
// the first was called for.
const instancesUp = "instances_up"

// sampleStart starts the instances of a round and measures that, or with a driver what
// begins with it. They are stopped again, but those of the last round stay if later
// workloads of the block use them.
func (p *participant) sampleStart(ctx context.Context, number, position int, last bool) {
	defer p.timed()()
	request := p.request
	request.Fresh = "trial"
	p.starts.Begin()
	began := time.Now()
	p.elapse(func() { p.group, p.err = p.pool.Get(ctx, request) })
	if limit := (*instances.Unsupported)(nil); errors.As(p.err, &limit) {
		p.skip(limit.Reason)
		return
	}
	if p.err != nil {
		p.fail(number, p.err)
		return
	}
	p.describeStart(p.group)
	var s *start
	var took usage.Edge
	group, pack := p.group, p.job.workload.Pack
	if pack.Startup {
		took = p.endStart()
		p.elapse(func() { s, p.err = p.measureStart(ctx) })
	} else {
		p.err = p.sampleCold(ctx, number, position, began)
	}
	if p.err != nil {
		p.fail(number, p.err)
	}
	// A block without a measured stop has no use for instances that stay.
	stays := last && p.err == nil && p.serves() && !p.group.Lost() && !(pack.Ends() && len(p.rounds) == 0)
	switch {
	case stays:
		p.wait(ctx)
	case ctx.Err() != nil:
		p.group = nil // all that is left is stopped
		return
	default:
		p.group = nil
		p.elapse(func() {
			if err := p.pool.Release(request); err != nil {
				p.record.Warn(fmt.Sprintf("after round %d: %s", number, err))
			}
		})
	}
	if s != nil && p.err == nil {
		s.end(pack, group.Stops)
		p.usages = append(p.usages, s.used)
		p.addRound(number, position, s.figures, took)
	}
}

// elapse does what is no overhead of tare.
func (p *participant) elapse(do func()) {
	began := time.Now()
	do()
	p.elsewhere += time.Since(began)
}

// describeStart adds the instances of a round to the trial, and what their start
// showed.
func (p *participant) describeStart(group *instances.Group) {
	facts, _ := group.TakeFacts()
	t := &p.trial
	if len(p.rounds) == 0 {
		describe(t, group, facts)
		p.caution(t, p.record, p.job)
	} else {
		if len(t.Instances) == 0 {
			t.Instances = []string{t.Instance}
		}
		t.Instances = append(t.Instances, lists.Map(group.Instances(), func(i *instances.Instance) string { return i.Name })...)
	}
	known := p.record.Warnings()
	p.record.Warn(lists.Filter(facts.Notes, func(note string) bool { return !slices.Contains(known, note) })...)
}

// measureStart measures the starts of the participant's instances.
func (p *participant) measureStart(ctx context.Context) (*start, error) {
	s, err := p.startFigures(ctx, p.job.workload.Pack, p.level, p.group)
	if err == nil && len(p.rounds) == 0 {
		p.fingerprintStart(ctx, &p.trial, p.record, p.job, p.group)
		addUp(&p.trial, s.up)
	}
	return s, err
}

// endStart reads what the hypervisor took since the begin of the start.
func (p *participant) endStart() usage.Edge {
	took := p.starts.End()
	if slices.ContainsFunc(p.group.Measured(), func(i *instances.Instance) bool { return onAnother(i.Instance) }) {
		took.Steal = stolenElsewhere
	}
	return took
}

// sampleCold prepares the workload in the instances of a round and drives it once. The
// sample is the time from the begin of their start to the end of the driver.
func (p *participant) sampleCold(ctx context.Context, number, position int, began time.Time) (err error) {
	prefix := ""
	if n := len(p.rounds); n > 0 {
		prefix = fmt.Sprintf("start%d.", n+1)
	}
	record := p.Runner.record(p.trial, true, prefix)
	defer func() { p.record.Add(record) }()
	c := p.lifecycle(record, p.job, p.group, p.group.Copies)
	if found := p.underWay[p.job.cell]; len(found.Amounts) > 0 {
		c.Load.Known = found
	}
	w, err := lifecycle.New(c)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, w.Finish(ctx))
		p.elsewhere += w.Spent()
	}()
	if err := w.Prepare(ctx); err != nil {
		return err
	}
	if err := w.Calibrate(ctx, p.like(p.job)); err != nil {
		return err
	}
	describeWork(&p.trial, w)
	p.underWay[p.job.cell] = w.Work()
	m := openEdges(ctx, p.group.Copies, p.request.Cores, p.callback(&p.trial))
	m.edges.Begin()
	s, err := w.Sample(ctx)
	m.edges.End()
	took, lasted := p.endStart(), time.Since(began)
	metered := m.stop(ctx)
	p.readings = append(p.readings, metered.series...)
	if err != nil {
		return err
	}
	f, err := figuresOf(p.job.workload.Pack.Metrics, s, p.group.Starts, metered.usage.CPU())
	if err != nil {
		return err
	}
	f.host = lasted.Seconds()
	p.takeFingerprint(ctx, pairOf(&p.trial), record, p.job, w)
	p.usages = append(p.usages, metered.usage)
	p.addRound(number, position, f, took)
	return nil
}

// serves says whether another workload of the plan uses the instances of a block
// that the participant starts.
func (p *participant) serves() bool {
	return p.slot.Fresh == "block" && slices.ContainsFunc(p.plan.Workloads, func(w study.Workload) bool {
		return !w.Pack.Startup && w.Fresh == "block" && slices.ContainsFunc(w.Levels, func(l study.Level) bool {
			return l.Shape.Key() == p.request.Shape.Key()
		})
	})
}

// endStarts completes what the rounds of starts used. The instances that wait for
// the block's next workload go on.
func (p *participant) endStarts(ctx context.Context) {
	if p.starts != nil {
		p.starts.Close()
	}
	if len(p.usages) > 0 {
		used := usage.InTurn(p.usages...)
		p.trial.Usage = &used
	}
	if len(p.readings) > 0 {
		p.keepReadings(ctx, p.readings)
	}
	if p.group != nil {
		thawing, cancel := context.WithTimeout(context.WithoutCancel(ctx), thawTimeout)
		defer cancel()
		p.err = errors.Join(p.err, p.group.Thaw(thawing))
	}
}

// measureIdle meters the instances while nothing runs in them, for as long as
// the pack says. The figures are of all together, by their fields.
func measureIdle(ctx context.Context, pack workload.Pack, level study.Level, group *instances.Group) (map[string]usage.Figure, error) {
	pack, err := pack.With(level.Parameters, workload.InstanceVars{})
	if err != nil {
		return nil, err
	}
	span, err := pack.RestTime()
	if err != nil || span == 0 {
		return map[string]usage.Figure{}, err
	}
	measured := lists.Map(group.Measured(), func(i *instances.Instance) environment.Instance { return i.Instance })
	// Idle instances change little, and reading many of them takes long.
	every := max(span/4, 100*time.Millisecond)
	meters := environment.Meters(measured, every, func(int) func(usage.Reading) { return nil })
	began := time.Now()
	err = stayIdle(ctx, group.Instances(), span)
	available := usage.AvailableMemory()
	elapsed := time.Since(began)
	usages := make([]usage.Usage, len(meters))
	for i, m := range meters {
		usages[i] = m.Stop()
	}
	if err != nil {
		return nil, err
	}
	used := usage.Sum(usages...)
	return map[string]usage.Figure{
		workload.IdleMemory: used.MemoryMean,
		workload.HostMemory: group.HostMemory.Plus(negative(available)),
		workload.IdleCPU:    over(used.CPU(), elapsed),
	}, nil
}

// stayIdle lets time pass; an instance that exits meanwhile is an error.
func stayIdle(ctx context.Context, all []*instances.Instance, span time.Duration) error {
	waiting, cancel := context.WithTimeoutCause(ctx, span, errIdleOver)
	defer cancel()
	exited := make(chan *instances.Instance, len(all))
	for _, i := range all {
		crash.Go(func() {
			select {
			case <-i.Agent().Done():
				exited <- i
			case <-waiting.Done():
			}
		})
	}
	select {
	case i := <-exited:
		return fmt.Errorf("instance %s exited while it was idle: %w", i.Name, i.Agent().Err())
	case <-waiting.Done():
	}
	if cause := context.Cause(waiting); !errors.Is(cause, errIdleOver) {
		return cause
	}
	return nil
}

var errIdleOver = errors.New("the idle time is over")

func share(f usage.Figure, n int) usage.Figure {
	f.Value /= float64(n)
	return f
}

func over(f usage.Figure, d time.Duration) usage.Figure {
	f.Value /= d.Seconds()
	return f
}

func negative(f usage.Figure) usage.Figure {
	f.Value = -f.Value
	return f
}
