// Package vmm has what the kinds of virtual machines share: templates of disks,
// the lifecycle of a VMM's process in its cgroup, the guest's console, the threads
// of virtual CPUs, and the errors of failed starts. A kind provides the Driver,
// which implements the VMM's protocol, and the VMM's command line.
//
// It must not know any VMM by name, nor workloads, studies or statistics.
package vmm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/environment/support/console"
	"tare/internal/host/cleanup"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/virtnet"
	"tare/internal/usage"
)

// Driver controls one running VMM.
type Driver interface {
	// Open returns when the VMM answers and its guest is configured, but paused.
	Open(ctx context.Context, p *Process) error
	// Go runs the guest. It calls pin with the threads of the virtual CPUs, in
	// order, as soon as they exist: before the guest runs if the VMM allows that.
	Go(ctx context.Context, pin func(threads []int) error) error
	// Agent returns the stream to the guest's agent.
	Agent(ctx context.Context) (io.ReadWriteCloser, error)
	// Pause stops the virtual CPUs, and returns when they stand still.
	Pause(ctx context.Context) error
	// Resume runs a guest after Pause, whether Pause succeeded or not.
	Resume(ctx context.Context) error
	// EffectiveLimits reads back the limits that the VMM itself enforces.
	EffectiveLimits(ctx context.Context, l environment.Limits) ([]environment.EffectiveLimit, error)
	// Quit requests the VMM's exit, and does not wait for it.
	Quit(ctx context.Context)
	// Close releases the driver's resources, also after Open failed.
	Close()
}

// Guest is one guest, from the first step of its start. Its methods are called in
// the order of their declaration; Stop undoes all steps so far.
type Guest struct {
	environment.Started
	Console *console.Console
	// Log, if it is not nil, returns the last lines of the VMM's log.
	Log func() []string

	vmm       string // its name in messages: "QEMU"
	request   environment.Request
	startedAt time.Time

	process *Process
	driver  Driver
	opened  bool // Driver.Open succeeded
	cgroup  string
	limits  []environment.EffectiveLimit // of limits that an option overrides
	traffic usage.Footprint              // where the tap's bytes are counted

	// onStop has the functions that undo the steps of the start, in order.
	onStop []func(context.Context) error
	stop   sync.Once
	end    error

	freezing sync.Mutex
	frozen   bool
}

// New begins a start.
func New(vmm string, r environment.Request) *Guest {
	g := &Guest{Console: console.New(r.Console), vmm: vmm, request: r, startedAt: time.Now()}
	g.More.Freezer, g.More.EffectiveLimits = g, g.effectiveLimits
	return g
}

// OnStop registers a function that undoes a step of the start.
func (g *Guest) OnStop(step func(context.Context) error) { g.onStop = append(g.onStop, step) }

// Note adds a finding about the start.
func (g *Guest) Note(format string, values ...any) {
	g.Findings = append(g.Findings, fmt.Sprintf(format, values...))
}

// Directory creates the guest's directory.
func (g *Guest) Directory() (string, error) {
	dir, err := g.request.Owner.Directory(g.request.Name)
	if err != nil {
		return "", err
	}
	g.OnStop(func(context.Context) error { return os.RemoveAll(dir) })
	return dir, nil
}

// Connect attaches the guest to the request's network, or to a bridge of its own; own is
// nil where it gets none. path is that of a packet.
func (g *Guest) Connect(own func(*cleanup.Owner) (*virtnet.Bridge, error)) (port *virtnet.Port, path string, err error) {
	bridge, joins := g.request.Network.(*virtnet.Bridge)
	switch {
	case g.request.Network != nil && !joins:
		return nil, "", fmt.Errorf("the network of guest %s is not a bridge: another kind of environment created it", g.request.Name)
	case g.request.Network == nil && own == nil:
		return nil, "none", nil
	case g.request.Network == nil:
		if bridge, err = own(g.request.Owner); err != nil {
			return nil, "", err
		}
		g.OnStop(bridge.Close)
	}
	port, err = g.attach(bridge)
	return port, bridge.Path(), err
}

// attach creates a tap at a bridge for the guest.
func (g *Guest) attach(bridge *virtnet.Bridge) (*virtnet.Port, error) {
	port, err := bridge.Tap()
	if err != nil {
		return nil, err
	}
	g.OnStop(func(context.Context) error { return port.Close() })
	g.IP = port.Address.Addr().String()
	g.traffic = usage.Footprint{Devices: []string{port.Device}, Space: bridge.Space()}
	return port, nil
}

// CreateCgroup creates the VMM's cgroup. It has no memory limit: the guest's
// memory is limited by its size, and the VMM's overhead is measured, not limited.
func (g *Guest) CreateCgroup() error {
	r := g.request
	path := r.Owner.Cgroup(r.Name)
	limits := cgroup.Limits{CPUs: r.Limits.CPUs, Cores: r.Limits.Cores}
	group, err := cgroup.Create(path, limits)
	if err != nil {
		return err
	}
	g.cgroup = path
	g.OnStop(func(ctx context.Context) error { return errors.Join(group.Kill(ctx), group.Remove()) })
	return nil
}

var errStartTimeout = errors.New("start_timeout expired")

// Boot starts the VMM in its cgroup, runs the guest, and waits for its agent. Stop
// closes the driver in any case.
func (g *Guest) Boot(ctx context.Context, c Command, d Driver, limit time.Duration) error {
	return g.Run(ctx, c, d, limit, func(ctx context.Context) error {
		stream, err := d.Agent(ctx)
		if err == nil {
			g.Client, err = agent.Connect(ctx, stream)
		}
		if err == nil {
			g.Timeline = Phases(time.Since(g.startedAt), g.Client.Hello())
		}
		return err
	})
}

// Run does what Boot does, but calls a function instead of waiting for the agent.
func (g *Guest) Run(ctx context.Context, c Command, d Driver, limit time.Duration, then func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errStartTimeout)
	defer cancel()
	g.driver = d
	g.OnStop(func(context.Context) error { d.Close(); return nil })
	p, err := start(g.vmm, c, g.Console)
	if err != nil {
		return err
	}
	g.process = p
	release, err := g.request.Owner.Adopt(p.PID, "vmm")
	if err == nil {
		g.OnStop(func(context.Context) error { release(); return nil })
	}
	g.OnStop(func(ctx context.Context) error {
		var quit func(context.Context)
		if g.opened {
			quit = d.Quit
		}
		err := p.end(ctx, quit)
		if err == nil {
			g.NoteExit(time.Now())
		}
		return err
	})
	if err != nil {
		return err
	}
	group, err := cgroup.At(g.cgroup)
	if err == nil {
		err = group.Add(p.PID)
	}
	if err != nil && !p.wait(ctx, 0) {
		return err
	}
	if err := d.Open(ctx, p); err != nil {
		return g.explain(ctx, limit, err)
	}
	g.opened = true
	if err := d.Go(ctx, g.pin); err != nil {
		return g.explain(ctx, limit, err)
	}
	if err := then(ctx); err != nil {
		return g.explain(ctx, limit, err)
	}
	return nil
}

// pin pins each virtual CPU's thread to one core.
func (g *Guest) pin(threads []int) error {
	cores := g.request.Limits.Cores
	if len(cores) == 0 {
		return nil
	}
	for n, thread := range threads {
		core := cores[n%len(cores)]
		var set unix.CPUSet
		set.Set(core)
		if err := unix.SchedSetaffinity(thread, &set); err != nil {
			return fmt.Errorf("pinning virtual CPU %d (thread %d of %s) to core %d: %w", n, thread, g.vmm, core, err)
		}
		if err := unix.SchedGetaffinity(thread, &set); err != nil || !set.IsSet(core) || set.Count() != 1 {
			return fmt.Errorf("virtual CPU %d (thread %d of %s) was pinned to core %d, but may run on %d cores (%v)", n, thread, g.vmm, core, set.Count(), err)
		}
	}
	if len(cores) < len(threads) {
		g.Note("%d virtual CPUs share %d cores", len(threads), len(cores))
	}
	return nil
}

// effectiveLimits adds the driver's to those that an option overrides.
func (g *Guest) effectiveLimits(ctx context.Context, l environment.Limits) ([]environment.EffectiveLimit, error) {
	own, err := g.driver.EffectiveLimits(ctx, l)
	return append(slices.Clone(g.limits), own...), err
}

// EffectiveIO compares the limits of each disk, by its name, with those asked for: one
// holds only if every disk has it.
func EffectiveIO(where string, asked environment.IO, disks map[string]cgroup.Throttle) (limits []environment.EffectiveLimit) {
	throttle := cgroup.Throttle{Read: asked.Read, Write: asked.Write, ReadOps: asked.ReadOps, WriteOps: asked.WriteOps}
	for _, wish := range (cgroup.Limits{IO: throttle}).Requested() {
		wish.Where, wish.Seen, wish.Holds = where, wish.Asked, len(disks) > 0
		if len(disks) == 0 {
			wish.Seen = "no disk"
		}
		for _, name := range slices.Sorted(maps.Keys(disks)) {
			if has := disks[name]; !has.Has(wish) {
				wish.Seen, wish.Holds = fmt.Sprintf("%+v on disk %s", has, name), false
			}
		}
		limits = append(limits, wish)
	}
	return limits
}

// NoteMemoryOption notes that an option of the environment overrides the limit of
// memory.
func (g *Guest) NoteMemoryOption(memory quantity.Bytes) {
	if limit := g.request.Limits.Memory; memory > 0 && limit > 0 && memory != limit {
		g.Note("the option memory gives the guest %s instead of the limit of %s", memory, limit)
		g.limits = append(g.limits, environment.EffectiveLimit{Limit: "memory", Asked: limit.String(),
			Seen: memory.String(), Where: "the option memory", Holds: true})
	}
}

// Phases divides the time of the start into engine (the VMM and the firmware),
// and kernel and agent, as the guest reports them.
func Phases(total time.Duration, h agent.Hello) []environment.Phase {
	own := min(max(h.AgentTime, 0), total)
	kernel := min(max(h.Uptime-own, 0), total-own)
	return []environment.Phase{
		{Name: "engine", Duration: total - kernel - own},
		{Name: "kernel", Duration: kernel},
		{Name: "agent", Duration: own},
	}
}

// Process returns the VMM's process.
func (g *Guest) Process() *Process { return g.process }

// Driver returns the VMM's driver.
func (g *Guest) Driver() Driver { return g.driver }

// RestartClock restarts the clock of the start, after work that is not part of it.
func (g *Guest) RestartClock() { g.startedAt = time.Now() }

// Notes returns the notes of the start, and how the guest died if it did so
// unexpectedly.
func (g *Guest) Notes() []string {
	notes := slices.Clone(g.Findings)
	if death := g.process.unexpectedExit(); death != "" {
		notes = append(notes, g.withLogs(fmt.Sprintf("the guest died unexpectedly (%s)", death)))
	}
	return notes
}

// Footprint returns the VMM's cgroup and the tap.
func (g *Guest) Footprint() usage.Footprint {
	footprint := g.traffic
	footprint.Cgroups, footprint.Role = []string{g.cgroup}, "vmm"
	return footprint
}

// freezeTimeout bounds a freeze, which waits for the guest's disk requests, and a thaw.
const freezeTimeout = 10 * time.Second

// Freeze makes the VMM pause the guest, so that the guest's clocks stand still too. With
// its process frozen instead, the guest would take the time for that of a CPU that hangs.
func (g *Guest) Freeze(ctx context.Context) error {
	g.freezing.Lock()
	defer g.freezing.Unlock()
	if g.frozen {
		return nil
	}
	if err := within(ctx, g.driver.Pause); err != nil {
		err = fmt.Errorf("freezing guest %s: %w", g.request.Name, err)
		return errors.Join(err, within(context.WithoutCancel(ctx), g.driver.Resume))
	}
	g.frozen = true
	return nil
}

// Thaw makes the VMM resume the guest.
func (g *Guest) Thaw(ctx context.Context) error {
	g.freezing.Lock()
	defer g.freezing.Unlock()
	if !g.frozen {
		return nil
	}
	if err := within(ctx, g.driver.Resume); err != nil {
		return fmt.Errorf("thawing guest %s: %w", g.request.Name, err)
	}
	g.frozen = false
	return nil
}

func within(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, freezeTimeout)
	defer cancel()
	return request(ctx)
}

// Stop powers the guest off, ends the VMM in any case, and undoes all steps of the
// start.
func (g *Guest) Stop(ctx context.Context) error {
	g.stop.Do(func() {
		if g.Client != nil {
			g.process.expectExit()
			ctx, cancel := context.WithTimeout(ctx, environment.GuestStop.Terminate)
			_ = g.Thaw(ctx) // one that stays paused is killed below
			if g.Client.Shutdown(ctx) == nil {
				g.process.wait(ctx, environment.GuestStop.Terminate)
			}
			cancel()
			g.Client.Close()
		}
		// Also after the caller's context has ended: nothing may be left behind.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), environment.GuestStop.Kill)
		defer cancel()
		var problems []error
		for _, undo := range slices.Backward(g.onStop) {
			problems = append(problems, undo(ctx))
		}
		g.end = errors.Join(problems...)
	})
	return g.end
}

// LadderGuest declares to ladders that a kind boots a guest: the step into it is one
// part.
func LadderGuest(bridged func(options any) bool) *environment.Guest {
	return &environment.Guest{
		Enter: environment.Part{Key: "vm", Name: "virtual machine", Group: "vm",
			About: "a separate kernel on virtual CPUs and virtio devices"},
		Leave:      environment.Part{Key: "vm", Name: "absence of the virtual machine", Group: "vm"},
		EnterNotes: []string{"the guest's kernel, virtual CPUs and virtio devices are one step: no guest runs without them"},
		Notes: []string{"nested paging is a setting of the host's KVM module for all guests at once (kvm_intel ept=0, kvm_amd npt=0): " +
			"no trial can switch it, and under software emulation there is none"},
		Bridged: bridged,
	}
}
