package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/rundir"
	"tare/internal/workload"
)

// The limits of steps for which the pack names none.
const (
	stepTimeout   = 5 * time.Minute
	driverTimeout = time.Hour
	readyTimeout  = time.Minute
	stopTimeout   = 10 * time.Second
	lookTimeout   = time.Second
)

// closingPatience is how long a port may still be answered at by what is about to
// end.
const closingPatience = 5 * time.Second

// command is what the agent is told to run.
func (p *part) command(s workload.Step, limit time.Duration) agent.Command {
	if s.Timeout > 0 {
		limit = s.Timeout
	}
	return agent.Command{
		Argv: s.CommandArgs(), Env: slices.Concat(p.runner.Image.Env, s.Env),
		Dir: s.Dir, User: s.User, CPUs: p.cores(s.Role), Timeout: limit,
	}
}

// step runs one unmeasured command.
func (p *part) step(ctx context.Context, m *member, what string, s workload.Step) error {
	began := time.Now()
	defer func() { p.spent += time.Since(began) }()
	out := p.output(m, what+".output")
	defer p.keep(out)
	cmd := p.command(s, stepTimeout)
	cmd.Stdout, cmd.Stderr = out, out
	exit, err := m.Agent().Run(ctx, cmd)
	if err == nil && !accepted(s, exit) {
		err = errors.New(ending(exit, cmd.Timeout))
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s command %s: %w%s", what, quoted(s), err, lastLines(out))
}

// vacant makes sure, before any server of the copy is started, that nobody answers
// where they are going to: a stranger at a server's port would be measured in its
// place. A server of an earlier trial may take a moment to close.
func (p *part) vacant(ctx context.Context) error {
	for i, server := range p.pack().Servers {
		for _, m := range p.cast.of(server.Role) {
			s := p.packs[m].Servers[i]
			address := s.Ready.Address()
			if address == "" {
				continue
			}
			for began := time.Now(); ; {
				taken, err := m.Agent().ProbeOnce(ctx, agent.Probe{TCP: address, Timeout: lookTimeout})
				if err != nil {
					return fmt.Errorf("asking whether something answers at %s: %w", address, err)
				}
				if !taken {
					break
				}
				if time.Since(began) > closingPatience {
					return fmt.Errorf("something answers at %s before server %s was started: another program or run uses the port; end it, or set another port", address, quoted(s.Step))
				}
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(closingPatience / 50):
				}
			}
		}
	}
	return nil
}

// serve starts the server and waits until it answers. The returned function
// ends it and keeps what it printed.
func (p *part) serve(ctx context.Context, m *member, s workload.Server) (stop func() error, err error) {
	began := time.Now()
	defer func() { p.spent += time.Since(began) }()
	part := cmp.Or(s.Role, "server")
	out, errs := p.output(m, part+".stdout"), p.output(m, part+".stderr")
	cmd := p.command(s.Step, 0)
	cmd.Timeout = 0
	cmd.Stdout, cmd.Stderr = out, errs
	process, err := m.Agent().Start(ctx, cmd)
	if err != nil {
		return func() error { return nil }, fmt.Errorf("server %s: %w", quoted(s.Step), err)
	}
	p.running = append(p.running, running{m, s.Role, process.PID()})
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
		defer func() { p.spent += time.Since(began) }()
		defer giveUp()
		early, err := p.stopServer(m, process, s.Stop, ended)
		if early != nil {
			err = fmt.Errorf("server %s ended during the trial: %s%s", quoted(s.Step), ending(*early, 0), lastLines(errs, out))
		}
		p.keep(out)
		p.keep(errs)
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
		_, err := m.Agent().Await(answering, probe)
		ready <- err
	}()
	select {
	case err = <-ready:
		if err != nil {
			err = fmt.Errorf("server %s never got ready: %w%s", quoted(s.Step), err, lastLines(errs, out))
		}
	case exit, ok := <-ended:
		if !ok {
			return stop, fmt.Errorf("server %s: %w", quoted(s.Step), m.Agent().Err())
		}
		err = fmt.Errorf("server %s ended before it answered: %s%s", quoted(s.Step), ending(exit, 0), lastLines(errs, out))
	}
	return stop, err
}

// stopServer ends a server. Where it had ended by itself before it was told to,
// early says how: its end may not have been heard of yet, but then the agent
// finds nobody to signal.
func (p *part) stopServer(m *member, process *agent.Process, name string, ended <-chan agent.Exit) (early *agent.Exit, err error) {
	select {
	case exit, told := <-ended:
		if !told {
			return nil, nil // the instance is gone, and its server with it
		}
		return &exit, nil
	default:
	}
	signal := syscall.SIGTERM
	if name != "" {
		signal = unix.SignalNum(name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*stopTimeout)
	defer cancel()
	for i, s := range []syscall.Signal{signal, syscall.SIGKILL} {
		err := process.Signal(ctx, s)
		if err != nil && m.Agent().Err() != nil {
			return nil, nil
		}
		timer := time.NewTimer(stopTimeout)
		select {
		case exit, told := <-ended:
			timer.Stop()
			if told && i == 0 && errors.Is(err, unix.ESRCH) {
				return &exit, nil
			}
			return nil, nil
		case <-timer.C:
		}
	}
	return nil, fmt.Errorf("the server did not end after SIGKILL")
}

// clockWarning compares how far the two clocks moved. The clocks disagree only
// beyond what the time of a message can explain.
func clockWarning(before, after agent.ClockReading) []string {
	ratio, uncertainty := agent.ClockDrift(before, after)
	if off := math.Abs(ratio - 1); off > clockTolerance && off > uncertainty {
		return []string{fmt.Sprintf("the instance's clock ran at %.4f of the host's during this trial (uncertain by %.4f): what the driver timed by it is off by as much", ratio, uncertainty)}
	}
	return nil
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
func lastLines(outputs ...*rundir.RawFile) string {
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
