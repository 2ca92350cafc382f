// Package lifecycle runs the commands of a workload on instances that are up:
// Prepare and Calibrate bring it to where it can be measured, Sample measures it once,
// or HalfSample with half the length, and Finish takes it down again. A caller may
// interleave the operations of several workloads as it likes, such as samples of
// one workload on two instances in turn.
//
// It must not know how instances are started, which figures come out of a
// sample, nor how a trial is recorded.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/agent"
	"tare/internal/base/crash"
	"tare/internal/environment"
	"tare/internal/run/trial/instances"
	"tare/internal/workload"
)

// Config says what runs where.
type Config struct {
	// Name of the workload: begin steps run once for each name in an instance.
	Name string
	Load Load
	// Copies are the roles of the instances, one element a copy.
	Copies []instances.Roles
	// Neighbour is what disturbs the copies; used where Neighbours are given.
	Neighbour  Load
	Neighbours []instances.Roles
	// Alternating pauses the neighbours while no sample is taken, as those of other
	// environments are taken then.
	Alternating bool
	Network     environment.Network // between the instances; nil for none
	// Loopback is the address of servers where there is no network: "" is 127.0.0.1.
	Loopback string
	Pin      map[string][]int // role → cores
	Divide   bool             // the cores of an instance among the roles, where Pin is nil
	Record   *Record
}

// Load is a pack with its parameters.
type Load struct {
	Pack       workload.Pack
	Parameters map[string]string
	// Sample is how long each sample shall be; 0 is what the parameters say.
	Sample time.Duration
	// Known was found for this length before and is not sought again.
	Known Work
}

// Work is what the search for a length of samples found.
type Work struct {
	Amounts []int64       // one a copy
	Length  time.Duration // of a sample, as expected
}

// Workload is one pack on running instances: in one copy, or in several that
// run at the same time.
type Workload struct {
	name       string
	copies     []*Copy
	neighbours *neighbours
	alternates bool
	prepared   bool
	reported   bool // the failure of a neighbour was returned
	spent      time.Duration
}

// New puts the parameters and addresses into the pack's commands. It runs none.
func New(c Config) (*Workload, error) {
	w := &Workload{name: c.Name, alternates: c.Alternating, neighbours: &neighbours{}}
	var err error
	if w.copies, err = newCopies(c, "copy", c.Name, c.Load, c.Copies); err != nil {
		return nil, err
	}
	if len(w.copies) == 1 {
		w.copies[0].number = 0
	}
	if len(c.Neighbours) > 0 {
		list, err := newCopies(c, neighbour, c.Name+"'s neighbour", c.Neighbour, c.Neighbours)
		if err != nil {
			return nil, err
		}
		w.neighbours.copies = list
	}
	return w, nil
}

// Prepare starts the neighbours and keeps them at work, runs the setup of each
// copy, starts its servers and warms it up. The begin steps of an instance run before,
// at the first workload of this name in it. The context bounds Prepare alone: servers
// and neighbours go on until Finish.
func (w *Workload) Prepare(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, w.pauseNeighbours(ctx)) }()
	if err := w.neighbours.start(ctx, w); err != nil {
		return w.failure(err)
	}
	return w.run(ctx, func(ctx context.Context, c *Copy) error {
		return c.clocked(ctx, c.Driver(), func() error {
			if err := c.startServers(ctx); err != nil {
				return err
			}
			return c.warmUp(ctx)
		})
	})
}

// Calibrate finds the amount of work for the wanted length of a sample, in all copies
// at the same time, as in a sample. What was found for this length in another
// environment is used if a sample takes about as long here.
func (w *Workload) Calibrate(ctx context.Context, like Work) (err error) {
	defer func() { err = errors.Join(err, w.pauseNeighbours(ctx)) }()
	return w.run(ctx, func(ctx context.Context, c *Copy) error {
		if c.index < len(like.Amounts) {
			c.like = try{like.Amounts[c.index], like.Length}
		}
		return c.calibrate(ctx)
	})
}

// StartServers is Prepare without neighbours and warm-up.
func (w *Workload) StartServers(ctx context.Context) error {
	return w.run(ctx, func(ctx context.Context, c *Copy) error { return c.startServers(ctx) })
}

func (w *Workload) run(ctx context.Context, prepare func(context.Context, *Copy) error) error {
	ctx, done := w.neighbours.while(ctx)
	defer done()
	if err := w.failure(w.neighbours.resume(ctx, w)); err != nil {
		return err
	}
	if err := w.each(w.copies, func(c *Copy) error { return prepare(ctx, c) }); err != nil {
		return w.failure(err)
	}
	w.prepared = true
	return nil
}

// Sample runs the drivers of all copies once, at the same time. It may be called
// any number of times between Prepare and Finish.
func (w *Workload) Sample(ctx context.Context) (Sample, error) {
	return w.sample(ctx, func(ctx context.Context, c *Copy) (CopySample, error) {
		c.whole.pack = c.packs[c.Driver()]
		return c.drive(ctx, &c.whole, "driver.")
	})
}

func (w *Workload) sample(ctx context.Context, drive func(context.Context, *Copy) (CopySample, error)) (s Sample, err error) {
	if !w.prepared {
		return s, fmt.Errorf("workload %s: a sample was asked for before the workload was prepared", w.name)
	}
	ctx, done := w.neighbours.while(ctx)
	defer done()
	if err := w.failure(w.neighbours.resume(ctx, w)); err != nil {
		return s, err
	}
	s.Copies = make([]CopySample, len(w.copies))
	began := time.Now()
	err = w.each(w.copies, func(c *Copy) (err error) {
		running, done := c.whileServersRun(ctx)
		defer done()
		s.Copies[c.index], err = drive(running, c)
		return err
	})
	s.Elapsed = time.Since(began)
	if err = errors.Join(err, w.pauseNeighbours(ctx)); err != nil {
		return s, w.failure(err)
	}
	return s, nil
}

func (w *Workload) pauseNeighbours(ctx context.Context) error {
	if !w.alternates {
		return nil
	}
	return w.neighbours.pause(ctx, w)
}

// Sample is what one run of the drivers gave.
type Sample struct {
	Copies  []CopySample
	Elapsed time.Duration // until the last driver ended, by the host's clock
}

// CopySample is the sample of one copy.
type CopySample struct {
	Exit    agent.Exit
	Elapsed time.Duration // of the driver, by the host's clock
	Stdout  []byte
	// Pack is the workload as the driver's instance has it, with parameters and
	// addresses in place.
	Pack workload.Pack
	// Ready is the time from the start of the first server until the last one
	// answered.
	Ready time.Duration
}

// finishTimeout is how long teardown may take where the context has ended.
const finishTimeout = 10 * time.Second

// Finish stops the servers, the last one first, runs the teardown, and stops the
// neighbours. It has to be called after every Prepare, also a failed one, and
// works after the context has ended. A server that exited before, and a neighbour
// that failed, are errors; a failed teardown is a warning.
func (w *Workload) Finish(ctx context.Context) error {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
		defer cancel()
	}
	w.prepared = false
	err := w.each(w.copies, func(c *Copy) error { return c.finish(ctx) })
	failed := w.neighbours.stop()
	switch {
	case w.reported:
		err = nil
	case failed != nil:
		err = failed // whatever else went wrong is a consequence
	}
	return errors.Join(err, w.each(w.neighbours.copies, func(c *Copy) error { return c.finish(ctx) }))
}

// Spent is the time that the workload's own commands took so far: of each
// operation, in the slowest copy.
func (w *Workload) Spent() time.Duration { return w.spent }

// Work is what was found for the wanted length; none where the driver keeps the length
// itself, or the parameters have the amount.
func (w *Workload) Work() (found Work) {
	for _, c := range w.copies {
		if c.amount > 0 {
			found.Amounts, found.Length = append(found.Amounts, c.amount), max(found.Length, c.length)
		}
	}
	return found
}

// Copies of the workload.
func (w *Workload) Copies() []*Copy { return w.copies }

// failure is the error of an operation: a neighbour's, where one has failed, as
// the operation's own is a consequence of it.
func (w *Workload) failure(err error) error {
	if failed := w.neighbours.failure(); failed != nil {
		w.reported = true
		return failed
	}
	return err
}

// each does something with all copies at the same time. The errors are in the
// order of the copies.
func (w *Workload) each(copies []*Copy, do func(*Copy) error) error {
	errs := make([]error, len(copies))
	crash.Each(len(copies), len(copies), func(n int) {
		copies[n].spent.Store(0)
		errs[n] = copies[n].named(do(copies[n]))
	})
	slowest := time.Duration(0)
	for _, c := range copies {
		slowest = max(slowest, time.Duration(c.spent.Load()))
	}
	w.spent += slowest
	return errors.Join(errs...)
}
