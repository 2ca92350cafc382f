package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tare/internal/crash"
	"tare/internal/environment"
	"tare/internal/lists"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/trial/instances"
	"tare/internal/trial/lifecycle"
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
	if p.job.workload.Pack.Startup {
		took := p.endStart()
		p.elapse(func() { p.err = p.measureStart(ctx, number, position, took) })
	} else {
		p.err = p.sampleCold(ctx, number, position, began)
	}
	if p.err != nil {
		p.fail(number, p.err)
	}
	if last && p.err == nil && p.serves() && !p.group.Lost() {
		p.wait(ctx)
		return
	}
	p.group = nil
	if ctx.Err() != nil {
		return // all that is left is stopped
	}
	p.elapse(func() {
		if err := p.pool.Release(request); err != nil {
			p.record.Warn(fmt.Sprintf("after round %d: %s", number, err))
		}
	})
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

// measureStart makes a round of the starts of the participant's instances.
func (p *participant) measureStart(ctx context.Context, number, position int, took usage.Edge) error {
	f, err := startFigures(ctx, p.job.workload.Pack, p.level, p.group)
	if err != nil {
		return err
	}
	if len(p.rounds) == 0 {
		p.fingerprintStart(ctx, &p.trial, p.record, p.job, p.group)
		addUp(&p.trial, f.up)
	}
	p.usages = append(p.usages, f.used)
	p.addRound(number, position, f.figures, took)
	return nil
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

// start are the figures of starts that were under way together.
type start struct {
	figures
	used usage.Usage
	up   []rundir.Point // how many instances were up
}

// startFigures makes the metrics of a workload that measures starts: of each
// instance from its phases, and of all together.
func startFigures(ctx context.Context, pack workload.Pack, level study.Level, group *instances.Group) (s start, err error) {
	var usages []usage.Usage
	var copies []rundir.Copy
	for n, roles := range group.Copies {
		started := roles.Together()
		metrics := map[string]float64{workload.StartSeconds: group.Starts[n].Took.Seconds()}
		for _, p := range started.Phases() {
			metrics[p.Name] = p.Duration.Seconds()
		}
		copies = append(copies, rundir.Copy{Metrics: metrics})
		usages = append(usages, environment.UsageOfStart(started.Instance))
	}
	if s.Copy = combine(pack.Metrics, copies); len(copies) > 1 {
		s.copies = copies
	}
	s.used = usage.Sum(usages...)
	all := s.addTimes(group.Starts)
	n := len(copies)
	figures := map[string]usage.Figure{
		workload.CPUSeconds: s.used.CPU(),
		workload.StartCPU:   share(s.used.CPU(), n),
		workload.StartRate:  usage.Known(float64(n) / all.Seconds()),
	}
	idle, err := measureIdle(ctx, pack, level, group)
	if err != nil {
		return s, err
	}
	maps.Copy(figures, idle)
	for _, metric := range pack.Metrics {
		figure, known := figures[metric.FieldName()]
		switch {
		case !known:
		case figure.Missing != "":
			setMissing(&s.Missing, metric.Name, figure.Missing)
		default:
			s.Metrics[metric.Name] = figure.Value
		}
	}
	return s, nil
}

// addTimes writes down how long the starts took, and for several of them when each
// was up. It returns how long starts were under way.
func (s *start) addTimes(starts []instances.Start) time.Duration {
	spans := startSpans(starts)
	all := underWay(spans, spans[len(spans)-1].to)
	s.host = starts[0].Took.Seconds()
	if len(starts) > 1 {
		s.host = all.Seconds()
		s.Metrics[workload.StartAll] = all.Seconds()
		for n, span := range spans {
			s.up = append(s.up, rundir.Point{Second: underWay(spans, span.to).Seconds(), Value: float64(n + 1)})
		}
	}
	return all
}

func addUp(t *rundir.Trial, up []rundir.Point) {
	for _, point := range up {
		addPoint(t, instancesUp, point)
	}
}

// startSpan is when an instance's start was under way.
type startSpan struct{ from, to time.Time }

// startSpans are in the order in which the instances got ready.
func startSpans(starts []instances.Start) (spans []startSpan) {
	for _, s := range starts {
		spans = append(spans, startSpan{s.Ready.Add(-s.Took), s.Ready})
	}
	slices.SortFunc(spans, func(a, b startSpan) int { return a.to.Compare(b.to) })
	return spans
}

// underWay is for how long at least one of the starts was under way until a
// moment: tare's own work before, between and after them is no part of it. The
// spans are in the order of their ends.
func underWay(spans []startSpan, until time.Time) (total time.Duration) {
	for i, s := range spans {
		to := s.to
		if until.Before(to) {
			to = until
		}
		for _, later := range spans[i+1:] {
			if later.from.Before(to) {
				to = later.from // what follows is the later one's
			}
		}
		if to.After(s.from) {
			total += to.Sub(s.from)
		}
	}
	return total
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
		return nil, err
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
