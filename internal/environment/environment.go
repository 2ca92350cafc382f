// Package environment says what a way of running an image is (Environment),
// what a started one is (Instance), and keeps the registry of kinds. Each
// technology is one package below it that registers itself with its YAML key,
// its option type and what it requires; nothing else changes for a new one.
//
// It must not know workloads, studies or statistics.
package environment

import (
	"context"
	"fmt"
	"io"
	"sort"
	"time"

	"tare/internal/agent"
	"tare/internal/cleanup"
	"tare/internal/image"
	"tare/internal/quantity"
	"tare/internal/sample"
)

// Registration is what a technology declares. Doctor and the "skipped" rows of
// a report print Requires from this same declaration.
type Registration struct {
	Kind  string // the YAML key: "docker"
	About string // one line for doctor and `tare ls environments`
	// Options returns a pointer to a fresh option struct with every default
	// filled in. Its fields carry yaml and json tags; it may implement
	// interface{ Validate() error }.
	Options func() any
	// Requires lists what must hold before New can work with these options.
	Requires func(options any) []Requirement
	// Hosts says that instances are whole machines, which boot the image of the
	// request with a kernel of their own and show its disks: others can run in
	// them (inside:).
	Hosts bool
	// Needs of the kind on a machine that another environment started for it;
	// nil for none.
	Needs func(options any) (Needs, error)
	// New makes an environment. It starts nothing.
	New func(options any) (Environment, error)
	// Sweep removes what a dead owner left: everything that carries tare's
	// label and whose owner dead reports true for. It touches nothing else and
	// returns a line for each thing that it removed. nil means that the
	// technology leaves nothing that owner.Sweep does not find by itself.
	Sweep func(ctx context.Context, home string, dead func(ownerID string) bool) ([]string, error)
	// Forget removes the technology's own copies of images that tare gave it,
	// except those whose digest keep reports true for, and returns a line for
	// each. nil means that it keeps none.
	Forget func(ctx context.Context, keep func(digest string) bool) ([]string, error)
}

// Requirement is one thing that an environment cannot do without.
type Requirement struct {
	What  string // "a Docker daemon that answers"
	Check func(context.Context) Finding
}

// State is what doctor says of a thing.
type State string

// The three states.
const (
	Usable  State = "usable"
	Caveat  State = "caveat" // usable, and Reason says what to keep in mind
	Missing State = "missing"
)

// Finding is the outcome of a check.
type Finding struct {
	State  State  `json:"state"`
	What   string `json:"what,omitempty"`
	Reason string `json:"reason,omitempty"` // what was tried and what came back
	Fix    string `json:"mend,omitempty"`   // the command that mends it
}

// Limits mean the same in every environment. The zero value of each is "none".
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
	// Network that the instance joins besides what its options say; nil for
	// none. It was made by the same environment.
	Network Network
	// Disks that the instance sees besides its own. Only a kind that Hosts takes
	// them.
	Disks []Disk
}

// Disk is a raw file that an instance sees as a block device.
type Disk struct {
	Serial string // by which it is found inside: at most 20 letters and digits
	File   string
	// Keep: what the instance writes stays in the file. Without it that goes with
	// the instance, and several instances can have the disk at the same time.
	Keep bool
}

// Needs are what a kind takes on a machine that has the distribution's
// essential packages and no init.
type Needs struct {
	Packages []string  `json:"packages,omitempty"` // of the distribution
	Programs []Program `json:"programs,omitempty"`
	Services []Service `json:"services,omitempty"` // in the order in which they start
	// Folders hold what was prepared: an engine's images.
	Folders []string `json:"folders,omitempty"`
}

// Program is one that no package has: a file of this machine, and the path that
// it is put at.
type Program struct {
	File string `json:"file"`
	At   string `json:"at"`
}

// Service is kept running; it is ready when another command succeeds.
type Service struct {
	Argv  []string `json:"argv"`
	Ready []string `json:"ready"`
}

// Networked is an environment whose instances can be joined by a private
// network. One that is not runs only what fits into a single instance.
type Networked interface {
	Environment
	// NewNetwork makes a network of its own. Whatever it makes on the host
	// carries the owner's label, so that a dead owner's is swept.
	NewNetwork(ctx context.Context, o *cleanup.Owner, name string) (Network, error)
}

// Network joins instances of one environment: they reach each other, and the
// host reaches them, by Instance.Address. Instances are stopped before it is
// closed.
type Network interface {
	// Path says in a few words what a packet between two instances passes, for
	// reports: "the host's loopback", "bridge tare-1, one veth pair each".
	Path() string
	// Host is the IPv4 address by which the instances reach the host.
	Host() string
	// Close removes all that NewNetwork made. It may be called more than once.
	Close(ctx context.Context) error
}

// Paths say what a packet and a block pass between an instance and the machine
// that it is on, in a few words each, for reports.
type Paths struct {
	Network string `json:"network,omitempty"` // "bridge tare-1, one veth pair, NAT"; "none"
	Root    string `json:"root,omitempty"`    // "overlay", "ext4 on virtio-blk, qcow2 file, cache writeback, threads"
	Data    string `json:"data,omitempty"`    // of /data, in the same words
	// RootOn and DataOn are the host's file systems below them: "ext4 on vda1".
	// Where they differ between environments, the disks are compared as well.
	RootOn string `json:"root_on,omitempty"`
	DataOn string `json:"data_on,omitempty"`
}

// Metered is an instance whose cost cannot be read from here by its footprint,
// as it runs on another machine.
type Metered interface {
	// Meter begins to watch what the instance uses.
	Meter(o sample.Options) sample.Meter
}

// Meter begins to watch what an instance uses.
func Meter(i Instance, o sample.Options) sample.Meter {
	return Meters([]Instance{i}, o.Every, func(int) func(sample.Reading) { return o.Each })[0]
}

// Meters begin to watch several instances; each says who hears of the looks at
// one of them. Those that can be read from here are watched together: the first
// one's Stop is the end for all.
func Meters(instances []Instance, every time.Duration, each func(n int) func(sample.Reading)) []sample.Meter {
	meters := make([]sample.Meter, len(instances))
	var here []int
	var targets []sample.Target
	for n, i := range instances {
		if m, elsewhere := i.(Metered); elsewhere {
			meters[n] = m.Meter(sample.Options{Every: every, Each: each(n)})
		} else {
			here, targets = append(here, n), append(targets, sample.Target{Footprint: i.Footprint(), Each: each(n)})
		}
	}
	if len(targets) > 0 {
		for k, s := range sample.StartAll(every, targets...) {
			meters[here[k]] = s
		}
	}
	return meters
}

// Phase is a part of the start-up time.
type Phase struct {
	Name     string        `json:"name"` // prepare, engine, kernel, agent
	Duration time.Duration `json:"duration"`
}

// PreparePhase is tare's own work before a start, such as the copy of a root
// that nobody would make by hand. It is written down and is no part of the start.
const PreparePhase = "prepare"

// StartTime is how long a start took: all phases up to the agent's first word,
// without tare's own preparation.
func StartTime(phases []Phase) (total time.Duration) {
	for _, p := range phases {
		if p.Name != PreparePhase {
			total += p.Duration
		}
	}
	return total
}

// Environment is a way of running an image, with its options. It is safe to
// start several instances of one at the same time.
type Environment interface {
	// Prepare makes the form of the image that this environment needs, so that
	// no start pays for it. It is called once an image, before the first start.
	Prepare(ctx context.Context, img *image.Image, progress func(string)) error
	// Start returns when the agent inside has said its first word. On an error
	// nothing of the instance is left behind, and the message carries the last
	// lines of the console.
	Start(ctx context.Context, r Request) (Instance, error)
	// Label is what must stand beside every figure of this environment, such as
	// "tcg"; "" for none.
	Label() string
	// Versions names the programs that take part, with their versions.
	Versions(ctx context.Context) map[string]string
}

// Instance is one environment, started. The directory /data inside is fresh,
// empty, writable and on the host's backing file system.
type Instance interface {
	Agent() *agent.Client
	// Address is the IPv4 address by which other instances on the same network,
	// and the host, reach this one; "" where nobody else does.
	Address() string
	// Phases of the start; their sum is the time from the call to the first word.
	Phases() []Phase
	// Paths say what lies between the instance and the machine.
	Paths() Paths
	Footprint() sample.Footprint
	// Notes are findings about this start, such as an option that the engine
	// ignored. Whether the limits took hold CheckLimits finds out.
	Notes() []string
	// Stop ends the instance and removes all that Start made. It may be called
	// more than once and after the instance died by itself.
	Stop(ctx context.Context) error
}

var registry = map[string]Registration{}

// Register adds a technology; it is called from the technology's init.
func Register(r Registration) {
	if _, twice := registry[r.Kind]; twice {
		panic(fmt.Sprintf("environment kind %q is registered twice", r.Kind))
	}
	registry[r.Kind] = r
}

// Lookup finds a technology by its kind.
func Lookup(kind string) (Registration, bool) {
	r, ok := registry[kind]
	return r, ok
}

// Kinds lists the registered kinds by name.
func Kinds() []string {
	kinds := make([]string, 0, len(registry))
	for k := range registry {
		kinds = append(kinds, k)
	}
	sort.Strings(kinds)
	return kinds
}

// Check runs the requirements of a kind with these options and sums them up:
// missing if one is missing, a caveat if one has a caveat. All findings are
// returned as well, each with its What filled in.
func Check(ctx context.Context, kind string, options any) (State, []Finding) {
	r, ok := registry[kind]
	if !ok {
		return Missing, []Finding{{State: Missing, What: "kind " + kind, Reason: "no such kind of environment"}}
	}
	state, findings := Usable, []Finding{}
	for _, req := range r.Requires(options) {
		f := req.Check(ctx)
		f.What = req.What
		findings = append(findings, f)
		if f.State == Missing || f.State == Caveat && state == Usable {
			state = f.State
		}
		if f.State == Missing {
			break // what comes later stands on this
		}
	}
	return state, findings
}
