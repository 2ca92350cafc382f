package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"tare/internal/agent"
	"tare/internal/rundir"
	"tare/internal/workload"
)

// part is one copy of the workload within a trial, or of a neighbour.
type part struct {
	*measurement
	what    string // copy or neighbour
	number  int    // from 1; 0 where there is only one copy
	name    string // of what it runs, so that its instances begin it once
	cast    cast
	packs   map[*member]workload.Pack // with what each instance knows of itself and the others
	stops   []func() error            // of the servers, in the order of their start
	running []running                 // servers
	spent   time.Duration             // on the workload's own steps
	ready   time.Duration             // from the first server's start to the last one's first answer

	exit    agent.Exit
	elapsed time.Duration
	printed bytes.Buffer
}

// pack is the workload as any member of the copy sees it: for what does not
// depend on where it runs.
func (p *part) pack() workload.Pack { return p.packs[p.cast.members()[0]] }

// driver is where the driver runs.
func (p *part) driver() *member { return p.cast.of(p.pack().Driver.Role)[0] }

// prepare brings the copy to where it can be driven.
func (p *part) prepare(ctx context.Context) error {
	if err := p.serveAll(ctx); err != nil {
		return err
	}
	if warmup := p.pack().Warmup; warmup != nil {
		for _, m := range p.cast.of(warmup.Role) {
			if err := p.step(ctx, m, "warmup", *p.packs[m].Warmup); err != nil {
				return err
			}
		}
	}
	return nil
}

// serveAll sets the copy up and starts its servers.
func (p *part) serveAll(ctx context.Context) error {
	if err := p.begin(ctx); err != nil {
		return err
	}
	err := p.steps(func(w workload.Pack) []workload.Step { return w.Setup }, func(m *member, s workload.Step) error {
		return p.step(ctx, m, "setup", s)
	})
	if err != nil {
		return err
	}
	if err := p.vacant(ctx); err != nil {
		return err
	}
	asked := time.Now()
	for i, server := range p.pack().Servers {
		for _, m := range p.cast.of(server.Role) {
			stop, err := p.serve(ctx, m, p.packs[m].Servers[i])
			p.stops = append(p.stops, stop)
			if err != nil {
				return err
			}
		}
	}
	p.ready = time.Since(asked)
	return nil
}

// steps does something with each step of a list in each instance of its role.
func (p *part) steps(list func(workload.Pack) []workload.Step, do func(*member, workload.Step) error) error {
	for i, step := range list(p.pack()) {
		for _, m := range p.cast.of(step.Role) {
			if err := do(m, list(p.packs[m])[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// leave ends the servers, the last one first, and takes down what was set up.
// What goes wrong in the taking down is a finding, not the trial's fate.
func (p *part) leave(ctx context.Context) error {
	var errs []error
	for _, stop := range slices.Backward(p.stops) {
		errs = append(errs, stop())
	}
	p.steps(func(w workload.Pack) []workload.Step { return w.Teardown }, func(m *member, s workload.Step) error {
		if err := p.step(ctx, m, "teardown", s); err != nil {
			p.warn(err.Error())
		}
		return nil
	})
	return errors.Join(errs...)
}

// begin runs what the pack wants once in each instance.
func (p *part) begin(ctx context.Context) error {
	first := slices.DeleteFunc(p.cast.members(), func(m *member) bool { return m.begun[p.name] })
	err := p.steps(func(w workload.Pack) []workload.Step { return w.Begin }, func(m *member, s workload.Step) error {
		if !slices.Contains(first, m) {
			return nil
		}
		return p.step(ctx, m, "begin", s)
	})
	if err != nil {
		return err
	}
	for _, m := range first {
		m.begun[p.name] = true
	}
	return p.steps(func(w workload.Pack) []workload.Step { return w.End }, func(m *member, s workload.Step) error {
		if slices.Contains(first, m) {
			// Its outputs go with this trial's, and its findings to the console alone.
			m.atEnd = append(m.atEnd, func(ctx context.Context) error { return p.step(ctx, m, "end", s) })
		}
		return nil
	})
}

// drive runs the driver between two looks at its instance's clock.
func (p *part) drive(ctx context.Context) error {
	m := p.driver()
	step := *p.packs[m].Driver
	out, errs := p.output(m, "driver.stdout"), p.output(m, "driver.stderr")
	cmd := p.command(step, driverTimeout)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, &p.printed), errs
	a := m.Agent()
	before, err := a.Clock(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	p.exit, err = a.Run(ctx, cmd)
	p.elapsed = time.Since(began)
	p.spent += p.elapsed
	p.keep(out)
	p.keep(errs)
	if err == nil && !accepted(step, p.exit) {
		err = errors.New(ending(p.exit, cmd.Timeout))
	}
	if err != nil {
		return fmt.Errorf("driver %s: %w%s", quoted(step), err, lastLines(errs, out))
	}
	if after, err := a.Clock(ctx); err == nil {
		p.warn(clockWarning(before, after)...)
	}
	return nil
}

// read makes the copy's figures of what its driver printed and of what tare
// measured itself.
func (p *part) read() (rundir.Copy, error) {
	pack := p.packs[p.driver()]
	metrics, missing, err := pack.ParseMetrics(p.printed.Bytes())
	if err != nil {
		return rundir.Copy{}, err
	}
	wall, ready := p.exit.Elapsed(), p.ready
	if pack.Cold {
		started := p.held.starts[max(p.number-1, 0)]
		wall, ready = wall+started, ready+started
	}
	for _, metric := range pack.Metrics {
		switch metric.FieldName() {
		case workload.ReadySeconds:
			metrics[metric.Name] = ready.Seconds()
		case workload.WallSeconds:
			metrics[metric.Name] = wall.Seconds()
		case workload.UserSeconds:
			metrics[metric.Name] = p.exit.User.Seconds()
		case workload.SystemSeconds:
			metrics[metric.Name] = p.exit.System.Seconds()
		case workload.MaxRSS:
			metrics[metric.Name] = float64(p.exit.MaxRSS)
		}
	}
	return rundir.Copy{Metrics: metrics, Missing: missing}, nil
}

// output is where something that a member prints is kept.
func (p *part) output(m *member, name string) *rundir.RawFile {
	if m.index > 1 {
		name = strconv.Itoa(m.index) + "." + name
	}
	if p.number > 0 {
		name = fmt.Sprintf("%s%d.%s", p.what, p.number, name)
	}
	return p.runner.rawFile(*p.trial, name)
}
