// Package vmm is what virtual machines share, whatever program runs them: the
// files that every guest gets a fresh copy of, the life of a VMM's process from
// its cgroup to its end, the guest's console, the threads of its virtual CPUs,
// and the message where a start fails. A kind of environment brings the Driver,
// which speaks the VMM's own protocol, and the words of its command line.
//
// It must not know any VMM by name, nor workloads, studies or statistics.
package vmm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/virtnet"
	"tare/internal/quantity"
	"tare/internal/sample"
)

// Driver speaks to one running VMM.
type Driver interface {
	// Open returns when the VMM answers and knows its guest, which does not run.
	Open(ctx context.Context, p *Process) error
	// Go lets the guest run. Pin is called with the threads of the virtual CPUs,
	// in their order, as soon as they exist: before the guest runs where the VMM
	// allows that.
	Go(ctx context.Context, pin func(threads []int) error) error
	// Agent is the channel to the agent inside.
	Agent(ctx context.Context) (io.ReadWriteCloser, error)
	// Quit asks the VMM to end. Whether it does is looked at by others.
	Quit(ctx context.Context)
	// Close gives back what the driver holds, also where Open failed.
	Close()
}

// Guest is one guest from the first step of its start on. Its methods are
// called in the order in which they stand here; Stop takes back whatever was
// done until then.
type Guest struct {
	Console *Tail
	// Log, if it is not nil, reads what the VMM wrote to its log.
	Log func() []string

	vmm     string // its name in messages: "QEMU"
	request environment.Request
	began   time.Time

	client  *agent.Client
	process *Process
	driver  Driver
	opened  bool // the VMM answered and took its guest
	cgroup  string
	phases  []environment.Phase
	notes   []string
	sights  []environment.Sight // of limits that an option replaces
	paths   environment.Paths
	facts   map[string]string
	address string
	traffic sample.Footprint // where the tap's bytes are counted

	// undo holds what takes back each step of the start, in its order.
	undo []func(context.Context) error
	stop sync.Once
	end  error
}

// New begins a start.
func New(vmm string, r environment.Request) *Guest {
	return &Guest{Console: &Tail{to: r.Console}, vmm: vmm, request: r, began: time.Now()}
}

// OnStop registers what takes a step of the start back.
func (g *Guest) OnStop(step func(context.Context) error) { g.undo = append(g.undo, step) }

// Note adds a finding about the start.
func (g *Guest) Note(format string, values ...any) {
	g.notes = append(g.notes, fmt.Sprintf(format, values...))
}

// Directory makes the guest's own folder.
func (g *Guest) Directory() (string, error) {
	folder, err := g.request.Owner.Directory(g.request.Name)
	if err != nil {
		return "", err
	}
	g.OnStop(func(context.Context) error { return os.RemoveAll(folder) })
	return folder, nil
}

// JoinNetwork takes a place at the network between the guests, if there is one.
func (g *Guest) JoinNetwork() (*virtnet.Port, error) {
	if g.request.Network == nil {
		return nil, nil
	}
	bridge, ok := g.request.Network.(*virtnet.Bridge)
	if !ok {
		return nil, fmt.Errorf("the network that guest %s shall join is no bridge: another environment made it", g.request.Name)
	}
	return g.AttachBridge(bridge)
}

// AttachBridge takes a place at a bridge.
func (g *Guest) AttachBridge(bridge *virtnet.Bridge) (*virtnet.Port, error) {
	port, err := bridge.Tap()
	if err != nil {
		return nil, err
	}
	g.OnStop(func(context.Context) error { return port.Close() })
	g.address = port.Address.Addr().String()
	g.traffic = sample.Footprint{Devices: []string{port.Device}, Space: bridge.Space()}
	return port, nil
}

// CreateCgroup makes the group that the VMM will run in. The guest's memory is
// limited by its size; the VMM's own comes on top and is counted, not limited.
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

var errTooLate = errors.New("the time to start in is over")

// Boot starts the VMM, puts it where it belongs, lets the guest go, and waits
// for its agent. The driver is closed at the end of the guest in any case.
func (g *Guest) Boot(ctx context.Context, c Command, d Driver, limit time.Duration) error {
	return g.Run(ctx, c, d, limit, func(ctx context.Context) error {
		stream, err := d.Agent(ctx)
		if err == nil {
			g.client, err = agent.Connect(ctx, stream)
		}
		if err == nil {
			g.phases = Phases(time.Since(g.began), g.client.Hello())
		}
		return err
	})
}

// Run does all that Boot does, and what the caller likes in place of waiting
// for the agent.
func (g *Guest) Run(ctx context.Context, c Command, d Driver, limit time.Duration, then func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTooLate)
	defer cancel()
	g.driver = d
	g.OnStop(func(context.Context) error { d.Close(); return nil })
	p, err := spawn(g.vmm, c, g.Console)
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
		return p.end(ctx, quit)
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

// pin puts each virtual CPU's thread on one core.
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
			return fmt.Errorf("virtual CPU %d (thread %d of %s) was pinned to core %d, and may run on %d cores (%v)", n, thread, g.vmm, core, set.Count(), err)
		}
	}
	if len(cores) < len(threads) {
		g.Note("%d virtual CPUs share %d cores", len(threads), len(cores))
	}
	return nil
}

// Sights are those of the limits that the VMM itself sets and can be asked for.
func (g *Guest) Sights(ctx context.Context, l environment.Limits) ([]environment.Sight, error) {
	sights := slices.Clone(g.sights)
	if b, knows := g.driver.(environment.Bounded); knows {
		own, err := b.Sights(ctx, l)
		if err != nil {
			return nil, err
		}
		sights = append(sights, own...)
	}
	return sights, nil
}

// NoteMemoryOption says that an option of the environment gives the guest its memory, in
// place of the limit.
func (g *Guest) NoteMemoryOption(memory quantity.Bytes) {
	if limit := g.request.Limits.Memory; memory > 0 && limit > 0 && memory != limit {
		g.Note("the option memory gives the guest %s, in place of the limit of %s", memory, limit)
		g.sights = append(g.sights, environment.Sight{Limit: "memory", Asked: limit.String(),
			Seen: memory.String(), Where: "the option memory", Holds: true})
	}
}

// Phases divides the start: what the guest's kernel and agent say of
// themselves, and before them the engine, which is the VMM and the firmware.
func Phases(total time.Duration, h agent.Hello) []environment.Phase {
	own := min(max(h.AgentTime, 0), total)
	kernel := min(max(h.Uptime-own, 0), total-own)
	return []environment.Phase{
		{Name: "engine", Duration: total - kernel - own},
		{Name: "kernel", Duration: kernel},
		{Name: "agent", Duration: own},
	}
}

// SetPhases says how the start divides where the guest does not know.
func (g *Guest) SetPhases(phases []environment.Phase) { g.phases = phases }

// SetPaths says what lies between the guest and the machine.
func (g *Guest) SetPaths(p environment.Paths) { g.paths = p }

// SetFacts says what only the VMM knows of the guest.
func (g *Guest) SetFacts(facts map[string]string) { g.facts = facts }

// Facts that only the VMM knows.
func (g *Guest) Facts() map[string]string { return g.facts }

// Process is the VMM's.
func (g *Guest) Process() *Process { return g.process }

// Driver that speaks to the VMM.
func (g *Guest) Driver() Driver { return g.driver }

// RestartClock says that the start begins only now: what came before was tare's own
// work.
func (g *Guest) RestartClock() { g.began = time.Now() }

// StartedAt is the time of the call that began the start.
func (g *Guest) StartedAt() time.Time { return g.began }

// Agent inside.
func (g *Guest) Agent() *agent.Client { return g.client }

// Address at the network between the guests.
func (g *Guest) Address() string { return g.address }

// Phases of the start.
func (g *Guest) Phases() []environment.Phase { return g.phases }

// Paths between the guest and the machine.
func (g *Guest) Paths() environment.Paths { return g.paths }

// Notes of the start, and how the guest died if it did so by itself.
func (g *Guest) Notes() []string {
	notes := slices.Clone(g.notes)
	if death := g.process.obituary(); death != "" {
		notes = append(notes, g.lastWords(fmt.Sprintf("the guest died by itself (%s)", death)))
	}
	return notes
}

// Footprint is the one group that the VMM runs in with all its threads, and the
// tap.
func (g *Guest) Footprint() sample.Footprint {
	footprint := g.traffic
	footprint.Cgroups, footprint.Role = []string{g.cgroup}, "vmm"
	return footprint
}

// Stop powers the guest off, ends the VMM whatever the guest does, and takes
// back every step of the start.
func (g *Guest) Stop(ctx context.Context) error {
	g.stop.Do(func() {
		if g.client != nil {
			g.process.expect()
			asked, cancel := context.WithTimeout(ctx, patience)
			if g.client.Shutdown(asked) == nil {
				g.process.wait(asked, patience)
			}
			cancel()
			g.client.Close()
		}
		// Also when the caller's patience is over: nothing may stay.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 4*patience)
		defer cancel()
		var problems []error
		for _, undo := range slices.Backward(g.undo) {
			problems = append(problems, undo(ctx))
		}
		g.end = errors.Join(problems...)
	})
	return g.end
}
