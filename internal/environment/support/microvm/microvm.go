// Package microvm is what the VMMs with a REST API at a unix socket share: an
// image in a guest with a kernel, a read-only root disk that all guests have
// together and a data disk of their own, the agent over vsock, and a start
// that boots or one that restores a guest that was saved. A kind of environment
// brings a VMM: the requests of its own API.
//
// It must not know any VMM by name, nor workloads, studies or statistics.
package microvm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"tare/internal/agent"
	"tare/internal/cleanup"
	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
	"tare/internal/image"
	"tare/internal/linux/virtnet"
	"tare/internal/quantity"
)

// VMM is what differs between the programs. All paths in its requests are
// relative to the folder that the program runs in.
type VMM interface {
	// Name in messages: "Firecracker".
	Name() string
	// Key is the name in versions: "firecracker".
	Key() string
	// RunDirectory is where the program runs for a guest whose folder this is, and the
	// user that it runs as: 0 without a jail. In a jail it reaches nothing that
	// lies elsewhere.
	RunDirectory(folder, name string) (home string, user int)
	// Command that starts the program for a guest, without its folder.
	Command(m *Machine) vmm.Command
	// PingPath is a path of the API that answers as soon as anything does.
	PingPath() string
	// KernelArgs of the kernel's command line that only this VMM's guests need.
	KernelArgs(m *Machine) []string
	// Define tells the program all about its guest, which does not run yet.
	Define(ctx context.Context, api *API, m *Machine) error
	// Boot lets a defined guest run.
	Boot(ctx context.Context, api *API) error
	// Save stops a running guest and saves it to the files of Saved.
	Save(ctx context.Context, api *API, m *Machine) error
	// SnapshotFiles are the files that a saved guest consists of, below SavedFolder.
	SnapshotFiles() []string
	// Load makes a guest of the saved files, which stands still.
	Load(ctx context.Context, api *API, m *Machine) error
	// Resume lets a loaded guest run.
	Resume(ctx context.Context, api *API) error
	// Quit asks the program to end.
	Quit(ctx context.Context, api *API, p *vmm.Process)
	// Limiters are those of the disks, asked for again.
	Limiters(ctx context.Context, api *API) ([]*Limiter, error)
	// VCPUThread is what a virtual CPU's thread is called, with its number.
	VCPUThread() *regexp.Regexp
	// Watch looks at a program that has started until it has ended, for what it
	// says of its guest. The files are those that Command made for it.
	Watch(m *Machine, p *vmm.Process)
	// Finish adds what is known only after the start.
	Finish(g *vmm.Guest, folder string)
	// DiskMode says in a few words how the program treats disks: "cache unsafe".
	DiskMode() string
}

// Machine is one guest, fully decided.
type Machine struct {
	Name           string // of letters, digits and dashes
	CPUs           int
	Memory         quantity.Bytes
	Cores          []int
	CommandLine    string // of the kernel
	RootWritable   bool
	Disk           *Limiter      // of each disk; nil for none
	Port           *virtnet.Port // whose tap the program opens by its name; nil without one
	Directory      string        // that the program runs in
	GuestDirectory string        // the guest's own, in which that is
	User           int           // that the program runs as; 0 without a jail
	// Events is where a VMM reads what its program says, if it asked for that in
	// its Command.
	Events *os.File
}

// The files in the folder that the program runs in.
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

// The guest's address on vsock, and the port that the agent speaks through.
const (
	GuestCID  = 3
	agentPort = 1024
)

// Environment is a VMM with options. What it makes in Prepare is shared by all
// instances.
type Environment struct {
	vmm     VMM
	options Options

	mutex sync.Mutex
	guest *image.Guest
	data  *vmm.Template     // an empty file system
	disks map[string]string // each image's disk, by digest
	saved map[saving]*saved

	versions sync.Once
	version  string
}

// Networked is one whose guests can join networks. Restored guests cannot: they
// have the network card and address of the one that was saved.
type Networked struct{ *Environment }

// New makes an environment.
func New(v VMM, o Options) environment.Environment {
	e := &Environment{vmm: v, options: o, disks: map[string]string{}, saved: map[saving]*saved{}}
	if o.Start == Snapshot {
		return e
	}
	return Networked{e}
}

// ownVersion is what the program calls itself.
func (e *Environment) ownVersion() string {
	e.versions.Do(func() { e.version, _ = Version(context.Background(), e.options.Program) })
	return e.version
}

// Label is "tcg" for the guests of a double, which are emulated.
func (e *Environment) Label() string {
	if isDouble(e.ownVersion()) {
		return "tcg"
	}
	return ""
}

// Versions of the program and the guest's kernel.
func (e *Environment) Versions(context.Context) map[string]string {
	versions := map[string]string{}
	if v := e.ownVersion(); v != "" {
		versions[e.vmm.Key()] = v
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.guest != nil {
		versions["guest kernel"] = e.guest.Version
	}
	return versions
}

// Prepare makes the disk of the image, the guest that boots it, and an empty
// data disk.
func (e *Environment) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	if progress == nil {
		progress = func(string) {}
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.disks[img.Digest] != "" {
		return nil
	}
	work, err := os.MkdirTemp("", "tare-"+e.vmm.Key()+"-")
	if err != nil {
		return fmt.Errorf("making a folder to prepare a guest in: %w", err)
	}
	defer os.RemoveAll(work)
	if e.guest == nil {
		program, err := agent.WriteBinary(work)
		if err != nil {
			return err
		}
		guest, err := img.Guest(ctx, program, progress)
		if err != nil {
			return err
		}
		if guest.Vmlinux == "" {
			return fmt.Errorf("kernel %s cannot be unpacked to the ELF form that %s starts", guest.Version, e.vmm.Name())
		}
		e.guest = guest
	}
	if e.data == nil {
		if e.data, err = vmm.EmptyFileSystem(ctx, filepath.Join(work, "data"), int64(e.options.Data)); err != nil {
			return err
		}
	}
	progress("disk of image " + img.Name)
	disk, err := img.Disk(ctx)
	if err != nil {
		return err
	}
	if disk, err = filepath.Abs(disk); err != nil {
		return err
	}
	e.disks[img.Digest] = disk
	return nil
}

// parts returns what Prepare made.
func (e *Environment) parts(ctx context.Context, img *image.Image) (guest *image.Guest, disk string, data *vmm.Template, err error) {
	if err := e.Prepare(ctx, img, nil); err != nil {
		return nil, "", nil, err
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.guest, e.disks[img.Digest], e.data, nil
}

// NewNetwork makes a bridge, at which each guest has a tap.
func (e Networked) NewNetwork(_ context.Context, o *cleanup.Owner, _ string) (environment.Network, error) {
	return e.bridge(o)
}

func (e *Environment) bridge(o *cleanup.Owner) (*virtnet.Bridge, error) {
	if e.options.Network == "nat" {
		return virtnet.NewNAT(o.ID(), "a bridge with NAT, one tap and virtio network card each")
	}
	return virtnet.NewBridge(o.ID(), "a bridge, one tap and virtio network card each")
}

// Version asks a program for its version.
func Version(ctx context.Context, program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%s is not on the PATH", program)
	}
	said, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w: %s", program, err, strings.TrimSpace(string(said)))
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	if line == "" {
		return "", fmt.Errorf("%s --version printed nothing", program)
	}
	return line, nil
}

// isDouble tells the doubles of the tests, which say so in their version.
func isDouble(version string) bool { return strings.Contains(version, FakeMarker) }

// FakeMarker stands in the version of a double.
const FakeMarker = "(double)"
