// Package instances starts the instances that a workload needs, keeps those
// that later trials use again, and stops them.
//
// It must not know what runs in an instance, nor how a trial is recorded.
package instances

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"tare/internal/application/secret"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/study"
)

// Config is what instances are started from.
type Config struct {
	Owner *cleanup.Owner
	// Images by their names in the plan; "" is that of all without one of their own. Those
	// that a trial needs are there before it begins.
	Images map[string]*image.Image
	// Session counts the processes that worked on the run, so that no two
	// instances of a run share a name.
	Session int
	// Plan has the limits and the host of each environment.
	Plan *study.Plan
	// Environments are those that are usable, by the plan's names.
	Environments map[string]environment.Environment
	// Host runs the roles that are placed on the host; nil where none can.
	Host environment.Environment
	// OnHosts are the environments that were prepared on hosts of the study, and
	// with Host "" on this machine, where a workload has instances on several.
	OnHosts map[HostSlot]HostEnvironment
	// Node that instances of environments that are Placed run on, or a pair; "" leaves it
	// to them. Beside are the environments of their roles on the host, by the plan's names.
	Node   string
	Beside map[string]environment.Environment
	// Console stores what an instance's kernel or engine prints; nil discards it.
	Console func(instance string) (io.WriteCloser, error)
	// Secrets that commands get, and that are masked in all that instances print.
	Secrets *secret.Set
}

// ImageOf returns the image of a name in a plan's shapes.
func (c *Config) ImageOf(name string) *image.Image {
	if own := c.Images[name]; own != nil {
		return own
	}
	return c.Images[""]
}

// Request asks for the instances of one trial.
type Request struct {
	Block       int
	Environment string
	Shape       study.Shape
	// Application is the one whose services the instances run; nil for none.
	Application *study.Application
	// Fresh is how long instances are used: trial, block or run.
	Fresh string
	// EmptyCache empties the host's page cache before a start.
	EmptyCache bool
	// Cores are those that the instances may use; nil for all.
	Cores []int
}

// key is equal for requests that can use the same instances: those of one
// environment and shape, with the same services, on the same cores, with the same lifetime.
type key struct {
	environment string
	application string
	shape       string
	cores       string
	wholeRun    bool
}

func (r Request) key() key {
	return key{r.Environment, r.Application.Key(), r.Shape.Key(), fmt.Sprint(r.Cores), r.Fresh == "run"}
}

// Pool keeps the started instances in groups, one group for each trial that
// needs them in the same shape. It is used by one goroutine.
type Pool struct {
	Config
	groups map[key]*Group
	failed map[key]error // starts that failed in this block
	named  int           // instances and networks so far
}

// NewPool makes a pool without instances.
func NewPool(c Config) *Pool {
	return &Pool{Config: c, groups: map[key]*Group{}, failed: map[key]error{}}
}

// NextBlock allows the starts that failed in the block before to be tried again.
func (p *Pool) NextBlock() { clear(p.failed) }

// StopOthers stops the instances that must not run at the same time as those of
// the requests: instances of earlier blocks, of other environments and of other
// shapes. Those that live as long as the run stay.
func (p *Pool) StopOthers(keep ...Request) error {
	var errs []error
	for k, g := range p.groups {
		if k.wholeRun || kept(k, g, keep) {
			continue
		}
		errs = append(errs, p.stop(k))
	}
	return errors.Join(errs...)
}

// StopOtherShapes is StopOthers, but also keeps the instances of other
// environments that were started in the same block and in the same shape: they
// wait for the block's next workload.
func (p *Pool) StopOtherShapes(keep ...Request) error {
	var errs []error
	for k, g := range p.groups {
		same := slices.ContainsFunc(keep, func(r Request) bool { return r.Block == g.block && r.key().shape == k.shape })
		if !k.wholeRun && !same {
			errs = append(errs, p.stop(k))
		}
	}
	return errors.Join(errs...)
}

func kept(k key, g *Group, requests []Request) bool {
	return slices.ContainsFunc(requests, func(r Request) bool { return r.key() == k && r.Block == g.block })
}

// Get returns running instances: those that the block or the run has already,
// or new ones. A start that failed is not tried again in the same block.
func (p *Pool) Get(ctx context.Context, r Request) (*Group, error) {
	k := r.key()
	if g := p.groups[k]; g != nil {
		if r.Fresh != "trial" && !g.Lost() {
			return g, nil
		}
		if err := p.stop(k); err != nil {
			return nil, err
		}
	}
	if err := p.failed[k]; err != nil && r.Fresh != "trial" {
		return nil, err
	}
	g, err := p.start(ctx, r)
	if err != nil {
		err = fmt.Errorf("start of %s: %w", r.Environment, err)
		if ctx.Err() == nil {
			p.failed[k] = err
		}
		return nil, err
	}
	p.groups[k] = g
	return g, nil
}

// Release stops the instances of a request, if there are any.
func (p *Pool) Release(r Request) error { return p.stop(r.key()) }

// Close stops every instance that is left.
func (p *Pool) Close() error {
	var errs []error
	for k := range p.groups {
		errs = append(errs, p.stop(k))
	}
	return errors.Join(errs...)
}

func (p *Pool) stop(k key) error {
	g := p.groups[k]
	if g == nil {
		return nil
	}
	delete(p.groups, k)
	return g.stop()
}

func (p *Pool) definition(name string) study.Environment {
	for _, e := range p.Plan.Environments {
		if e.Name == name {
			return e
		}
	}
	return study.Environment{Name: name}
}
