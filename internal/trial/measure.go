package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/bundle"
	"tare/internal/environment"
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
	trial  *bundle.Trial
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
	var meters []sample.Meter
	for _, member := range m.held.measured() {
		if !member.onHost {
			meters = append(meters, environment.Meter(member.Instance, sample.Options{}))
		}
	}
	began := time.Now()
	err := m.each(m.parts, func(p *part) error { return p.drive(ctx) })
	elapsed := time.Since(began)
	usages := make([]sample.Usage, len(meters))
	for i, m := range meters {
		usages[i] = m.Stop()
	}
	if err != nil {
		return err
	}
	usage := sample.Sum(usages...)
	t := m.trial
	t.HostSeconds, t.Usage = elapsed.Seconds(), &usage
	var copies []bundle.Copy
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

// together makes the trial's metrics of its copies'.
func together(t *bundle.Trial, metrics []workload.Metric, copies []bundle.Copy) {
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

func missing(t *bundle.Trial, metric, reason string) {
	if t.Missing == nil {
		t.Missing = map[string]string{}
	}
	if t.Missing[metric] == "" {
		t.Missing[metric] = reason
	}
}

// derive adds the metrics of the whole environment.
func (m *measurement) derive(pack workload.Pack, usage sample.Usage) {
	for _, metric := range pack.Metrics {
		var figure sample.Figure
		switch metric.Name {
		case workload.CPUSeconds:
			figure = usage.CPU()
		case workload.CPUPerOp:
			figure = perOperation(usage.CPU(), m.trial.Metrics[pack.Operations], pack.Operations)
		default:
			continue
		}
		if figure.Missing != "" {
			missing(m.trial, metric.Name, figure.Missing)
			continue
		}
		m.trial.Metrics[metric.Name] = figure.Value
	}
}

func perOperation(cpu sample.Figure, operations float64, name string) sample.Figure {
	if cpu.Missing != "" {
		return cpu
	}
	if !(operations > 0) {
		return sample.Absent("the driver counted no %s", name)
	}
	return sample.Known(cpu.Value / operations)
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
			addPoint(m.trial, name, bundle.Point(point))
		}
	}
}

// keep ends an output; where the disk takes no more, the trial says so.
func (m *measurement) keep(f *bundle.RawFile) {
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
