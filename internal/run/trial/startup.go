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
// begins with it. They are stopped again, unless they stay.
func (p *participant) sampleStart(ctx context.Context, number, position int, last bool) {
	defer p.timed()()
	request := p.spec.request
	if p.alternates() {
		request.Fresh = "trial"
		p.starts.Begin()
	}
	began := time.Now()
	if p.get(ctx, request); p.skipped {
		return
	}
	var s *start
	var took usage.Edge
	group := p.group
	switch {
	case p.err != nil:
		p.fail(number, p.err)
		return
	case p.pack().Startup:
		first := p.describe()
		took = p.endStart()
		p.external(func() { s, p.err = p.measureStart(ctx, first) })
	default:
		p.describe()
		p.err = p.sampleCold(ctx, number, position, began)
	}
	if p.err != nil {
		p.fail(number, p.err)
	}
	switch {
	case p.staysUp(last) && !group.Lost():
		p.wait(ctx)
	case ctx.Err() != nil:
		p.group = nil // all that is left is stopped
		return
	default:
		p.group = nil
		when := "after the trial"
		if p.alternates() {
			when = fmt.Sprintf("after round %d", number)
		}
		p.release(request, when)
	}
	if s != nil && p.err == nil {
		s.end(*p.pack(), group.Stops)
		p.usages = append(p.usages, s.used)
		p.addRound(number, position, s.figures, took, nil)
	}
}

// staysUp says whether the instances of a start are used further: those of the last
// round by later workloads of the block.
func (p *participant) staysUp(last bool) bool {
	if !p.alternates() {
		return p.slot.Fresh == "run" || p.slot.Fresh == "block" && !p.pack().Ends()
	}
	// A block without a measured stop has no use for instances that stay.
	return last && p.err == nil && p.serves() && !(p.pack().Ends() && len(p.rounds) == 0)
}

// measureStart measures the starts of the participant's instances; first says whether
// no trial has used them before.
func (p *participant) measureStart(ctx context.Context, first bool) (*start, error) {
	if !first {
		return nil, fmt.Errorf("the instance %s was started for an earlier trial, so its start is not measured again", p.trial.Instance)
	}
	s, err := p.startFigures(ctx)
	if err == nil && len(p.rounds) == 0 {
		p.fingerprintStart(ctx)
		for _, point := range s.up {
			addPoint(&p.trial, instancesUp, point)
		}
	}
	return s, err
}

// endStart reads what the hypervisor took since the begin of the start.
func (p *participant) endStart() (took usage.Edge) {
	if p.starts == nil {
		return took
	}
	took = p.starts.End()
	if slices.ContainsFunc(p.group.Measured(), func(i *instances.Instance) bool { return i.Footprint().Elsewhere != nil }) {
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
	record := p.run.record(p.trial, true, prefix)
	defer func() { p.record.Add(record) }()
	c := p.lifecycle(record)
	if found := p.run.underWay[p.spec.key]; len(found.Amounts) > 0 {
		c.Load.Known = found
	}
	session, err := lifecycle.New(c)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, session.Finish(ctx))
		p.externalTime += session.Spent()
	}()
	if err := session.Prepare(ctx); err != nil {
		return err
	}
	if err := p.findAmount(ctx, session); err != nil {
		return err
	}
	m := newMeters(ctx, p)
	m.begin()
	s, err := session.Sample(ctx)
	m.end(ctx)
	took, lasted := p.endStart(), time.Since(began)
	metered := m.stop(ctx)
	p.readings = append(p.readings, metered.series...)
	if err != nil {
		return err
	}
	f, err := figuresOf(p.pack().Metrics, s, p.group.Starts, metered.usage.CPU())
	if err != nil {
		return err
	}
	f.host = lasted.Seconds()
	p.takeFingerprint(ctx, session)
	p.usages = append(p.usages, metered.usage)
	p.addRound(number, position, f, took, nil)
	return nil
}

// serves says whether another workload of the plan uses the instances of a block
// that the participant starts.
func (p *participant) serves() bool {
	return p.slot.Fresh == "block" && slices.ContainsFunc(p.run.plan.Workloads, func(w study.Workload) bool {
		return !w.Pack.Startup && w.Fresh == "block" && slices.ContainsFunc(w.Levels, func(l study.Level) bool {
			return l.Shape.Key() == p.spec.request.Shape.Key()
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
		p.thaw(ctx)
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
	measured := lists.Map(instances.Metered(group.Measured()), func(i *instances.Instance) environment.Instance { return i.Instance })
	// Idle instances change little, and reading many of them takes long.
	every := max(span/4, 100*time.Millisecond)
	meters, _ := environment.Meters(measured, usage.Options{Every: every}, func(int) func(usage.Reading) { return nil })
	began := time.Now()
	err = stayIdle(ctx, group.Instances(), span)
	available := usage.AvailableMemory()
	elapsed := time.Since(began)
	usages := lists.Map(meters, usage.Meter.Stop)
	if err != nil {
		return nil, err
	}
	used := usage.Sum(usages...)
	return map[string]usage.Figure{
		workload.IdleMemory: used.MemoryMean,
		workload.HostMemory: group.HostMemory.Minus(available),
		workload.IdleCPU:    used.CPU().Over(elapsed.Seconds()),
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
