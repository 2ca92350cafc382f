package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/rundir"
	"tare/internal/sample"
	"tare/internal/study"
	"tare/internal/workload"
)

// clockTolerance is how far the instance's clock may run off the host's before
// the trial carries a warning.
const clockTolerance = 0.005

// measurement is one workload at one level, run once: in one copy, or in
// several at the same time.
type measurement struct {
	runner *Runner
	trial  *rundir.Trial
	held   *held
	parts  []*part
	beside []*part       // neighbours
	spent  time.Duration // on the workload's own steps

	mu sync.Mutex // of the trial's lists, which the copies write to
}

func (m *measurement) run(ctx context.Context, w *study.Workload, level study.Level) (err error) {
	if m.parts, err = m.play("copy", w.Name, w.Pack, level.Parameters, m.held.copies); err != nil {
		return err
	}
	if len(m.parts) == 1 {
		m.parts[0].number = 0
	}
	working := ctx // until a neighbour fails
	if len(m.held.neighbours) > 0 {
		m.beside, err = m.play("neighbour", w.Name+"'s neighbour", *w.Neighbour, level.Neighbour, m.held.neighbours)
		if err != nil {
			return err
		}
		var leave func(error) error
		if working, leave, err = m.neighbours(ctx); err != nil {
			return leave(err)
		}
		defer func() { err = leave(err) }()
	}
	// Servers end and teardown runs whatever happened, so that what follows finds
	// the instances as they were.
	defer func() {
		err = errors.Join(err, m.each(m.parts, func(p *part) error { return p.leave(ctx) }))
	}()
	if err := m.each(m.parts, func(p *part) error { return p.prepare(working) }); err != nil {
		return err
	}
	m.look(ctx, w, level)
	return m.drive(working, w)
}

// play makes a part of each cast.
func (m *measurement) play(what, name string, pack workload.Pack, parameters map[string]string, casts []cast) (parts []*part, err error) {
	roles := pack.RoleNames()
	for i, c := range casts {
		p := &part{measurement: m, what: what, number: i + 1, name: name, cast: c, packs: map[*member]workload.Pack{}}
		for _, member := range c.members() {
			if p.packs[member], err = pack.With(parameters, c.spot(member, m.held.network, roles)); err != nil {
				return nil, err
			}
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// each does something in all parts at once. What the workload's own steps took
// of it is what they took in the slowest part.
func (m *measurement) each(parts []*part, do func(*part) error) error {
	for _, p := range parts {
		p.spent = 0
	}
	err := each(parts, func(p *part) error {
		if err := do(p); err != nil {
			return p.named(err)
		}
		return nil
	})
	slowest := time.Duration(0)
	for _, p := range parts {
		slowest = max(slowest, p.spent)
	}
	m.spent += slowest
	return err
}

// named says which of several an error is about.
func (p *part) named(err error) error {
	if p.number == 0 {
		return err
	}
	return fmt.Errorf("%s %d: %w", p.what, p.number, err)
}

// drive is the measured part: all copies' drivers at the same time, with what
// all instances of the environment use meanwhile, without the neighbours'.
func (m *measurement) drive(ctx context.Context, w *study.Workload) error {
	meters := m.meter(ctx)
	watched := m.watch(ctx)
	began := time.Now()
	err := m.each(m.parts, func(p *part) error { return p.drive(ctx) })
	elapsed := time.Since(began)
	usage := meters.stop(ctx)
	m.trial.Evidence = watched()
	if err != nil {
		return err
	}
	t := m.trial
	t.HostSeconds = elapsed.Seconds()
	var copies []rundir.Copy
	for _, p := range m.parts {
		t.GuestSeconds = max(t.GuestSeconds, p.exit.Elapsed().Seconds())
		c, err := p.read()
		if err != nil {
			return err
		}
		copies = append(copies, c)
	}
	if len(m.parts) == 1 {
		t.HostSeconds = m.parts[0].elapsed.Seconds()
		m.series()
	}
	together(t, w.Pack.Metrics, copies)
	m.derive(w.Pack, usage)
	return nil
}

// heard is who is told of what the sampler sees of one more instance.
func (m *measurement) heard() func(sample.Reading) {
	if m.runner.Watch == nil {
		return nil
	}
	return m.runner.Watch(m.trial.Environment, m.trial.Workload)
}

// together makes the trial's metrics of its copies'.
func together(t *rundir.Trial, metrics []workload.Metric, copies []rundir.Copy) {
	if len(copies) == 1 {
		t.Metrics, t.Missing = maps.Clone(copies[0].Metrics), copies[0].Missing
	} else {
		t.Copies, t.Metrics = copies, map[string]float64{}
	}
	for _, metric := range metrics {
		var figures []float64
		for i, c := range copies {
			if v, ok := c.Metrics[metric.Name]; ok {
				figures = append(figures, v)
			} else if why := c.Missing[metric.Name]; why != "" {
				missing(t, metric.Name, fmt.Sprintf("copy %d: %s", i+1, why))
			} else if v, ok := c.Metrics[metric.FieldName()]; ok {
				figures = append(figures, v) // several metrics of one field
			}
		}
		if len(figures) == len(copies) {
			t.Metrics[metric.Name] = metric.Combine(figures)
		}
	}
}

func missing(t *rundir.Trial, metric, reason string) {
	if t.Missing == nil {
		t.Missing = map[string]string{}
	}
	if t.Missing[metric] == "" {
		t.Missing[metric] = reason
	}
}

// derive adds what the whole environment spent, where the pack counts no
// operations: else that is their cost.
func (m *measurement) derive(pack workload.Pack, usage sample.Usage) {
	asked := func(metric workload.Metric) bool { return metric.Name == workload.CPUSeconds }
	if !slices.ContainsFunc(pack.Metrics, asked) {
		return
	}
	if cpu := usage.CPU(); cpu.Missing != "" {
		missing(m.trial, workload.CPUSeconds, cpu.Missing)
	} else {
		m.trial.Metrics[workload.CPUSeconds] = cpu.Value
	}
}

// series takes figures over time from what the only copy's driver printed.
func (m *measurement) series() {
	p := m.parts[0]
	found, err := p.packs[p.driver()].Series(p.printed.Bytes())
	if err != nil {
		m.trial.Warnings = append(m.trial.Warnings, "no figures over time: "+err.Error())
		return
	}
	for name, points := range found {
		for _, point := range points {
			addPoint(m.trial, name, rundir.Point(point))
		}
	}
}

// keep ends an output; where the disk takes no more, the trial says so.
func (m *measurement) keep(f *rundir.RawFile) {
	raw, ok, err := f.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err != nil:
		m.trial.Warnings = append(m.trial.Warnings, err.Error())
	case ok:
		m.trial.Raw = append(m.trial.Raw, raw)
	}
}

// warn notes a finding of a copy.
func (m *measurement) warn(lines ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trial.Warnings = append(m.trial.Warnings, lines...)
}

func accepted(s workload.Step, e agent.Exit) bool {
	return e.OK() || s.AnyStatus && e.Signal == "" && !e.TimedOut
}
