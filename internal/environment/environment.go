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
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tare/internal/agent"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/usage"
)

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
	// Beside names the instances that this one shares a machine with: those of the same
	// environment and name, where that is inside another one and shares its machines.
	Beside string
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

// HostOnly is a Network by which programs on the host alone reach the instances.
type HostOnly interface{ HostOnly() }

// Enclosed is a Network by which instances reach each other, and programs on the host none
// of them. It says why, and what to do where that is needed.
type Enclosed interface{ Enclosed() string }

// Bridged is an Environment whose instances can be ports of a virtnet.Bridge that it did
// not make, such as this host's part of a network over several hosts.
type Bridged interface{ Bridged() bool }

// Spanning is a Network over several hosts, or this host's part of it.
type Spanning interface {
	Network
	// Reach waits until the host reaches the others.
	Reach(ctx context.Context) error
}

// Emulated reports whether a label is that of software emulation, of a guest or of the
// machine that it is in.
func Emulated(label string) bool { return slices.Contains(strings.Fields(label), "tcg") }

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
	// LimitedInside: a runtime in the instance's own kernel sets the limits there, and none on
	// the host, as Kata Containers does, but for cores.
	LimitedInside bool
	// Exited is when, in the course of its Stop, all that ran in the instance had exited:
	// its first process, sandbox or VMM. What follows is the removal. Zero: not known.
	Exited time.Time
	// Freezer of the instance. nil: its kind has none.
	Freezer Freezer `json:"-"`
	// EffectiveLimits are those that neither a process inside nor a cgroup outside shows,
	// such as a VMM's throttling. They count like those of a cgroup. nil: there are none.
	EffectiveLimits func(ctx context.Context, l Limits) ([]EffectiveLimit, error) `json:"-"`
	// Machine names the machine that the instance shares with others, whose Footprint all of
	// them have; "": its Footprint is its own.
	Machine string
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

// ErrOneAddress is wrapped by the error of a start that would give two instances of a
// network the same address.
var ErrOneAddress = errors.New("another instance of this network has its only address")

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
