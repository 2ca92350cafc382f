package trial

import (
	"context"
	"errors"
	"fmt"
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
	spent  time.Duration // on the workload's own steps

	mu sync.Mutex // of the trial's lists, which the copies write to
}

func (m *measurement) run(ctx context.Context, w *study.Workload, level study.Level) (err error) {
	roles := w.Pack.RoleNames()
	for i, c := range m.held.copies {
		p := &part{measurement: m, name: w.Name, cast: c, packs: map[*member]workload.Pack{}}
		if len(m.held.copies) > 1 {
			p.number = i + 1
		}
		for _, member := range c.members() {
			if p.packs[member], err = w.Pack.With(level.Parameters, c.spot(member, m.held.network, roles)); err != nil {
				return err
			}
		}
		m.parts = append(m.parts, p)
	}
	// Servers end and teardown runs whatever happened, so that what follows finds
	// the instances as they were.
	defer func() {
		err = errors.Join(err, m.each(func(p *part) error { return p.leave(ctx) }))
	}()
	if err := m.each(func(p *part) error { return p.prepare(ctx) }); err != nil {
		return err
	}
	return m.drive(ctx, w)
}

// each does something in all copies at once. What the workload's own steps took
// of it is what they took in the slowest copy.
func (m *measurement) each(do func(*part) error) error {
	for _, p := range m.parts {
		p.spent = 0
	}
	err := each(m.parts, func(p *part) error {
		if err := do(p); err != nil {
			if p.number > 0 {
				return fmt.Errorf("copy %d: %w", p.number, err)
			}
			return err
		}
		return nil
	})
	slowest := time.Duration(0)
	for _, p := range m.parts {
		slowest = max(slowest, p.spent)
	}
	m.spent += slowest
	return err
}

// drive is the measured part: all copies' drivers at the same time, with what
// all instances of the environment use meanwhile.
func (m *measurement) drive(ctx context.Context, w *study.Workload) error {
	var meters []sample.Meter
	for _, member := range m.held.members {
		if !member.onHost {
			meters = append(meters, environment.Meter(member.Instance, 0))
		}
	}
	began := time.Now()
	err := m.each(func(p *part) error { return p.drive(ctx) })
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
		t.Metrics, t.Missing = copies[0].Metrics, copies[0].Missing
		return
	}
	t.Copies, t.Metrics = copies, map[string]float64{}
	for _, metric := range metrics {
		var figures []float64
		for i, c := range copies {
			if v, ok := c.Metrics[metric.Name]; ok {
				figures = append(figures, v)
			} else if why := c.Missing[metric.Name]; why != "" {
				missing(t, metric.Name, fmt.Sprintf("copy %d: %s", i+1, why))
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
		if m.trial.Series == nil {
			m.trial.Series = map[string][]bundle.Point{}
		}
		for _, point := range points {
			m.trial.Series[name] = append(m.trial.Series[name], bundle.Point(point))
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
