// Package nested runs one kind of environment in instances of another: Docker in
// a virtual machine. It boots the outer environment with a machine image that has
// what the inner kind needs, opens a session of tare in it, and starts the inner
// instance there. The two are one instance: its commands run in the inner one,
// and its resource use is that of the whole outer one.
//
// It must not know any kind of environment, nor workloads, studies or statistics.
package nested

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"sync"

	"tare/internal/base/bounded"
	"tare/internal/environment"
	"tare/internal/environment/remote"
	"tare/internal/host/cleanup"
	"tare/internal/image"
)

// Nesting is an inner kind in an outer environment.
type Nesting struct {
	Outer       string // the outer environment's name, for phases, notes and messages
	Environment environment.Environment
	Limits      environment.Limits // of the outer instance
	System      image.System       // of the outer instance

	Name    string // the inner environment's
	Kind    string // its kind
	Options json.RawMessage
	Needs   environment.Needs
	// Shares reports that the inner instance has no separate network, so that it
	// is reached at the outer instance's address.
	Shares bool
	// OneMachine: instances that are to be beside each other (Request.Beside) share a
	// machine, in which they are connected; else each has one of its own.
	OneMachine bool

	// Owner and Console are for the start that prepares the machine's disk.
	Owner   *cleanup.Owner
	Console func(instance string) (io.WriteCloser, error)
}

// New makes the environment.
func New(n Nesting) environment.Environment {
	return &nested{Nesting: n, machines: map[string]*machine{}, shared: map[string]*sharedMachine{}}
}

type nested struct {
	Nesting

	mu       sync.Mutex
	machines map[string]*machine       // by the name of the image that runs inside
	shared   map[string]*sharedMachine // by Request.Beside; guarded by mu
	known    *known                    // of the inner kind, once it ran in a machine; guarded by mu
	system   string                    // name of the machine's distribution and release; guarded by mu
}

// known is what only the inner environment knows.
type known struct {
	Versions map[string]string `json:"versions"` // of its programs
	Label    string            `json:"label,omitempty"`
}

// machine is the image and the disk that the outer instances boot with.
type machine struct {
	image *image.Image
	disk  string
}

// NewNetwork connects the outer instances, where the inner ones share their addresses.
// Inner ones that share a machine are connected in it.
func (e *nested) NewNetwork(ctx context.Context, o *cleanup.Owner, name string) (environment.Network, error) {
	switch {
	case e.Shares:
		return e.Environment.NewNetwork(ctx, o, name)
	case e.OneMachine:
		return &enclosed{name: name}, nil
	}
	return nil, nil
}

// Label returns the outer environment's: on an emulated machine everything is
// emulated. Where the inner instances are guests too, it says what runs them and their
// machine: KVM, where nothing else is said.
func (e *nested) Label() string {
	outer := e.Environment.Label()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.Needs.Guests || e.known == nil {
		return outer
	}
	return cmp.Or(e.known.Label, "kvm") + " in " + cmp.Or(outer, "kvm")
}

// Versions returns those of the outer and the inner kind.
func (e *nested) Versions(ctx context.Context) map[string]string {
	versions := maps.Clone(e.Environment.Versions(ctx))
	if versions == nil {
		versions = map[string]string{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.Copy(versions, e.innerVersions())
	if e.system != "" {
		versions["system"] = e.system
	}
	return versions
}

// innerVersions are those of the inner kind; mu is locked.
func (e *nested) innerVersions() map[string]string {
	if e.known == nil {
		return nil
	}
	return e.known.Versions
}

// Prepare makes the machine that the outer instances boot: an image of the
// distribution with the packages that the inner kind needs, and a disk with tare,
// the kernel's modules and the image as the inner kind prepares it. The machine
// is booted once for that, and the disk is kept.
func (e *nested) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	if progress == nil {
		progress = func(string) {}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.machines[img.EngineName()] != nil {
		return nil
	}
	m := &machine{}
	var err error
	if m.image, err = img.Store().Machine(ctx, e.System, e.Needs.Packages, e.Needs.Commands, progress); err != nil {
		return fmt.Errorf("making the image of the machine for %s: %w", e.Kind, err)
	}
	if e.system, err = m.image.SystemName(ctx); err != nil {
		return err
	}
	if err := e.Environment.Prepare(ctx, m.image, progress); err != nil {
		return err
	}
	key, err := e.key(m.image, img)
	if err != nil {
		return err
	}
	at, own, err := remote.OwnProgram()
	if err != nil {
		return err
	}
	disk := image.MachineDisk{
		Key: key, Machine: m.image, Image: img, Guests: e.Needs.Guests, Store: "home/images", Programs: map[string]string{"home/" + at: own},
		Prepare: func(file string) error {
			progress(fmt.Sprintf("starting %s once, to prepare %s in it", e.Outer, e.Kind))
			return e.prepareDisk(ctx, img, *m, file, progress)
		},
	}
	for _, p := range e.Needs.Programs {
		disk.Programs[programs+p.At] = p.File
	}
	if m.disk, err = disk.Make(ctx, progress); err != nil {
		return err
	}
	e.keep(m.disk)
	e.machines[img.EngineName()] = m
	return nil
}

// key identifies everything that the disk depends on, except the files of the image and
// the kernel.
func (e *nested) key(machine, img *image.Image) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	parts := map[string]any{"machine": machine.Digest, "kind": e.Kind, "options": e.Options, "needs": e.Needs, "image": img.EngineName()}
	if e.Needs.Guests {
		parts["outer label"] = e.Environment.Label() // the inner one may follow from it
	}
	for _, file := range append([]environment.CopiedProgram{{File: self}}, e.Needs.Programs...) {
		sum, err := bounded.Sum(file.File)
		if err != nil {
			return "", err
		}
		parts[file.File] = sum
	}
	text, err := json.Marshal(parts)
	return string(text), err
}

// prepareDisk boots the machine with a writable disk, and has the inner kind
// prepare the image on it.
func (e *nested) prepareDisk(ctx context.Context, img *image.Image, m machine, disk string, progress func(string)) (err error) {
	name := "preparing-" + e.Name
	console, err := e.Console(name)
	if err != nil {
		return err
	}
	defer console.Close()
	outer, err := e.Environment.Start(ctx, environment.Request{
		Name: name, Owner: e.Owner, Image: m.image, Limits: e.Limits, Console: console,
		Disks: []environment.Disk{{Serial: serial, File: disk, Keep: true}},
	})
	if err != nil {
		return err
	}
	w := &outerMachine{nested: e, outer: outer, name: name}
	defer func() {
		if stopped := w.end(context.WithoutCancel(ctx)); err == nil {
			err = stopped
		}
	}()
	if err := w.open(ctx, img, progress); err != nil {
		return err
	}
	e.known = &known{w.environment.Versions(ctx), w.environment.Label()}
	return w.shutDown(ctx)
}

// Start boots a machine, or takes the one of the instances beside it, and starts the inner
// instance there.
func (e *nested) Start(ctx context.Context, r environment.Request) (_ environment.Instance, err error) {
	if err := e.Prepare(ctx, r.Image, nil); err != nil {
		return nil, err
	}
	w, err := e.enter(ctx, r)
	if err != nil {
		return nil, err
	}
	i := &instance{outerMachine: w}
	defer func() {
		if err != nil {
			_ = w.leave(context.WithoutCancel(ctx), i.inner)
		}
	}()
	within := r
	within.Network, within.Disks, within.Beside = w.network, nil, ""
	// The machine has only the cores of its limits, under other numbers.
	within.Limits.Cores = nil
	var inner environment.Instance
	if inner, err = w.environment.Start(ctx, within); err != nil {
		return nil, fmt.Errorf("in %s: %w", e.Outer, err)
	}
	i.inner = inner
	return i, e.learn(ctx, w.environment)
}

// boot boots a machine for a request.
func (e *nested) boot(ctx context.Context, r environment.Request) (_ *outerMachine, err error) {
	e.mu.Lock()
	m := e.machines[r.Image.EngineName()]
	e.mu.Unlock()
	within, inside := r.Network.(*enclosed)
	if inside {
		r.Network = nil
	}
	outer, err := e.Environment.Start(ctx, environment.Request{
		Name: r.Name, Owner: r.Owner, Image: m.image, Limits: e.Limits, Console: r.Console, Network: r.Network,
		Disks: append(r.Disks, environment.Disk{Serial: serial, File: m.disk}),
	})
	if err != nil {
		return nil, err
	}
	w := &outerMachine{nested: e, outer: outer, name: r.Name}
	if err = w.open(ctx, r.Image, nil); err == nil && inside {
		err = w.connect(ctx, within)
	}
	if err != nil {
		_ = w.end(context.WithoutCancel(ctx))
		return nil, err
	}
	return w, nil
}

// keep keeps what is known of the inner kind beside the disk, which a later run finds
// prepared.
func (e *nested) keep(disk string) {
	file := disk + image.VersionsOfMachine
	if e.known == nil {
		var k known
		if text, err := bounded.ReadFile(file, bounded.Line); err == nil && json.Unmarshal(text, &k) == nil {
			e.known = &k
		} // else the first start tells
		return
	}
	if text, err := json.Marshal(e.known); err == nil {
		_ = os.WriteFile(file, text, 0o644)
	}
}

// learn records what the inner environment knows, once: instances start in parallel, and
// a machine that was prepared by an earlier run may have nothing recorded. An error is
// that the label is another one than results have.
func (e *nested) learn(ctx context.Context, inner environment.Environment) error {
	e.mu.Lock()
	have := e.known
	e.mu.Unlock()
	if have == nil {
		have = &known{inner.Versions(ctx), inner.Label()}
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.known == nil {
			e.known = have
		}
		have = e.known
	}
	if now := inner.Label(); now != have.Label {
		return fmt.Errorf("%s in %s runs under %s now, and under %s when the run was prepared: say in its options which it is to be (accel: of qemu)",
			e.Kind, e.Outer, cmp.Or(now, "kvm"), cmp.Or(have.Label, "kvm"))
	}
	return nil
}

// facts are what is known of the machine's system and programs.
func (e *nested) facts() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	facts := map[string]string{}
	if e.system != "" {
		facts["machine.system"] = e.system
	}
	for program, version := range e.innerVersions() {
		facts["provider["+program+" version]"] = version
	}
	return facts
}

// Shares reports whether instances with these options have no separate network,
// so that they are reached at their machine's address.
func Shares(options json.RawMessage) bool {
	var o struct{ Network string }
	_ = json.Unmarshal(options, &o) // a kind may have no such option
	return o.Network == "host" || o.Network == "loopback"
}
