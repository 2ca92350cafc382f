// Package microvm has what the VMMs with a REST API at a unix socket share: guests
// with a kernel, a shared read-only root disk and a data disk, the agent over
// vsock, and a start that boots or that restores a snapshot. A kind provides the
// VMM, with the requests of its API.
//
// It must not know any VMM by name, nor workloads, studies or statistics.
package microvm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
	"tare/internal/host/cleanup"
	"tare/internal/image/kernel"
	"tare/internal/linux/virtnet"
)

// VMM is what differs between the VMMs. All paths in its requests are relative to
// the directory in which the VMM runs.
type VMM struct {
	Name     string // for messages: "Firecracker"
	Key      string // for versions: "firecracker"
	DiskMode string // how it handles disks: "cache unsafe"
	// VCPUThread matches the name of a virtual CPU's thread; its first group is the CPU's
	// number.
	VCPUThread *regexp.Regexp
	// KernelArgs returns kernel parameters that only this VMM's guests need, and
	// AddedArgs is how many characters the VMM itself adds to the kernel's command line.
	KernelArgs func() []string
	AddedArgs  int
	// Resets: in a restored guest the connections end that were open when it was saved.
	Resets bool
	// SnapshotFiles are the files of a snapshot, below SnapshotDirectory.
	SnapshotFiles []string
	// Ping is a path of the API that responds as soon as the API is up.
	Ping string
	// Boot runs a configured guest. Pause stops the virtual CPUs of a running one, and
	// Resume runs a restored or paused one. Quit requests the VMM's exit; without it
	// SIGTERM does.
	Boot, Pause, Resume, Quit Request
	Guests
	// RunDirectory returns where the VMM runs for a guest with that directory, and its
	// user. In a jail it has no access to other files. nil: there, without a jail.
	RunDirectory func(dir, name string) (runDir string, user int)
	// Watch reads the VMM's events until it exits; nil: it has none.
	Watch func(m *Machine, p *vmm.Process)
	// Finish adds notes that are known only after the start; nil: none.
	Finish func(g *vmm.Guest, dir string)
}

// Guests are the command line and the requests of a VMM that depend on the guest.
type Guests interface {
	// Command returns the command that starts the VMM for a guest, without Dir.
	Command(m *Machine) vmm.Command
	// Define configures the guest, which does not run yet.
	Define(m *Machine) ([]Request, error)
	// Save saves a paused guest to SnapshotFiles.
	Save(m *Machine) Request
	// Load creates a guest from a snapshot, paused.
	Load(m *Machine) ([]Request, error)
	// Limiters reads back the disks' limiters.
	Limiters(ctx context.Context, api *API) ([]*Limiter, error)
}

// Machine is the full configuration of one guest.
type Machine struct {
	Name           string // letters, digits and dashes
	CPUs           int
	Memory         quantity.Bytes
	Cores          []int
	CommandLine    string // of the kernel
	RootWritable   bool
	Disk           *Limiter      // of each disk; nil for none
	Port           *virtnet.Port // whose tap the VMM opens by name; nil without a network
	Directory      string        // in which the VMM runs
	GuestDirectory string        // the guest's directory; contains Directory
	User           int           // UID of the VMM; 0 without a jail
	// Events is the pipe of the VMM's events, if Command created one.
	Events *os.File
}

// The files in the directory in which the VMM runs.
const (
	Kernel            = "kernel"
	Initramfs         = "initramfs"
	Root              = "root"
	Data              = "data"
	Socket            = "api.sock"
	VSock             = "v.sock"
	Log               = "log"
	SnapshotDirectory = "saved"
)

// The guest's vsock address, and the agent's port.
const (
	GuestCID  = 3
	agentPort = 1024
)

// Environment is a VMM with options. All instances share what Prepare creates.
type Environment struct {
	vmm                  *VMM
	options              Options
	vmm.Prepared[string] // the paths of the images' disks

	mutex     sync.Mutex
	snapshots map[snapshotKey]*snapshot

	versions sync.Once
	version  string
}

// New returns an environment.
func New(v *VMM, o Options) environment.Environment {
	e := &Environment{vmm: v, options: o, snapshots: map[snapshotKey]*snapshot{}}
	e.Check = func(guest *kernel.Guest) error {
		if guest.Vmlinux == "" {
			return fmt.Errorf("kernel %s cannot be converted to the ELF format that %s boots", guest.Version, v.Name)
		}
		return nil
	}
	e.Data = func(ctx context.Context, file string) (*vmm.Template, error) {
		return vmm.EmptyFileSystem(ctx, file, int64(o.Data))
	}
	e.Root = func(_ context.Context, _, disk string) (string, error) { return disk, nil }
	return e
}

// programVersion returns the VMM's version, as it prints it.
func (e *Environment) programVersion() string {
	e.versions.Do(func() { e.version, _ = Version(context.Background(), e.options.Program) })
	return e.version
}

// Label is "": these VMMs have no software emulation.
func (e *Environment) Label() string { return "" }

// Versions returns the versions of the VMM and the guest's kernel.
func (e *Environment) Versions(context.Context) map[string]string {
	versions := map[string]string{}
	if v := e.programVersion(); v != "" {
		versions[e.vmm.Key] = v
	}
	return e.AddKernel(versions)
}

// NewNetwork creates a bridge with one tap per guest. Restored guests cannot join, since
// they have the network card and address of the snapshot.
func (e *Environment) NewNetwork(_ context.Context, o *cleanup.Owner, _ string) (environment.Network, error) {
	if e.options.Start == Snapshot {
		return nil, nil
	}
	return e.bridge(o)
}

// Bridged reports whether guests that meet are at a bridge.
func (e *Environment) Bridged() bool {
	return e.options.Network != "nat" && e.options.Start != Snapshot
}

func (e *Environment) bridge(o *cleanup.Owner) (*virtnet.Bridge, error) {
	if e.options.Network == "nat" {
		return virtnet.NewNAT(o.ID(), "a bridge with NAT, one tap and virtio network card each")
	}
	return virtnet.NewBridge(o.ID(), "a bridge, one tap and virtio network card each")
}

// Version runs a program to read its version.
func Version(ctx context.Context, program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%s is not on the PATH", program)
	}
	output, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w: %s", program, err, strings.TrimSpace(string(output)))
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	if line == "" {
		return "", fmt.Errorf("%s --version printed nothing", program)
	}
	return line, nil
}
