package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"tare/internal/agent"
	"tare/internal/base/crash"
)

// leastBusy is the share of its time that a neighbour's driver must have run, or
// the trial gets a warning.
const leastBusy = 0.95

// killTimeout is how long a killed driver may take to exit.
const killTimeout = 10 * time.Second

// neighbours run their drivers over and over while the copies are measured. Without
// copies nothing works.
type neighbours struct {
	copies []*Copy
	// working ends when a neighbour fails, with its error as the cause, or when
	// they are stopped.
	working context.Context
	end     context.CancelCauseFunc
	loops   sync.WaitGroup
	paused  bool
}

// loop is what a neighbour's driver needs to be paused: the goroutine that starts or pauses it
// holds the lock, until it goes on.
type loop struct {
	sync.Mutex
	process *agent.Process // nil before the first one
	since   time.Time      // of the pause
	paused  time.Duration  // in all
}

func (l *loop) unpause() {
	l.paused += time.Since(l.since)
	l.Unlock()
}

var errStopped = errors.New("the neighbours were stopped")

// start prepares all neighbours, and returns once their drivers run.
func (n *neighbours) start(ctx context.Context, w *Workload) error {
	if len(n.copies) == 0 {
		return nil
	}
	n.working, n.end = context.WithCancelCause(context.WithoutCancel(ctx))
	err := w.each(n.copies, func(c *Copy) error {
		if err := c.startServers(ctx); err != nil {
			return err
		}
		if err := c.warmUp(ctx); err != nil {
			return err
		}
		return c.calibrate(ctx)
	})
	if err != nil {
		return err
	}
	running := make(chan struct{}, len(n.copies))
	for _, c := range n.copies {
		n.loops.Go(func() {
			defer crash.Exit()
			if err := c.driveRepeatedly(n.working, running); err != nil {
				n.end(c.named(err))
			}
		})
	}
	for range n.copies {
		select {
		case <-running:
		case <-n.working.Done():
			return context.Cause(n.working)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// while is a context that also ends when a neighbour fails: a value that was measured
// with fewer neighbours than the level says would be wrong.
func (n *neighbours) while(ctx context.Context) (context.Context, func()) {
	if n.working == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	detach := context.AfterFunc(n.working, func() { cancel(context.Cause(n.working)) })
	return ctx, func() {
		detach()
		cancel(nil)
	}
}

// failure is the error of the neighbour that failed first; nil where none has.
func (n *neighbours) failure() error {
	if n.working == nil {
		return nil
	}
	if cause := context.Cause(n.working); !errors.Is(cause, errStopped) {
		return cause
	}
	return nil
}

// pause stops the drivers until resume, so that they do not disturb the samples of other
// environments.
func (n *neighbours) pause(ctx context.Context, w *Workload) error {
	if n.paused || n.working == nil || n.failure() != nil {
		return nil
	}
	n.paused = true
	return w.each(n.copies, func(c *Copy) error {
		c.loop.Lock()
		c.loop.since = time.Now()
		return c.signalDriver(ctx, syscall.SIGSTOP)
	})
}

// resume lets the drivers go on.
func (n *neighbours) resume(ctx context.Context, w *Workload) error {
	if !n.paused {
		return nil
	}
	n.paused = false
	return w.each(n.copies, func(c *Copy) error {
		defer c.loop.unpause()
		return c.signalDriver(ctx, syscall.SIGCONT)
	})
}

// signalDriver signals the driver of a neighbour, unless it has just exited.
func (c *Copy) signalDriver(ctx context.Context, signal syscall.Signal) error {
	if c.loop.process == nil {
		return nil
	}
	if err := c.loop.process.Signal(ctx, signal); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// stop ends the drivers and returns the failure, if there was one before.
func (n *neighbours) stop() error {
	if n.working == nil {
		return nil
	}
	n.end(errStopped)
	if n.paused { // a loop may wait to start its driver again
		for _, c := range n.copies {
			c.loop.unpause()
		}
	}
	n.loops.Wait()
	return n.failure()
}

// driveRepeatedly runs the driver over and over until the context ends. It sends
// to running when the first one has started.
func (c *Copy) driveRepeatedly(ctx context.Context, running chan<- struct{}) error {
	i := c.Driver()
	step := *c.packs[i].Driver
	out, errs := c.output(i, "driver.stdout"), c.output(i, "driver.stderr")
	defer c.record.keep(errs)
	defer c.record.keep(out)
	cmd := c.command(i, step, driverTimeout)
	cmd.Stdout, cmd.Stderr = out, errs
	began, rounds := time.Now(), 0
	var idle time.Duration
	for ended := began; ctx.Err() == nil; ended = time.Now() {
		waiting := time.Now()
		c.loop.Lock()
		waited := time.Since(waiting) // in a pause
		process, err := i.Agent().Start(ctx, cmd)
		c.loop.process = process
		c.loop.Unlock()
		var exit agent.Exit
		if err == nil {
			idle += time.Since(ended) - waited
			if rounds++; rounds == 1 {
				running <- struct{}{}
			}
			exit, err = process.Wait(ctx)
		}
		if ctx.Err() != nil {
			kill(process)
			break
		}
		if err = wrong(err, step, exit, cmd.Timeout, out, errs); err != nil {
			return fmt.Errorf("driver %s: %w%s", inMessage(step), err, lastLines(errs, out))
		}
	}
	c.loop.Lock()
	defer c.loop.Unlock()
	if share := 1 - float64(idle)/float64(time.Since(began)-c.loop.paused); rounds > 1 && share < leastBusy {
		c.record.Warn(fmt.Sprintf("neighbour %d was busy for %.0f%% of the time: its driver exited and was started again %d times; let it run longer", c.number, 100*share, rounds-1))
	}
	return nil
}

// kill ends a command that the context no longer waits for.
func kill(process *agent.Process) {
	if process == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	if process.Signal(ctx, syscall.SIGKILL) == nil {
		_, _ = process.Wait(ctx)
	}
}
