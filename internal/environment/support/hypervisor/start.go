package hypervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tare/internal/environment"
	"tare/internal/environment/machine"
	"tare/internal/host"
)

// Backend is a hypervisor with what a note stores of it.
type Backend struct {
	Kind string
	Hypervisor
	// At is how to reach the hypervisor again, without secrets. It is marshalled
	// into the note.
	At any
}

// Guest is a started VM with the agent in it. The backend adds what differs
// between hypervisors: the footprint and the paths.
type Guest struct {
	environment.Started
	VM      VM
	Reached string // address of its sshd, "address:port"

	inner     environment.Instance
	host      host.Host
	backend   Backend
	directory string
	note      string // file
	made      bool

	stop sync.Once
	end  error
}

// Begin makes a VM, starts it and returns when its agent has connected. powered is
// called when the VM runs, before its guest answers; it may be nil.
func Begin(ctx context.Context, b Backend, o Options, r environment.Request, powered func(VM) (notes []string, err error)) (_ *Guest, err error) {
	g := &Guest{backend: b}
	g.More.SeparateKernel, g.More.EffectiveLimits = true, g.effectiveLimits
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if g.directory, err = r.Owner.Directory(r.Name); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeoutCause(ctx, o.StartTimeout, errTooLate)
	defer cancel()
	g.VM = VM{Name: o.Template, Template: o.Template, Snapshot: o.Snapshot, Mode: o.Mode, Labels: Labels(r.Owner.Home(), r.Owner.ID())}
	if o.own() {
		g.VM.Name = nameOf(r.Owner, r.Name)
	}
	if err := g.start(within, o, r, powered); err != nil {
		if cause := context.Cause(within); errors.Is(cause, errTooLate) && ctx.Err() == nil {
			err = fmt.Errorf("%w: after start_timeout: %v", err, o.StartTimeout)
		} else if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		return nil, err
	}
	return g, nil
}

var errTooLate = errors.New("start_timeout exceeded")

func (g *Guest) start(ctx context.Context, o Options, r environment.Request, powered func(VM) ([]string, error)) error {
	began := time.Now()
	phase := func(name string) {
		g.Timeline = append(g.Timeline, environment.Phase{Name: name, Duration: time.Since(began)})
		began = time.Now()
	}
	b, v := g.backend, g.VM
	fmt.Fprintf(r.Console, "virtual machine %s of %s, mode %s of template %s\n", v.Name, b.Kind, v.Mode, v.Template)
	var err error
	if g.note, err = (note{v, b.At}).write(r.Owner.Home(), b.Kind, r.Name); err != nil {
		return err
	}
	if err := prepare(ctx, b, v); err != nil {
		g.made = v.Own() // an interrupted clone may exist in part
		return err
	}
	g.made = true
	if err := g.size(ctx, o, r); err != nil {
		return err
	}
	phase(environment.PreparePhase)
	reach, err := b.PowerOn(ctx, v, o.Port)
	if err != nil {
		return err
	}
	if powered != nil {
		notes, err := powered(v)
		g.Findings = append(g.Findings, notes...)
		if err != nil {
			return err
		}
	}
	phase("engine")
	if g.Reached, err = reach(ctx); err != nil {
		return err
	}
	g.IP, _, _ = net.SplitHostPort(g.Reached)
	fmt.Fprintf(r.Console, "its sshd is expected at %s\n", g.Reached)
	if err := g.dial(ctx, o); err != nil {
		return err
	}
	phase("kernel")
	return g.enter(ctx, o, r)
}

// size sets the size that the limits and options require.
func (g *Guest) size(ctx context.Context, o Options, r environment.Request) error {
	cpus, memory := o.size(r.Limits)
	want := Size{CPUs: cpus, Memory: memory, Quota: r.Limits.CPUs, Cores: r.Limits.Cores}
	if o.Mode != Start {
		notes, err := g.backend.Resize(ctx, g.VM, want)
		g.Findings = append(g.Findings, notes...)
		return err
	}
	has, err := g.backend.State(ctx, g.VM.Name)
	if err != nil {
		return err
	}
	if cpus != 0 && has.CPUs != cpus {
		g.Findings = append(g.Findings, fmt.Sprintf("the VM has %d CPUs instead of %d, since mode: start does not change it: the guest sees all of them", has.CPUs, cpus))
	}
	if memory != 0 && has.Memory != memory {
		g.Findings = append(g.Findings, fmt.Sprintf("the VM has %s of memory instead of %s, since mode: start does not change it", has.Memory, memory))
	}
	return nil
}

// dial waits for the guest's sshd. A clone has its template's host key under a new
// address or port, so the key is looked up under an alias.
func (g *Guest) dial(ctx context.Context, o Options) error {
	address, port, err := net.SplitHostPort(g.Reached)
	if err != nil {
		return err
	}
	known := o.KnownHosts
	if o.HostKey != "" {
		known = filepath.Join(g.directory, "known_hosts")
		if err := os.WriteFile(known, []byte(o.alias()+" "+o.HostKey+"\n"), 0o600); err != nil {
			return fmt.Errorf("writing the guest's known_hosts file: %w", err)
		}
	}
	g.host, err = host.WaitSSH(ctx, host.Destination{
		Host: o.User + "@" + address + ":" + port, Identity: o.Identity, KnownHosts: known, KeyAlias: o.alias(),
	})
	if err != nil {
		return fmt.Errorf("virtual machine %s runs, but connecting to its guest over SSH at %s failed (host key alias %s): %w", g.VM.Name, g.Reached, o.alias(), err)
	}
	return nil
}

// enter starts the image inside, under the limits that the VM's size does not
// cover.
func (g *Guest) enter(ctx context.Context, o Options, r environment.Request) error {
	inner := r
	inner.Limits, inner.Network = inside(r.Limits), nil
	i, err := machine.Start(ctx, g.host, o.RootFS, inner)
	if err != nil {
		return fmt.Errorf("inside virtual machine %s: %w", g.VM.Name, err)
	}
	g.inner, g.Client = i, i.Agent()
	for _, p := range i.Phases() {
		if p.Name == environment.PreparePhase { // there is one already
			g.Timeline[0].Duration += p.Duration
			continue
		}
		g.Timeline = append(g.Timeline, p)
	}
	g.Findings = append(g.Findings, i.Notes()...)
	if want, _ := o.size(r.Limits); want > 0 && o.Mode != Start {
		if sees := i.Agent().Hello().CPUs; sees != want {
			g.Findings = append(g.Findings, fmt.Sprintf("the guest sees %d CPUs instead of %d", sees, want))
		}
	}
	return nil
}

// LocalAddress is this machine's address on the route to the guest; "" if it is not
// known.
func (g *Guest) LocalAddress() string {
	if f, knows := g.host.(host.LocalAddresser); knows {
		return f.LocalAddress()
	}
	return ""
}

// Inside is the native instance in the guest.
func (g *Guest) Inside() environment.Instance { return g.inner }

// PathsOn returns the paths inside the guest, on a virtual disk of the hypervisor, and
// its network.
func (g *Guest) PathsOn(disk, network string) environment.Paths {
	paths := g.inner.Paths()
	paths.Network = network
	for _, path := range []*string{&paths.Root, &paths.Data} {
		if *path != "" {
			*path += " on "
		}
		*path += disk
	}
	paths.RootOn, paths.DataOn = "", "" // they describe the guest's file systems, not this machine's
	return paths
}

// ending notes when the VM was off.
type ending struct {
	Hypervisor
	exit *environment.Started
}

func (e ending) PowerOff(ctx context.Context, v VM) error {
	err := e.Hypervisor.PowerOff(ctx, v)
	if err == nil {
		e.exit.NoteExit(time.Now())
	}
	return err
}

// Stop ends the guest's session, and the VM.
func (g *Guest) Stop(ctx context.Context) error {
	g.stop.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), environment.HypervisorStop.Kill)
		defer cancel()
		// The VM ends with everything in it, so errors of the guest's session count
		// only if the VM stays.
		var inside error
		if g.inner != nil {
			brief, cancel := context.WithTimeout(ctx, environment.HypervisorStop.Terminate)
			inside = g.inner.Stop(brief)
			cancel()
		}
		if g.host != nil {
			g.host.Close()
		}
		if g.VM.Mode != Start {
			inside = nil
		}
		var ended error
		if g.made {
			if ended = End(ctx, ending{g.backend, &g.Started}, g.VM); errors.Is(ended, ErrNone) {
				ended = nil
			}
		}
		if ended == nil && g.note != "" {
			os.Remove(g.note)
		}
		g.end = errors.Join(inside, ended)
		if g.directory != "" {
			g.end = errors.Join(g.end, os.RemoveAll(g.directory))
		}
	})
	return g.end
}
