package qemu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/cgroup"
	"tare/internal/environment"
	"tare/internal/environment/link"
	"tare/internal/sample"
)

// instance is one guest.
type instance struct {
	client  *agent.Client
	vmm     *vmm
	cgroup  string
	console *tail
	phases  []environment.Phase
	notes   []string
	address string
	traffic sample.Footprint // where the tap's bytes are counted

	// undo holds what takes back each step of the start, in its order.
	undo []func(context.Context) error
	stop sync.Once
	end  error
}

// Start boots a guest and returns at its agent's first word.
func (e *vm) Start(ctx context.Context, r environment.Request) (_ environment.Instance, err error) {
	begin := time.Now()
	i := &instance{console: &tail{to: r.Console}}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.Stop(context.WithoutCancel(ctx)))
		}
	}()
	guest, root, data, err := e.parts(ctx, r.Image)
	if err != nil {
		return nil, err
	}
	folder, err := r.Owner.Folder(r.Name)
	if err != nil {
		return nil, err
	}
	i.undo = append(i.undo, func(context.Context) error { return os.RemoveAll(folder) })
	m := e.machine(r, guest, folder)
	if m.port, err = i.join(r); err != nil {
		return nil, err
	}
	if err := e.options.check(m); err != nil {
		return nil, err
	}
	if err := errors.Join(root.write(m.root), data.write(m.data)); err != nil {
		return nil, fmt.Errorf("writing the disks of guest %s: %w", r.Name, err)
	}
	if err := i.confine(r); err != nil {
		return nil, err
	}
	if err := i.boot(ctx, e, r, m); err != nil {
		return nil, err
	}
	i.phases = phases(time.Since(begin), i.client.Hello())
	if n := len(r.Limits.Cores); n > 0 && n < m.cpus {
		i.notes = append(i.notes, fmt.Sprintf("%d virtual CPUs share %d cores", m.cpus, n))
	}
	if r.Limits.PIDs > 0 {
		i.notes = append(i.notes, "the limit on processes does not reach into a guest: its kernel counts its own")
	}
	return i, nil
}

// join takes a place at the network between the guests.
func (i *instance) join(r environment.Request) (*link.Port, error) {
	if r.Network == nil {
		return nil, nil
	}
	bridge, ok := r.Network.(*link.Bridge)
	if !ok {
		return nil, fmt.Errorf("the network that guest %s shall join is no bridge: another environment made it", r.Name)
	}
	port, err := bridge.Tap()
	if err != nil {
		return nil, err
	}
	i.undo = append(i.undo, func(context.Context) error { return port.Close() })
	i.address = port.Address.Addr().String()
	i.traffic = sample.Footprint{Devices: []string{port.Device}, Space: bridge.Space()}
	return port, nil
}

// confine makes the group that QEMU will run in. The guest's memory is limited
// by its size; QEMU's own comes on top and is counted, not limited.
func (i *instance) confine(r environment.Request) error {
	i.cgroup = r.Owner.Cgroup(r.Name)
	limits := cgroup.Limits{CPUs: r.Limits.CPUs, Cores: r.Limits.Cores}
	group, err := cgroup.Create(i.cgroup, limits)
	if err != nil {
		return err
	}
	i.undo = append(i.undo, func(ctx context.Context) error {
		return errors.Join(group.Kill(ctx), group.Remove())
	})
	i.notes = append(i.notes, group.Verify(limits)...)
	return nil
}

// boot starts QEMU, puts it where it belongs while the guest stands still, lets
// the guest go, and waits for its agent.
func (i *instance) boot(ctx context.Context, e *vm, r environment.Request, m machine) error {
	ctx, cancel := context.WithTimeoutCause(ctx, e.options.StartTimeout, errTooLate)
	defer cancel()
	v, err := spawn(e.options.arguments(m), m.port, i.console)
	if err != nil {
		return err
	}
	i.vmm = v
	i.undo = append(i.undo, func(ctx context.Context) error {
		defer v.close()
		return v.end(ctx)
	})
	release, err := r.Owner.Adopt(v.pid, "vmm")
	if err != nil {
		return err
	}
	i.undo = slices.Insert(i.undo, len(i.undo)-1, func(context.Context) error { release(); return nil })
	group, err := cgroup.At(i.cgroup)
	if err == nil {
		err = group.Add(v.pid)
	}
	if err != nil && !v.wait(ctx, 0) {
		return err
	}
	if err := v.negotiate(ctx); err != nil {
		return i.explain(ctx, e, err)
	}
	if err := v.pin(ctx, r.Limits.Cores); err != nil {
		return i.explain(ctx, e, err)
	}
	if err := v.monitor.Execute(ctx, "cont", nil, nil); err != nil {
		return i.explain(ctx, e, err)
	}
	if i.client, err = agent.Connect(ctx, v.agentEnd); err != nil {
		return i.explain(ctx, e, err)
	}
	return nil
}

var errTooLate = errors.New("the time to start in is over")

// explain tells a guest that died from one that never answered, and quotes
// what it and QEMU printed last.
func (i *instance) explain(ctx context.Context, e *vm, err error) error {
	// A connection that broke is QEMU's end, which then follows at once.
	dead := i.vmm.wait(ctx, haste)
	var text strings.Builder
	switch why := i.vmm.why(); {
	case dead && i.vmm.monitor == nil:
		fmt.Fprintf(&text, "QEMU ended before the guest began (%s)", ending(i.vmm.status))
	case dead && why == "":
		fmt.Fprintf(&text, "QEMU died before the guest's agent said a word (%s)", ending(i.vmm.status))
	case dead:
		fmt.Fprintf(&text, "the guest died before its agent said a word (%s)", why)
	case errors.Is(context.Cause(ctx), errTooLate) && i.vmm.monitor == nil:
		fmt.Fprintf(&text, "QEMU runs, but did not answer within start_timeout, %v", e.options.StartTimeout)
	case errors.Is(context.Cause(ctx), errTooLate):
		fmt.Fprintf(&text, "the guest runs, but its agent said nothing within start_timeout, %v", e.options.StartTimeout)
	default:
		fmt.Fprintf(&text, "starting a guest: %v", err)
	}
	quote(&text, "the last lines of its console", i.console.lines())
	quote(&text, "QEMU's own messages", i.vmm.stderr.lines())
	if len(i.console.lines()) == 0 && i.vmm.monitor != nil && ctx.Err() == nil {
		text.WriteString("\nthe console is empty: kernel_args: loglevel=7 makes the kernel say more")
	}
	return &startError{text.String(), err}
}

// startError is a start that failed, with the story instead of the bare cause.
type startError struct {
	text  string
	cause error
}

func (e *startError) Error() string { return e.text }
func (e *startError) Unwrap() error { return e.cause }

func quote(text *strings.Builder, what string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(text, "\n%s:", what)
	for _, line := range lines {
		text.WriteString("\n  " + line)
	}
}

// phases divides the start: what the guest's kernel and agent say of
// themselves, and before them the engine, which is QEMU and the firmware.
func phases(total time.Duration, h agent.Hello) []environment.Phase {
	own := min(max(h.AgentTime, 0), total)
	kernel := min(max(h.Uptime-own, 0), total-own)
	return []environment.Phase{
		{Name: "engine", Duration: total - kernel - own},
		{Name: "kernel", Duration: kernel},
		{Name: "agent", Duration: own},
	}
}

func (i *instance) Agent() *agent.Client        { return i.client }
func (i *instance) Address() string             { return i.address }
func (i *instance) Phases() []environment.Phase { return i.phases }

// Notes of the start, and how the guest died if it did so by itself.
func (i *instance) Notes() []string {
	notes := slices.Clone(i.notes)
	if death := i.vmm.obituary(); death != "" {
		var text strings.Builder
		fmt.Fprintf(&text, "the guest died by itself (%s)", death)
		quote(&text, "the last lines of its console", i.console.lines())
		notes = append(notes, text.String())
	}
	return notes
}

// Paths are what the options say.
func (i *instance) Paths() environment.Paths { return environment.Paths{} }

// Footprint is the one group that QEMU runs in with all its threads, and the
// tap.
func (i *instance) Footprint() sample.Footprint {
	footprint := i.traffic
	footprint.Cgroups = []string{i.cgroup}
	return footprint
}

// Stop powers the guest off, ends QEMU whatever the guest does, and takes back
// every step of the start.
func (i *instance) Stop(ctx context.Context) error {
	i.stop.Do(func() {
		if i.client != nil {
			i.vmm.expect()
			asked, cancel := context.WithTimeout(ctx, patience)
			if i.client.Shutdown(asked) == nil {
				i.vmm.wait(asked, patience)
			}
			cancel()
			i.client.Close()
		}
		// Also when the caller's patience is over: nothing may stay.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 4*patience)
		defer cancel()
		var problems []error
		for _, undo := range slices.Backward(i.undo) {
			problems = append(problems, undo(ctx))
		}
		i.end = errors.Join(problems...)
	})
	return i.end
}
