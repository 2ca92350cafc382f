// Package environment defines the interfaces Environment (a way of running an image)
// and Instance (a started one), and keeps the registry of kinds. Each kind is one
// package below it that registers its YAML key, option type, requirements and parts.
//
// It must not know workloads, studies or statistics.
package environment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"tare/internal/agent"
	"tare/internal/base/quantity"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/usage"
)

// Registration declares a kind. Kind, About, Options, Requires and New are needed.
type Registration struct {
	Kind  string // the YAML key: "docker"
	About string // one line for doctor and `tare ls environments`
	// Options returns a pointer to a fresh option struct with every default filled in.
	// Its fields carry yaml and json tags; it may implement interface{ Validate() error }.
	Options func() any
	// Requires lists what must hold before New can work with these options. tare
	// doctor prints it, and a run skips environments that do not meet it.
	Requires func(options any) []Requirement
	// New makes an environment of valid options. It starts nothing.
	New func(options any) (Environment, error)
	// Capabilities are what instances with these options can have. nil: nothing.
	Capabilities func(options any) Capabilities
	// Parts of the kind that a ladder can switch separately (tare explain).
	Parts Parts
	// Needs returns what the kind needs on a machine that another environment started
	// for it. nil: nothing.
	Needs func(options any) (Needs, error)
	// Sweep removes everything with tare's label for whose owner dead reports true, and
	// returns a line for each thing that it removed. nil: the kind leaves only what
	// cleanup.Sweep finds, which are processes, cgroups, mounts and directories.
	Sweep func(ctx context.Context, home string, dead func(ownerID string) bool) ([]string, error)
	// Find returns an instance that others started on this machine, by a name that the kind
	// defines. It can be metered, and frozen if it has a Freezer. It has no agent, and Stop
	// leaves it running. Package remote calls it on the machine of an instance that was not
	// started through it. nil: the kind finds none.
	Find func(ctx context.Context, options any, name string) (Instance, error)
	// Forget removes the kind's copies of images that tare loaded, except those for whose
	// digest keep reports true, and returns a line for each. nil: it has no copies.
	Forget func(ctx context.Context, keep func(digest string) bool) ([]string, error)
}

// Capabilities are what instances of a kind can have with some options. The zero value
// is what every kind can do.
type Capabilities struct {
	// Hosts: instances are machines that boot the image with their own kernel and show
	// the request's disks, so that other environments can run in them (inside:).
	Hosts bool
	// Placed: the environments of the kind are Placed.
	Placed bool
	// NoCores: instances cannot be restricted to cores by number, since others choose the
	// machines that they run on.
	NoCores bool
	// Mounts: instances can have directories of this machine (Request.Mounts), and with
	// MemoryMounts directories in memory. The reasons are for options without what the
	// kind has with others.
	Mounts, MemoryMounts           bool
	WhyNoMounts, WhyNoMemoryMounts string
	// CannotLimit returns an error for each limit that instances cannot have. nil: they
	// can have all, or say so when they are started.
	CannotLimit func(l Limits) []error
	// SharedNetwork names what the networks of the environment are part of, such as an
	// engine: instances of all kinds with the same answer can join one. "": no other kind
	// can join. Resolved are the options that guarantee it, nil for these.
	SharedNetwork string
	Resolved      any
	// PortsOption is the option that lists the TCP ports at which alone instances can be
	// reached, "" without such a restriction.
	PortsOption string
	Ports       []int
	// ImageName is the name that the one image of all roles has on other machines, and
	// ImageNames are those of several by their references; "recipe" is one that tare makes.
	ImageName  string
	ImageNames map[string]string
}

// Limits have the same meaning in every environment. The zero value of each is no limit.
type Limits struct {
	CPUs   float64        `yaml:"cpus" json:"cpus,omitempty"`     // quota, in cores
	Memory quantity.Bytes `yaml:"memory" json:"memory,omitempty"` // swap is always off
	PIDs   int            `yaml:"pids" json:"pids,omitempty"`
	// Cores is the set of host cores that the whole environment may use (a
	// cpuset); a VM's vCPU threads are pinned to them one by one.
	Cores []int `yaml:"cores" json:"cores,omitempty"`
	IO    IO    `yaml:"io" json:"io,omitzero"`
}

// Request is what one instance is started from.
type Request struct {
	Name   string // unique within the owner; letters, digits and dashes
	Owner  *cleanup.Owner
	Image  *image.Image
	Limits Limits
	// Console receives what the instance's kernel or engine prints while it
	// starts and runs; never nil.
	Console io.Writer
	// Network that the instance joins in addition to its options; nil for none. It
	// was made by the same environment.
	Network Network
	// Mounts of directories and files; only for instances that can have them (Capabilities).
	Mounts []Mount
	// Disks of the instance in addition to its own; only for kinds with Hosts.
	Disks []Disk
	// Node that the instance runs on, one of Placed.Nodes; "" leaves it to the
	// environment. Only for environments that are Placed.
	Node string
}

// Placed is an environment whose instances can run on several machines, such as the
// nodes of a cluster.
type Placed interface {
	Environment
	// Nodes lists the machines on which an instance can start now, by name.
	Nodes(ctx context.Context) ([]string, error)
	// Beside returns the environment of roles that are placed on the host, on the same
	// nodes: their instances are not measured, and reach those of this environment.
	Beside() Environment
}

// Disk is a raw image file that an instance has as a block device.
type Disk struct {
	Serial string // identifies it inside: at most 20 letters and digits
	File   string
	// Keep: writes of the instance are kept in the file. Without it they are discarded
	// when it stops, and several instances can use the disk at the same time.
	Keep bool
}

// Needs is what a kind needs on a machine with the distribution's essential packages and
// without an init system.
type Needs struct {
	Packages []string `json:"packages,omitempty"` // of the distribution
	// Commands are programs of these packages, which a machine of another distribution
	// has to have.
	Commands []string        `json:"commands,omitempty"`
	Programs []CopiedProgram `json:"programs,omitempty"`
	Services []Service       `json:"services,omitempty"` // in the order in which they start
	// Directories hold what was prepared: an engine's images.
	Directories []string `json:"folders,omitempty"`
}

// CopiedProgram is one without a package: a file of this machine, and the path to copy it
// to.
type CopiedProgram struct {
	File string `json:"file"`
	At   string `json:"at"`
}

// CopyProgram is a program of this machine, to copy to the same path, or where the PATH
// finds it.
func CopyProgram(name string) (CopiedProgram, error) {
	file, err := exec.LookPath(name)
	if err == nil {
		file, err = filepath.Abs(file)
	}
	at := name
	if !filepath.IsAbs(name) {
		at = "/usr/local/bin/" + filepath.Base(name)
	}
	return CopiedProgram{File: file, At: at}, err
}

// Service is a command that is kept running; it is ready when Ready succeeds.
type Service struct {
	Argv  []string    `json:"argv"`
	Ready agent.Probe `json:"ready"`
}

// Network connects instances of one environment: they and the host reach each other at
// Instance.Address. Its instances are stopped before it is closed.
type Network interface {
	// Path describes what a packet between two instances passes, for reports: "the host's
	// loopback", "bridge tare-1, one veth pair each".
	Path() string
	// Host is the IPv4 address at which instances reach the host.
	Host() string
	// Close removes all that NewNetwork made. It may be called more than once.
	Close(ctx context.Context) error
}

// Paths describe, for reports, what a packet and a block pass between an instance and
// its machine.
type Paths struct {
	Network string `json:"network,omitempty"` // "bridge tare-1, one veth pair, NAT"; "none"
	Root    string `json:"root,omitempty"`    // "overlay", "ext4 on virtio-blk, qcow2 file, cache writeback, threads"
	Data    string `json:"data,omitempty"`    // of /data, in the same form
	// RootOn and DataOn are the host's file systems below them: "ext4 on vda1". Where
	// they differ, a comparison of environments also compares disks.
	RootOn string `json:"root_on,omitempty"`
	DataOn string `json:"data_on,omitempty"`
}

// Meter starts to sample the usage of an instance.
func Meter(i Instance, o usage.Options) usage.Meter {
	meters, _ := Meters([]Instance{i}, o, func(int) func(usage.Reading) { return o.Each })
	return meters[0]
}

// Meters starts to sample several instances; each returns the callback for the readings
// of one of them. Instances of this machine share one sampling: Stop of the first meter
// stops it for all. Instances on another machine are not read at the edges of samples,
// but once before the first and once after the last; their meters say so.
func Meters(instances []Instance, o usage.Options, each func(n int) func(usage.Reading)) ([]usage.Meter, *usage.Sampling) {
	meters := make([]usage.Meter, len(instances))
	var here []int
	var targets []usage.Target
	for n, i := range instances {
		if f := i.Footprint(); f.Elsewhere != nil {
			meters[n] = f.Elsewhere.Meter(usage.Options{Every: o.Every, Each: each(n)})
		} else {
			here, targets = append(here, n), append(targets, usage.Target{Footprint: f, Each: each(n)})
		}
	}
	if len(targets) == 0 && !o.AtEdges {
		return meters, nil // nobody would stop a sampling of none
	}
	sampling := usage.StartAll(o, targets...)
	for k, s := range sampling.Samplers {
		meters[here[k]] = s
	}
	return meters, sampling
}

// Phase is a part of the start-up time.
type Phase struct {
	Name     string        `json:"name"` // prepare, engine, kernel, agent
	Duration time.Duration `json:"duration"`
}

// PreparePhase is tare's work before a start, such as copying a root. It is recorded, and
// is not counted as start-up time.
const PreparePhase = "prepare"

// StartTime is the start-up time: all phases until the agent was ready, without
// PreparePhase.
func StartTime(phases []Phase) (total time.Duration) {
	for _, p := range phases {
		if p.Name != PreparePhase {
			total += p.Duration
		}
	}
	return total
}

// WithPreparation adds a duration to PreparePhase.
func WithPreparation(phases []Phase, d time.Duration) []Phase {
	phases = slices.Clone(phases)
	for n := range phases {
		if phases[n].Name == PreparePhase {
			phases[n].Duration += d
			return phases
		}
	}
	return append([]Phase{{Name: PreparePhase, Duration: d}}, phases...)
}

// Environment is a way of running an image, with its options. It is safe to
// start several instances of one at the same time.
type Environment interface {
	// Prepare makes the form of the image that this environment needs, so that it does
	// not count as start-up time. It is called once per image, before the first start.
	Prepare(ctx context.Context, img *image.Image, progress func(string)) error
	// Start returns when the agent inside has sent its Hello. After an error nothing of
	// the instance is left, and the message has the last lines of the console.
	Start(ctx context.Context, r Request) (Instance, error)
	// NewNetwork makes a new private network for instances. What it makes on the host has
	// the owner's label, so that clean-up removes it when the owner is dead. nil: instances
	// cannot be connected, and only workloads that fit into one can run.
	NewNetwork(ctx context.Context, o *cleanup.Owner, name string) (Network, error)
	// Label is shown with every result of this environment, such as "tcg"; "" for
	// none.
	Label() string
	// Versions of the programs involved, by name.
	Versions(ctx context.Context) map[string]string
}

// Instance is one environment, started. The directory /data inside is fresh,
// empty, writable and on the host's backing file system.
type Instance interface {
	Agent() *agent.Client
	// Address is the IPv4 address at which the host and other instances of the network
	// reach this one; "" for none. An instance of no network that shares the network
	// stack of its machine has 127.0.0.1.
	Address() string
	// Phases of the start; their sum is the time from the call until the agent was ready.
	Phases() []Phase
	// Paths describe what is between the instance and the machine.
	Paths() Paths
	Footprint() usage.Footprint
	Details() Details
	// Notes are findings about this start, such as an option that the engine ignored.
	// CheckLimits checks whether the limits are in force.
	Notes() []string
	// Stop ends the instance and removes all that Start made. It can be called more than
	// once, and after the instance has exited.
	Stop(ctx context.Context) error
}

// Details of an instance that few callers need.
type Details struct {
	// Listen is the address inside at which servers listen, where Address is one of the
	// host's, at which ports are published. "": they listen at Address.
	Listen string
	// Loopback names the other machine, by its address if that is known, whose loopback the
	// instance shares with what else runs there; "" if it has its own, or is on this one.
	Loopback string
	// Facts are visible neither inside nor to the host's kernel, such as an engine's log
	// driver. The keys are those of package parity. Unknown are those that could not be
	// found out, with the reasons.
	Facts, Unknown map[string]string
	// Unlimited: the options leave the limits out.
	Unlimited bool
	// SeparateKernel: it has one whatever its boot id, as a hypervisor's guest has.
	SeparateKernel bool
	// Exited is when, in the course of its Stop, all that ran in the instance had exited:
	// its first process, sandbox or VMM. What follows is the removal. Zero: not known.
	Exited time.Time
	// Freezer of the instance. nil: its kind has none.
	Freezer Freezer `json:"-"`
	// EffectiveLimits are those that neither a process inside nor a cgroup outside shows,
	// such as a VMM's throttling. They count like those of a cgroup. nil: there are none.
	EffectiveLimits func(ctx context.Context, l Limits) ([]EffectiveLimit, error) `json:"-"`
	// Given are the limits of an instance inside another one that also has some: each is
	// checked separately. nil: it is in none.
	Given func(l Limits) []Given `json:"-"`
}

// Started is what the start of an instance found out. The types of instances embed it for
// the methods of Instance that return it.
type Started struct {
	Client   *agent.Client
	IP       string // see Instance.Address
	Timeline []Phase
	Route    Paths
	Findings []string // see Instance.Notes
	More     Details

	exited atomic.Pointer[time.Time]
}

// Agent implements Instance.
func (s *Started) Agent() *agent.Client { return s.Client }

// Address implements Instance.
func (s *Started) Address() string { return s.IP }

// Phases implements Instance.
func (s *Started) Phases() []Phase { return s.Timeline }

// Paths implements Instance.
func (s *Started) Paths() Paths { return s.Route }

// Notes implements Instance.
func (s *Started) Notes() []string { return s.Findings }

// Details implements Instance.
func (s *Started) Details() Details {
	d := s.More
	if at := s.exited.Load(); at != nil {
		d.Exited = *at
	}
	return d
}

// NoteExit notes when the instance exited; the first call counts.
func (s *Started) NoteExit(at time.Time) { s.exited.CompareAndSwap(nil, &at) }

var registry = map[string]Registration{}

// Register adds a kind; the init function of its package calls it.
func Register(r Registration) {
	if _, twice := registry[r.Kind]; twice {
		panic(fmt.Sprintf("environment kind %q is registered twice", r.Kind))
	}
	made := r.New
	r.New = func(options any) (Environment, error) {
		if v, can := options.(interface{ Validate() error }); can {
			if err := v.Validate(); err != nil {
				return nil, err
			}
		}
		return made(options)
	}
	registry[r.Kind] = r
}

// CapabilitiesOf a kind with these options, or with its defaults where they are nil; none
// of an unknown kind.
func CapabilitiesOf(kind string, options any) Capabilities {
	r, known := registry[kind]
	if !known || r.Capabilities == nil {
		return Capabilities{}
	}
	if options == nil {
		options = r.Options()
	}
	return r.Capabilities(options)
}

// Lookup finds the registration of a kind.
func Lookup(kind string) (Registration, bool) {
	r, ok := registry[kind]
	return r, ok
}

// Kinds lists the registered kinds by name.
func Kinds() []string {
	return slices.Sorted(maps.Keys(registry))
}

// ErrOneAddress is wrapped by the error of a start that would give two instances of a
// network the same address.
var ErrOneAddress = errors.New("another instance of this network has its only address")

// UsageOfStart is the usage of an instance since it was made.
func UsageOfStart(i Instance) usage.Usage {
	f := i.Footprint()
	if f.Elsewhere != nil {
		return f.Elsewhere.UsageOfStart()
	}
	return usage.OfStart(f)
}

// Freezer makes an instance wait without working, while others are measured.
//
// A frozen instance uses no CPU. Its agent is frozen too, so nothing may be asked of it
// until Thaw has returned; connections to it stay open. Clocks inside may jump at the
// thaw, so no duration is measured across a freeze. What the host's kernel does for an
// instance goes on: it writes dirty pages back and keeps received packets.
//
// Freezing a frozen instance and thawing a running one change nothing. Stop works on a
// frozen instance.
type Freezer interface {
	// Freeze returns when the instance has stopped working. After an error it runs. An
	// error that wraps errors.ErrUnsupported says why this instance, where it runs now,
	// can only wait idle.
	Freeze(ctx context.Context) error
	// Thaw returns when the instance works on.
	Thaw(ctx context.Context) error
}

// Unfreezable is the Freezer of an instance that can only wait idle.
type Unfreezable struct {
	Why error // wraps errors.ErrUnsupported
}

// Freeze implements Freezer.
func (u Unfreezable) Freeze(context.Context) error { return u.Why }

// Thaw implements Freezer.
func (u Unfreezable) Thaw(context.Context) error { return nil }

// Listen is the address at which servers inside an instance listen.
func Listen(i Instance) string { return cmp.Or(i.Details().Listen, i.Address()) }

// Sweepers are those of all kinds, for cleanup.Sweep.
func Sweepers() (list []cleanup.Sweeper) {
	for _, kind := range Kinds() {
		if r := registry[kind]; r.Sweep != nil {
			list = append(list, r.Sweep)
		}
	}
	return list
}
