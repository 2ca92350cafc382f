package environment

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"

	"tare/internal/agent"
	"tare/internal/host/cleanup"
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
	// OwnFiles: instances have the files of their machine, and need no image.
	OwnFiles bool
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
	// Modules of the machine's kernel are loaded if it has a use for them: those that
	// nothing loads on demand.
	Modules []string `json:"modules,omitempty"`
	// Guests: its instances are guests with a kernel of their own, under KVM of the
	// machine. The machine gets the kernel and the image's disk as this one has them.
	Guests bool `json:"guests,omitempty"`
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

// Sweepers are those of all kinds, for cleanup.Sweep.
func Sweepers() (list []cleanup.Sweeper) {
	for _, kind := range Kinds() {
		if r := registry[kind]; r.Sweep != nil {
			list = append(list, r.Sweep)
		}
	}
	return list
}
