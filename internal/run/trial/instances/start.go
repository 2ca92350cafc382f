package instances

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/base/crash"
	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/study"
	"tare/internal/usage"
)

// Unsupported says that an environment cannot provide what the workload needs:
// a limit of the environment, and no failure.
type Unsupported struct{ Reason string }

func (e *Unsupported) Error() string { return e.Reason }

// DiskError ends a run: no result could be stored any more.
type DiskError struct{ Err error }

func (e *DiskError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the file system.
func (e *DiskError) Unwrap() error { return e.Err }

// start starts all instances that a shape needs.
func (p *Pool) start(ctx context.Context, r Request) (_ *Group, err error) {
	g := &Group{block: r.Block}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.stop())
		}
	}()
	if g.Network, err = p.network(ctx, r); err != nil {
		return nil, err
	}
	for range r.Shape.Copies {
		g.Copies = append(g.Copies, p.assign(g, r, r.Shape))
	}
	if neighbours := r.Shape.Neighbours; neighbours != nil {
		for range neighbours.Copies {
			g.Neighbours = append(g.Neighbours, p.assign(g, r, *neighbours))
		}
	}
	if r.EmptyCache {
		if err := dropCaches(); err != nil {
			return nil, err
		}
	}
	g.HostMemory = usage.AvailableMemory()
	if err := p.makeVolumes(ctx, r, g); err != nil {
		return nil, err
	}
	if err := p.startAll(ctx, r, g); err != nil {
		return nil, err
	}
	for _, roles := range g.Copies {
		if err := roles.nameServices(ctx, g.Network); err != nil {
			return nil, err
		}
	}
	g.recordStart(r.Shape.Single(), r.Shape.Meets())
	return g, nil
}

// assign names the instances of one copy and their roles; it starts nothing.
func (p *Pool) assign(g *Group, r Request, s study.Shape) Roles {
	roles := Roles{apart: map[string][]*Instance{}}
	if s.Together {
		roles.together = &Instance{Name: p.name(r.Block, r.Environment), Index: 1, image: p.ImageOf(s.Image)}
		g.instances = append(g.instances, roles.together)
	}
	for _, role := range s.Roles {
		where := p.environment(r, role.InBaseline)
		if role.OnHost {
			where = "host"
		}
		for n := range role.Count {
			i := &Instance{Name: p.name(r.Block, where), OnHost: role.OnHost, Beside: role.InBaseline, Index: n + 1, image: p.ImageOf(role.Image), service: r.Application.Of(role.Name)}
			if len(role.Hosts) > 0 {
				i.host = role.Hosts[n]
			}
			roles.apart[role.Name] = append(roles.apart[role.Name], i)
			g.instances = append(g.instances, i)
		}
	}
	if tested := lists.Filter(roles.Instances(), (*Instance).Tested); len(tested) > 1 {
		for _, i := range tested {
			i.with = tested[0].Name
		}
	}
	return roles
}

// environment of an instance of a request.
func (p *Pool) environment(r Request, inBaseline bool) string {
	if inBaseline {
		return p.Plan.Baseline
	}
	return r.Environment
}

// name of the next instance.
func (p *Pool) name(block int, environment string) string {
	name := p.networkName(block, environment)
	if p.Session > 1 {
		name += fmt.Sprintf("-s%d", p.Session)
	}
	return name
}

func (p *Pool) networkName(block int, environment string) string {
	p.named++
	return fmt.Sprintf("b%d-%s-%d", block, alphanumeric(environment), p.named)
}

// alphanumeric has letters, digits and dashes alone, as names of instances do.
func alphanumeric(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, name)
}

// network makes the network of a group; nil where none is needed.
func (p *Pool) network(ctx context.Context, r Request) (environment.Network, error) {
	if !r.Shape.Joined {
		return nil, nil
	}
	hosts := r.Shape.On(p.definition(r.Environment).Host)
	if len(hosts) > 1 {
		n, err := p.between(ctx, r, hosts)
		if err != nil {
			return nil, fmt.Errorf("the network between instances on several hosts: %w", err)
		}
		return n, nil
	}
	in := p.Environments[r.Environment]
	if on, prepared := p.OnHosts[HostSlot{r.Environment, hosts[0]}]; prepared {
		in = on.Environment
	}
	n, err := in.NewNetwork(ctx, p.Owner, p.networkName(r.Block, r.Environment))
	if err != nil {
		return nil, fmt.Errorf("the network between instances: %w", err)
	}
	if n == nil && r.Shape.Meets() {
		return nil, &Unsupported{"its instances have no network between them, and the workload needs one"}
	}
	if e, is := n.(environment.Enclosed); is && r.Shape.MeetsHost() {
		return nil, &Unsupported{e.Enclosed()}
	}
	if _, is := n.(environment.HostOnly); is && !r.Shape.MeetsHostOnly() {
		return nil, &Unsupported{"the host alone reaches its instances, and those of the workload connect to each other: place all but one role on the host"}
	}
	return n, nil
}

// startAll starts the instances of a group, at most Shape.Starting at the same
// time, or all where that is 0. After the first failure no further start begins
// and those under way are cancelled. The error is that of the first failure.
func (p *Pool) startAll(ctx context.Context, r Request, g *Group) error {
	// Cancelled when the instances are stopped, as their starts may hold on to it.
	starting, giveUp := context.WithCancel(ctx)
	g.giveUp = giveUp
	limit := r.Shape.Starting
	limit = cmp.Or(limit, len(g.instances))
	var mu sync.Mutex
	var first error
	crash.Each(len(g.instances), limit, func(n int) {
		if starting.Err() != nil {
			return
		}
		i := g.instances[n]
		err := p.startOne(starting, r, i, g.Network)
		mu.Lock()
		defer mu.Unlock()
		if err != nil && first == nil {
			if first = err; len(g.instances) > 1 {
				first = fmt.Errorf("instance %d of %d (%s): %w", n+1, len(g.instances), i.Name, err)
			}
			giveUp()
		}
	})
	if first == nil {
		first = ctx.Err()
	}
	return first
}

// startOne starts one instance and checks that its limits hold.
func (p *Pool) startOne(ctx context.Context, r Request, i *Instance, network environment.Network) error {
	name := p.environment(r, i.Beside)
	in, limits := p.Environments[name], i.limits(p.definition(name).Limits)
	if r.Cores != nil {
		limits.Cores = r.Cores
	}
	slot := p.slot(name, i)
	onHost, prepared := p.OnHosts[slot]
	if prepared {
		in = onHost.Environment
	}
	node, besideNode := study.OfNode(p.Node)
	beside := p.Beside[r.Environment]
	if i.OnHost {
		limits = environment.Limits{}
		switch {
		case beside != nil:
			in, node = beside, besideNode
		case !prepared:
			in = p.Host
		}
		if in == nil {
			return errors.New("the role on the host needs the native environment, which does not work here")
		}
	}
	hosts, severalHosts := network.(hostsNetwork)
	if severalHosts {
		network = hosts.on(slot.Host)
	}
	if i.OnHost && beside == nil {
		network = nil
	}
	if _, placed := in.(environment.Placed); !placed && !(i.OnHost && beside != nil) {
		node = ""
	}
	console, err := p.openConsole(i.Name)
	if err != nil {
		return &DiskError{err}
	}
	instance, err := in.Start(ctx, environment.Request{
		Name: i.Name, Owner: p.Owner, Image: i.image, Limits: limits, Console: console, Network: network, Mounts: slices.Concat(p.Plan.Mounts, i.mounts), Node: node, Beside: i.with,
	})
	if err != nil {
		return errors.Join(startError(ctx, err, limits), console.Close())
	}
	// From here on stop ends it, whatever fails.
	i.Instance, i.console, i.ready = instance, console, time.Now()
	if i.OnHost && beside != nil {
		i.address = instance.Address()
	}
	if severalHosts {
		if i.address, err = hosts.address(i, slot, onHost.Address); err != nil {
			return err
		}
	}
	if _, err := environment.CheckLimits(ctx, instance, limits); err != nil {
		return fmt.Errorf("%s: %w", i.Name, err)
	}
	if err := i.takeSecrets(ctx, p.Secrets); err != nil {
		return err
	}
	if err := i.takeFiles(ctx, p.Secrets); err != nil {
		return err
	}
	return i.takeInputs(ctx, p.Plan.Inputs)
}

// startError adds to the error of a start what may be its cause.
func startError(ctx context.Context, err error, limits environment.Limits) error {
	if errors.Is(err, environment.ErrOneAddress) {
		err = &Unsupported{"its instances would share one address, and the workload needs one for each: put its roles onto several hosts (hosts: and place:)"}
	}
	if hint := limits.ProcessLimitHint(); hint != "" && ctx.Err() == nil && !errors.Is(err, environment.ErrMemoryIO) {
		err = fmt.Errorf("%w%s", err, hint)
	}
	return err
}

func (p *Pool) openConsole(instance string) (io.WriteCloser, error) {
	if p.Console == nil {
		return discard{io.Discard}, nil
	}
	console, err := p.Console(instance)
	if err == nil && p.Secrets != nil {
		console = p.Secrets.Writer(console)
	}
	return console, err
}

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

// dropCaches empties the page cache of the host.
func dropCaches() error {
	unix.Sync() // only clean pages can be dropped
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0); err != nil {
		return fmt.Errorf("emptying the host's page cache: %w: it needs root, outside of containers", err)
	}
	return nil
}
