package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/bundle"
	"tare/internal/sample"
	"tare/internal/study"
	"tare/internal/workload"
)

// clockTolerance is how far the instance's clock may run off the host's before
// the trial carries a warning.
const clockTolerance = 0.005

// The limits of steps for which the pack names none.
const (
	stepTimeout   = 5 * time.Minute
	driverTimeout = time.Hour
	readyTimeout  = time.Minute
	stopTimeout   = 10 * time.Second
)

// measurement is one workload, run once in one instance.
type measurement struct {
	runner   *Runner
	trial    *bundle.Trial
	instance *held
	spent    time.Duration // on the workload's own steps
	ready    time.Duration // from the server's start to its first answer
}

func (m *measurement) run(ctx context.Context, w *study.Workload, level study.Level) (err error) {
	pack, err := w.Pack.With(level.Parameters)
	if err != nil {
		return err
	}
	if err := m.begin(ctx, w.Name, pack); err != nil {
		return err
	}
	defer func() {
		// Teardown runs whatever happened, so that what follows finds the
		// instance as it was; its errors are findings, not the trial's fate.
		for _, step := range pack.Teardown {
			if terr := m.step(ctx, "teardown", step); terr != nil {
				m.trial.Warnings = append(m.trial.Warnings, terr.Error())
			}
		}
	}()
	for _, step := range pack.Setup {
		if err := m.step(ctx, "setup", step); err != nil {
			return err
		}
	}
	if pack.Server != nil {
		stop, err := m.serve(ctx, pack.Server)
		defer func() { err = errors.Join(err, stop()) }()
		if err != nil {
			return err
		}
	}
	if pack.Warmup != nil {
		if err := m.step(ctx, "warmup", *pack.Warmup); err != nil {
			return err
		}
	}
	return m.drive(ctx, pack)
}

// begin runs what the pack wants once in each instance.
func (m *measurement) begin(ctx context.Context, name string, pack workload.Pack) error {
	if m.instance.begun[name] {
		return nil
	}
	for _, step := range pack.Begin {
		if err := m.step(ctx, "begin", step); err != nil {
			return err
		}
	}
	m.instance.begun[name] = true
	if len(pack.End) > 0 {
		ending := *m // its outputs go with this trial's, and its findings to the console alone
		m.instance.atEnd = append(m.instance.atEnd, func(ctx context.Context) error {
			for _, step := range pack.End {
				if err := ending.step(ctx, "end", step); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return nil
}

// command is what the agent is told to run.
func (m *measurement) command(s workload.Step, limit time.Duration) agent.Command {
	if s.Timeout > 0 {
		limit = s.Timeout
	}
	return agent.Command{
		Argv: s.Words(), Env: slices.Concat(m.runner.Image.Env, s.Env),
		Dir: s.Dir, User: s.User, CPUs: m.runner.Plan.Pin[s.Role], Timeout: limit,
	}
}

// step runs one unmeasured command.
func (m *measurement) step(ctx context.Context, what string, s workload.Step) error {
	began := time.Now()
	defer func() { m.spent += time.Since(began) }()
	out := m.runner.Keep(*m.trial, what+".output")
	defer m.keep(out)
	cmd := m.command(s, stepTimeout)
	cmd.Stdout, cmd.Stderr = out, out
	exit, err := m.instance.Agent().Run(ctx, cmd)
	if err == nil && !accepted(s, exit) {
		err = errors.New(ending(exit, cmd.Timeout))
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s command %s: %w%s", what, quoted(s), err, lastLines(out))
}

// serve starts the server and waits until it answers. The returned function
// ends it and keeps what it printed.
func (m *measurement) serve(ctx context.Context, s *workload.Server) (stop func() error, err error) {
	began := time.Now()
	defer func() { m.spent += time.Since(began) }()
	out, errs := m.runner.Keep(*m.trial, "server.stdout"), m.runner.Keep(*m.trial, "server.stderr")
	cmd := m.command(s.Step, 0)
	cmd.Timeout = 0
	cmd.Stdout, cmd.Stderr = out, errs
	asked := time.Now()
	process, err := m.instance.Agent().Start(ctx, cmd)
	if err != nil {
		return func() error { return nil }, fmt.Errorf("server %s: %w", quoted(s.Step), err)
	}
	ended := make(chan agent.Exit, 1)
	waiting, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		if exit, err := process.Wait(waiting); err == nil {
			ended <- exit
		}
		close(ended)
	}()
	stop = func() error {
		began := time.Now()
		defer func() { m.spent += time.Since(began) }()
		defer giveUp()
		err := m.stopServer(process, s.Stop, ended)
		m.keep(out)
		m.keep(errs)
		return err
	}
	probe := s.Ready
	if probe.Timeout == 0 {
		probe.Timeout = readyTimeout
	}
	answering, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan error, 1)
	go func() {
		_, err := m.instance.Agent().Await(answering, probe)
		ready <- err
	}()
	select {
	case err = <-ready:
		if err != nil {
			err = fmt.Errorf("server %s never got ready: %w%s", quoted(s.Step), err, lastLines(errs, out))
		}
	case exit, ok := <-ended:
		if !ok {
			return stop, fmt.Errorf("server %s: %w", quoted(s.Step), m.instance.Agent().Err())
		}
		err = fmt.Errorf("server %s ended before it answered: %s%s", quoted(s.Step), ending(exit, 0), lastLines(errs, out))
	}
	m.ready = time.Since(asked)
	return stop, err
}

func (m *measurement) stopServer(p *agent.Process, name string, ended <-chan agent.Exit) error {
	signal := syscall.SIGTERM
	if name != "" {
		signal = unix.SignalNum(name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*stopTimeout)
	defer cancel()
	for _, s := range []syscall.Signal{signal, syscall.SIGKILL} {
		if err := p.Signal(ctx, s); err != nil && m.instance.Agent().Err() != nil {
			return nil // the instance is gone, and its server with it
		}
		timer := time.NewTimer(stopTimeout)
		select {
		case <-ended:
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
	return fmt.Errorf("the server did not end after SIGKILL")
}

// drive is the measured part.
func (m *measurement) drive(ctx context.Context, pack workload.Pack) error {
	var printed bytes.Buffer
	out, errs := m.runner.Keep(*m.trial, "driver.stdout"), m.runner.Keep(*m.trial, "driver.stderr")
	cmd := m.command(*pack.Driver, driverTimeout)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, &printed), errs
	a := m.instance.Agent()

	before, err := a.Clock(ctx)
	if err != nil {
		return err
	}
	sampler := sample.Start(m.instance.Footprint(), 0)
	began := time.Now()
	exit, err := a.Run(ctx, cmd)
	elapsed := time.Since(began)
	m.spent += elapsed
	usage := sampler.Stop()
	m.keep(out)
	m.keep(errs)
	if err == nil && !accepted(*pack.Driver, exit) {
		err = errors.New(ending(exit, cmd.Timeout))
	}
	if err != nil {
		return fmt.Errorf("driver %s: %w%s", quoted(*pack.Driver), err, lastLines(errs, out))
	}
	t := m.trial
	t.HostSeconds, t.GuestSeconds, t.Usage = elapsed.Seconds(), exit.Elapsed().Seconds(), &usage
	if after, err := a.Clock(ctx); err == nil {
		t.Warnings = append(t.Warnings, clockWarning(before, after)...)
	}
	t.Metrics, t.Missing, err = pack.Read(printed.Bytes())
	if err != nil {
		return err
	}
	m.derive(pack, exit, usage)
	return nil
}

// derive adds the metrics that tare measures itself.
func (m *measurement) derive(pack workload.Pack, exit agent.Exit, usage sample.Usage) {
	wall := exit.Elapsed()
	if pack.Cold {
		wall += m.instance.started
	}
	for _, metric := range pack.Metrics {
		var figure sample.Figure
		switch metric.FieldName() {
		case workload.CPUSeconds:
			figure = usage.CPU()
		case workload.CPUPerOp:
			figure = perOperation(usage.CPU(), m.trial.Metrics[pack.Operations], pack.Operations)
		case workload.ReadySeconds:
			figure = sample.Known(m.ready.Seconds())
		case workload.WallSeconds:
			figure = sample.Known(wall.Seconds())
		case workload.UserSeconds:
			figure = sample.Known(exit.User.Seconds())
		case workload.SystemSeconds:
			figure = sample.Known(exit.System.Seconds())
		case workload.MaxRSS:
			figure = sample.Known(float64(exit.MaxRSS))
		default:
			continue
		}
		if figure.Missing != "" {
			if m.trial.Missing == nil {
				m.trial.Missing = map[string]string{}
			}
			m.trial.Missing[metric.Name] = figure.Missing
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

// clockWarning compares how far the two clocks moved. The clocks disagree only
// beyond what the time of a message can explain.
func clockWarning(before, after agent.Reading) []string {
	ratio, uncertainty := agent.Drift(before, after)
	if off := math.Abs(ratio - 1); off > clockTolerance && off > uncertainty {
		return []string{fmt.Sprintf("the instance's clock ran at %.4f of the host's during this trial (uncertain by %.4f): what the driver timed by it is off by as much", ratio, uncertainty)}
	}
	return nil
}

// keep ends an output; where the disk takes no more, the trial says so.
func (m *measurement) keep(f *bundle.RawFile) {
	raw, ok, err := f.Close()
	switch {
	case err != nil:
		m.trial.Warnings = append(m.trial.Warnings, err.Error())
	case ok:
		m.trial.Raw = append(m.trial.Raw, raw)
	}
}

func accepted(s workload.Step, e agent.Exit) bool {
	return e.OK() || s.AnyStatus && e.Signal == "" && !e.TimedOut
}

// ending says how a command ended that should have ended with 0.
func ending(e agent.Exit, limit time.Duration) string {
	switch {
	case e.TimedOut:
		return fmt.Sprintf("was stopped after its time limit of %v", limit)
	case e.Signal != "":
		return "was ended by " + e.Signal
	}
	return fmt.Sprintf("ended with status %d", e.Code)
}

// quoted is a step as it can be shown in a message.
func quoted(s workload.Step) string {
	text := strings.Join(s.Argv, " ")
	if s.Run != "" {
		text = strings.Join(strings.Fields(s.Run), " ")
	}
	if len(text) > 120 {
		text = text[:117] + "..."
	}
	return "`" + text + "`"
}

// lastLines are the last lines of the first output that has any.
func lastLines(outputs ...*bundle.RawFile) string {
	for _, out := range outputs {
		text := strings.TrimSpace(string(out.Tail()))
		if text == "" {
			continue
		}
		lines := strings.Split(text, "\n")
		if len(lines) > 5 {
			lines = lines[len(lines)-5:]
		}
		return "; its last output:\n  " + strings.Join(lines, "\n  ")
	}
	return ""
}
