// Package nested runs one kind of environment in instances of another: Docker in
// a virtual machine. It boots the outer environment with an image of its own,
// which has what the inner kind needs, opens a session of tare in it, and hands
// on what is started there as one instance: its commands run innermost, and its
// cost is the whole outer instance's.
//
// It must not know any kind of environment, nor workloads, studies or statistics.
package nested

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"sync"

	"tare/internal/cleanup"
	"tare/internal/environment"
	"tare/internal/image"
)

// Nesting says what runs in what.
type Nesting struct {
	Outer       string // the outer environment's name, for phases, notes and messages
	Environment environment.Environment
	Limits      environment.Limits // of the outer instance

	Name    string // the inner environment's
	Kind    string // its kind
	Options json.RawMessage
	Needs   environment.Needs
	// Shares says that what runs inside is reached at the outer instance's
	// address, since it has no network of its own.
	Shares bool

	// Owner and Console are for the one start by which the machine is prepared.
	Owner   *cleanup.Owner
	Console func(instance string) (io.WriteCloser, error)
}

// New makes the environment. It is Networked where the outer one is and what
// runs inside shares its address.
func New(n Nesting) environment.Environment {
	e := &nested{Nesting: n, machines: map[string]*machine{}}
	if outer, able := n.Environment.(environment.Networked); able && n.Shares {
		return &networked{e, outer}
	}
	return e
}

type nested struct {
	Nesting

	mu       sync.Mutex
	machines map[string]*machine // by the digest of the image that runs inside
	versions map[string]string   // of what takes part inside, once it is known
}

// machine is what the outer instances boot.
type machine struct {
	image *image.Image
	disk  string
}

// networked joins the outer instances.
type networked struct {
	*nested
	outer environment.Networked
}

func (e *networked) NewNetwork(ctx context.Context, o *cleanup.Owner, name string) (environment.Network, error) {
	return e.outer.NewNetwork(ctx, o, name)
}

// Label of the outer environment: what runs on an emulated machine is emulated.
func (e *nested) Label() string { return e.Environment.Label() }

// Versions of all that take part.
func (e *nested) Versions(ctx context.Context) map[string]string {
	versions := maps.Clone(e.Environment.Versions(ctx))
	if versions == nil {
		versions = map[string]string{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.Copy(versions, e.versions)
	return versions
}

// Prepare makes the machine that the outer instances boot: the distribution with
// what the inner kind needs, and a disk that has tare, the kernel's modules and
// the image as the inner kind wants it. For that it is booted once, and the disk
// kept.
func (e *nested) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	if progress == nil {
		progress = func(string) {}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.machines[img.Digest] != nil {
		return nil
	}
	m := &machine{}
	recipe := image.MachineRecipe(e.Needs.Packages)
	var err error
	if m.image, err = img.Store().Get(ctx, image.Source{Recipe: &recipe}, progress); err != nil {
		return fmt.Errorf("the machine that %s runs in: %w", e.Kind, err)
	}
	if err := e.Environment.Prepare(ctx, m.image, progress); err != nil {
		return err
	}
	key, err := e.key(m.image)
	if err != nil {
		return err
	}
	disk := image.MachineDisk{
		Key: key, Image: img, Store: "home/images", Programs: map[string]string{},
		Prepare: func(file string) error {
			progress(fmt.Sprintf("starting %s once, to prepare %s in it", e.Outer, e.Kind))
			return e.furnish(ctx, img, *m, file, progress)
		},
	}
	for _, p := range e.Needs.Programs {
		disk.Programs[programs+p.At] = p.File
	}
	if m.disk, err = disk.Make(ctx, progress); err != nil {
		return err
	}
	e.machines[img.Digest] = m
	return nil
}

// key is all that the disk follows from, but for the image and the kernel.
func (e *nested) key(machine *image.Image) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	parts := map[string]any{"machine": machine.Digest, "kind": e.Kind, "options": e.Options, "needs": e.Needs}
	for _, file := range append([]environment.Program{{File: self}}, e.Needs.Programs...) {
		sum, err := sumOf(file.File)
		if err != nil {
			return "", err
		}
		parts[file.File] = sum
	}
	text, err := json.Marshal(parts)
	return string(text), err
}

func sumOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// furnish boots the machine with a disk that it may write to, and has the inner
// kind prepare the image there.
func (e *nested) furnish(ctx context.Context, img *image.Image, m machine, disk string, progress func(string)) (err error) {
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
	w := &way{nested: e, outer: outer, name: name}
	defer func() {
		if stopped := w.end(context.WithoutCancel(ctx)); err == nil {
			err = stopped
		}
	}()
	if err := w.open(ctx, img, progress); err != nil {
		return err
	}
	e.versions = w.environment.Versions(ctx)
	return w.put(ctx)
}

// Start boots a machine and starts the inner instance in it.
func (e *nested) Start(ctx context.Context, r environment.Request) (_ environment.Instance, err error) {
	if err := e.Prepare(ctx, r.Image, nil); err != nil {
		return nil, err
	}
	e.mu.Lock()
	m := e.machines[r.Image.Digest]
	e.mu.Unlock()
	outer, err := e.Environment.Start(ctx, environment.Request{
		Name: r.Name, Owner: r.Owner, Image: m.image, Limits: e.Limits, Console: r.Console, Network: r.Network,
		Disks: append(r.Disks, environment.Disk{Serial: serial, File: m.disk}),
	})
	if err != nil {
		return nil, err
	}
	w := &way{nested: e, outer: outer, name: r.Name}
	i := &instance{way: w}
	defer func() {
		if err != nil {
			w.end(context.WithoutCancel(ctx))
		}
	}()
	if err := w.open(ctx, r.Image, nil); err != nil {
		return nil, err
	}
	within := r
	within.Network, within.Disks = nil, nil
	// The machine has no other cores than those that it was given, and numbers
	// them anew.
	within.Limits.Cores = nil
	if i.inner, err = w.environment.Start(ctx, within); err != nil {
		return nil, fmt.Errorf("in %s: %w", e.Outer, err)
	}
	if e.versions == nil {
		e.mu.Lock()
		e.versions = w.environment.Versions(ctx)
		e.mu.Unlock()
	}
	return i, nil
}

// Shares says whether instances with these options have no network of their
// own, so that they are reached at their machine's address.
func Shares(options json.RawMessage) bool {
	var o struct{ Network string }
	_ = json.Unmarshal(options, &o) // what has no such option says nothing
	return o.Network == "host" || o.Network == "loopback"
}
