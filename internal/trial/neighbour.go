package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"tare/internal/agent"
	"tare/internal/study"
)

// leastAtWork is the share of its time that a neighbour must have been at work,
// or the trial carries a warning.
const leastAtWork = 0.95

// neighbours brings them all to work, and returns once their drivers run. The
// context that it returns ends when one of them fails. leave, which is there in
// any case, ends them, and makes what went wrong with them the trial's fate: a
// figure that was measured beside fewer neighbours than the level says is none.
func (m *measurement) neighbours(ctx context.Context) (working context.Context, leave func(error) error, err error) {
	working, stop := context.WithCancelCause(ctx)
	var loops sync.WaitGroup
	leave = func(err error) error {
		failed := context.Cause(working)
		stop(nil)
		loops.Wait()
		if failed != nil && ctx.Err() == nil {
			err = failed // all else is what came of it
		}
		return errors.Join(err, m.each(m.beside, func(p *part) error { return p.leave(ctx) }))
	}
	err = m.each(m.beside, func(p *part) error { return p.prepare(working) })
	if err != nil {
		return working, leave, err
	}
	running := make(chan struct{}, len(m.beside))
	for _, p := range m.beside {
		loops.Go(func() {
			if err := p.keepWorking(working, running); err != nil {
				stop(p.named(err))
			}
		})
	}
	for range m.beside {
		select {
		case <-running:
		case <-working.Done():
			return working, leave, context.Cause(working)
		}
	}
	return working, leave, nil
}

// keepWorking runs a neighbour's driver again and again until the context ends.
// running hears of its first start.
func (p *part) keepWorking(ctx context.Context, running chan<- struct{}) error {
	m := p.driver()
	step := *p.packs[m].Driver
	out, errs := p.output(m, "driver.stdout"), p.output(m, "driver.stderr")
	defer p.keep(errs)
	defer p.keep(out)
	cmd := p.command(step, driverTimeout)
	cmd.Stdout, cmd.Stderr = out, errs
	began, rounds := time.Now(), 0
	var atWork time.Duration
	for ctx.Err() == nil {
		process, err := m.Agent().Start(ctx, cmd)
		var exit agent.Exit
		if err == nil {
			begun := time.Now()
			if rounds++; rounds == 1 {
				running <- struct{}{}
			}
			exit, err = process.Wait(ctx)
			atWork += time.Since(begun)
		}
		if ctx.Err() != nil {
			kill(process)
			break
		}
		if err == nil && !accepted(step, exit) {
			err = errors.New(ending(exit, cmd.Timeout))
		}
		if err != nil {
			return fmt.Errorf("driver %s: %w%s", quoted(step), err, lastLines(errs, out))
		}
	}
	if share := float64(atWork) / float64(time.Since(began)); rounds > 1 && share < leastAtWork {
		p.warn(fmt.Sprintf("neighbour %d was at work for %.0f%% of the time: its driver ended and was begun again, %d × in all; give it longer", p.number, 100*share, rounds-1))
	}
	return nil
}

// kill ends a command that the context no longer waits for.
func kill(process *agent.Process) {
	if process == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if process.Signal(ctx, syscall.SIGKILL) == nil {
		process.Wait(ctx)
	}
}

// cores are those that a role is pinned to.
func (p *part) cores(role string) []int {
	pin := p.runner.Plan.Pin
	if cores := pin[study.NeighbourRole]; cores != nil && slices.Contains(p.beside, p) {
		return cores
	}
	return pin[role]
}
