package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"tare/internal/agent"
	"tare/internal/base/bounded"
	"tare/internal/run/trial/instances"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/workload"
)

// Copy is one copy of a workload, or of a neighbour.
type Copy struct {
	kind   string // copy or neighbour
	index  int    // among the copies, from 0
	number int    // in messages and output names, from 1; 0 where there is only one
	name   string // of the workload, for begin steps
	roles  instances.Roles
	load   Load
	find   time.Duration // the wanted length of a sample, for which the amount is to be found
	amount int64         // that was found; 0 for none
	length time.Duration // of a sample with the amount
	like   try           // what was found in another environment; 0 for nothing
	// packs have the parameters, and the addresses as each instance sees them.
	packs  map[*instances.Instance]workload.Pack
	vars   map[*instances.Instance]workload.InstanceVars
	pin    map[string][]int
	divide bool
	record *Record

	loop    loop // of a neighbour
	begun   bool // finish has something to take down
	servers []*server
	// whole and half are the samples of the whole length and of half of it, or those
	// before the rounds that look for a first rate.
	whole, half samples
	clockOff    bool // a warning about the instance's clock was given
	ready       time.Duration
	spent       atomic.Int64 // ns that its commands took in the present operation
}

// samples of one length.
type samples struct {
	pack workload.Pack // of the driver's instance
	// out and errs are the driver's outputs; nil before the first sample.
	out, errs *rundir.RawFile
}

// next is where the output of the next sample goes.
func (s *samples) next(open func(name string) *rundir.RawFile, prefix string) {
	if s.out == nil {
		s.out, s.errs = open(prefix+"stdout"), open(prefix+"stderr")
		return
	}
	s.out.NextSample()
	s.errs.NextSample()
}

// keep closes the outputs.
func (s *samples) keep(record *Record) {
	if s.out != nil {
		record.keep(s.out)
		record.keep(s.errs)
		s.out, s.errs = nil, nil
	}
}

const neighbour = "neighbour"

func newCopies(c Config, kind, name string, load Load, all []instances.Roles) (copies []*Copy, err error) {
	roleNames := load.Pack.RoleNames()
	parameters, find, err := load.Pack.WithSample(load.Parameters, load.Sample)
	if err != nil {
		return nil, err
	}
	load.Parameters = parameters
	for n, roles := range all {
		one := &Copy{
			kind: kind, index: n, number: n + 1, name: name, roles: roles, load: load, find: find, pin: c.Pin, divide: c.Divide, record: c.Record,
			packs: map[*instances.Instance]workload.Pack{}, vars: map[*instances.Instance]workload.InstanceVars{},
		}
		for _, i := range roles.Instances() {
			vars := roles.Vars(i, c.Network, roleNames)
			if c.Network == nil {
				vars.Address = c.Loopback
			}
			one.vars[i] = vars
			if one.packs[i], err = load.Pack.With(load.Parameters, vars); err != nil {
				return nil, err
			}
		}
		if find > 0 && n < len(load.Known.Amounts) {
			if err := one.use(load.Known.Amounts[n], load.Known.Length); err != nil {
				return nil, err
			}
		}
		copies = append(copies, one)
	}
	return copies, nil
}

// named says which of several copies an error is about.
func (c *Copy) named(err error) error {
	if err == nil || c.number == 0 {
		return err
	}
	return fmt.Errorf("%s %d: %w", c.kind, c.number, err)
}

// Roles says which instances play which role.
func (c *Copy) Roles() instances.Roles { return c.roles }

// Pack is the workload with the parameters and the addresses as an instance has
// them.
func (c *Copy) Pack(i *instances.Instance) workload.Pack { return c.packs[i] }

// DriverStep is the driver for a comparison of environments: an amount of work that
// is found for each of them is left open.
func (c *Copy) DriverStep() *workload.Step {
	i := c.Driver()
	if i == nil {
		return nil
	}
	if c.find > 0 {
		if pack, err := c.load.Pack.WithoutAmount(c.load.Parameters, c.vars[i]); err == nil {
			return pack.Driver
		}
	}
	return c.packs[i].Driver
}

// Vars are what the commands of an instance know of the addresses.
func (c *Copy) Vars(i *instances.Instance) workload.InstanceVars { return c.vars[i] }

func (c *Copy) anyPack() workload.Pack { return c.packs[c.roles.Instances()[0]] }

// Driver is the instance that the driver runs in; nil where there is none.
func (c *Copy) Driver() *instances.Instance {
	driver := c.anyPack().Driver
	if driver == nil {
		return nil
	}
	return c.roles.Of(driver.Role)[0]
}

// startServers runs begin and setup and starts the servers.
func (c *Copy) startServers(ctx context.Context) error {
	c.begun = true
	if err := c.begin(ctx); err != nil {
		return err
	}
	err := c.steps(func(p workload.Pack) []workload.Step { return p.Setup }, func(i *instances.Instance, s workload.Step) error {
		return c.step(ctx, i, "setup", s)
	})
	if err != nil {
		return err
	}
	if err := c.checkPortsFree(ctx); err != nil {
		return err
	}
	began := time.Now()
	for n, spec := range c.anyPack().Servers {
		for _, i := range c.roles.Of(spec.Role) {
			if err := c.startServer(ctx, i, c.packs[i].Servers[n]); err != nil {
				return err
			}
		}
	}
	c.ready = time.Since(began)
	return nil
}

func (c *Copy) warmUp(ctx context.Context) error {
	warmup := c.anyPack().Warmup
	if warmup == nil {
		return nil
	}
	for _, i := range c.roles.Of(warmup.Role) {
		if err := c.step(ctx, i, "warmup", *c.packs[i].Warmup); err != nil {
			return err
		}
	}
	return nil
}

// begin runs what the pack wants once in each instance, and registers what it
// wants before the instance stops.
func (c *Copy) begin(ctx context.Context) error {
	first := slices.DeleteFunc(c.roles.Instances(), func(i *instances.Instance) bool { return i.HasRun(c.name) })
	err := c.steps(func(p workload.Pack) []workload.Step { return p.Begin }, func(i *instances.Instance, s workload.Step) error {
		if !slices.Contains(first, i) {
			return nil
		}
		return c.step(ctx, i, "begin", s)
	})
	if err != nil {
		return err
	}
	for _, i := range first {
		i.MarkRun(c.name)
	}
	return c.steps(func(p workload.Pack) []workload.Step { return p.End }, func(i *instances.Instance, s workload.Step) error {
		if slices.Contains(first, i) {
			i.AtStop(func(ctx context.Context) error { return c.step(ctx, i, "end", s) })
		}
		return nil
	})
}

// steps does something with each step of a list in each instance of its role.
func (c *Copy) steps(list func(workload.Pack) []workload.Step, do func(*instances.Instance, workload.Step) error) error {
	for n, step := range list(c.anyPack()) {
		for _, i := range c.roles.Of(step.Role) {
			if err := do(i, list(c.packs[i])[n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// drive takes a sample of one length. The names of its outputs begin with the prefix.
func (c *Copy) drive(ctx context.Context, as *samples, prefix string) (s CopySample, err error) {
	i := c.Driver()
	if c.find > 0 && c.amount == 0 {
		return s, errNotCalibrated
	}
	s.Pack, s.Ready = as.pack, c.ready
	as.next(func(name string) *rundir.RawFile { return c.output(i, name) }, prefix)
	stdout := bounded.Buffer{Limit: bounded.Output}
	err = c.clocked(ctx, i, func() (err error) {
		s.Exit, s.Elapsed, err = c.runDriver(ctx, as.pack, as.out, as.errs, &stdout)
		return err
	})
	s.Stdout = stdout.Bytes()
	return s, err
}

// clocked does something between two readings of an instance's clock, and warns once
// where that differs from the host's. A sample can be too short for that, but what comes
// before the samples is longer, and the instance is not frozen meanwhile.
func (c *Copy) clocked(ctx context.Context, i *instances.Instance, do func() error) error {
	if i == nil {
		return do()
	}
	before, err := i.Agent().Clock(ctx)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := i.Agent().Clock(ctx)
	if err != nil {
		return nil // what was done is, and the next reading says that the instance is lost
	}
	c.record.clocked(before, after)
	if !c.clockOff {
		warnings := clockWarning(before, after)
		c.clockOff = len(warnings) > 0
		c.record.Warn(warnings...)
	}
	return nil
}

// runDriver runs the driver of a pack once. The time is by the host's clock.
func (c *Copy) runDriver(ctx context.Context, pack workload.Pack, out, errs *rundir.RawFile, stdout io.Writer) (exit agent.Exit, took time.Duration, err error) {
	i := c.Driver()
	step := *pack.Driver
	cmd := c.command(i, step, driverTimeout)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, stdout), bounded.Writer(errs, bounded.Output)
	began := time.Now()
	exit, err = i.Agent().Run(ctx, cmd)
	took = time.Since(began)
	c.spent.Add(int64(took))
	if err = wrong(err, step, exit, cmd.Timeout, out, errs); err != nil {
		err = fmt.Errorf("driver %s: %w%s%s", inMessage(step), err, outOfMemory(i), lastLines(errs, out))
	}
	return exit, took, err
}

// clockTolerance is how far the instance's clock may run off the host's without
// a warning.
const clockTolerance = 0.005

// clockWarning compares how far the two clocks moved. They differ only beyond
// what the time of a message can explain.
func clockWarning(before, after agent.ClockReading) []string {
	ratio, uncertainty := agent.ClockDrift(before, after)
	if off := math.Abs(ratio - 1); off > clockTolerance && off > uncertainty {
		return []string{fmt.Sprintf("the instance's clock ran at %.4f of the host's during this trial (uncertain by %.4f): what the driver timed by it is off by as much", ratio, uncertainty)}
	}
	return nil
}

// finish stops the servers, the last one first, and runs the teardown. It may be
// called again, and then does nothing.
func (c *Copy) finish(ctx context.Context) error {
	if !c.begun {
		return nil
	}
	c.begun = false
	c.whole.keep(c.record)
	c.half.keep(c.record)
	var errs []error
	for _, s := range slices.Backward(c.servers) {
		errs = append(errs, s.stop())
	}
	c.servers = nil
	_ = c.steps(func(p workload.Pack) []workload.Step { return p.Teardown }, func(i *instances.Instance, s workload.Step) error {
		if err := c.step(ctx, i, "teardown", s); err != nil {
			c.record.Warn(err.Error())
		}
		return nil
	})
	return errors.Join(errs...)
}

// output is where the output of a command in an instance is kept.
func (c *Copy) output(i *instances.Instance, name string) *rundir.RawFile {
	if i.Index > 1 {
		name = strconv.Itoa(i.Index) + "." + name
	}
	if c.number > 0 {
		name = fmt.Sprintf("%s%d.%s", c.kind, c.number, name)
	}
	return c.record.output(name)
}

// cores that a role is pinned to in an instance.
func (c *Copy) cores(i *instances.Instance, role string) []int {
	if c.divide {
		return c.packs[i].Divide(i.Agent().Hello().Cores)[role]
	}
	if cores := c.pin[study.NeighbourRole]; cores != nil && c.kind == neighbour {
		return cores
	}
	return c.pin[role]
}
