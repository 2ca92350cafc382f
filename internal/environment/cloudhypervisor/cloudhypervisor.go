// Package cloudhypervisor runs an image in a virtual machine of Cloud
// Hypervisor, by requests to its API at a unix socket.
//
// It must not know workloads, studies or statistics.
package cloudhypervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"tare/internal/environment"
	"tare/internal/environment/support/microvm"
	"tare/internal/environment/support/vmm"
)

func init() {
	environment.Register(environment.Registration{
		Kind:     "cloud-hypervisor",
		About:    "a virtual machine under Cloud Hypervisor, booted or restored from a snapshot; needs KVM that works",
		Options:  func() any { return defaults() },
		Requires: func(o any) []environment.Requirement { return requirements(o.(*Options)) },
		New: func(o any) (environment.Environment, error) {
			options := *o.(*Options)
			if err := options.Validate(); err != nil {
				return nil, err
			}
			return microvm.New(&hypervisor{options: options}, options.Options), nil
		},
		// Sweep is nil: processes, cgroups and folders are what the owner finds by
		// itself, and a guest's bridge vanishes with the process.
	})
}

// Options of the kind cloud-hypervisor, as a study writes them.
type Options struct {
	microvm.Options `yaml:",inline"`
	// Cache is how the host's page cache stands behind the guest's disks:
	// writeback, or none (past it).
	Cache string `yaml:"cache" json:"cache"`
}

func defaults() *Options {
	return &Options{Options: microvm.Defaults("cloud-hypervisor"), Cache: "writeback"}
}

// Validate says everything that is wrong with the options.
func (o *Options) Validate() error {
	wrong := []error{o.Options.Validate()}
	say := func(format string, values ...any) { wrong = append(wrong, fmt.Errorf(format, values...)) }
	microvm.OneOf(say, "cache", o.Cache, "writeback", "none")
	return errors.Join(wrong...)
}

const mend = "put the program cloud-hypervisor of its release page on the PATH, or its path into the option program; no distribution has a package"

func requirements(o *Options) []environment.Requirement {
	return microvm.Requirements("Cloud Hypervisor", &o.Options, mend)
}

type hypervisor struct{ options Options }

func (h *hypervisor) Name() string     { return "Cloud Hypervisor" }
func (h *hypervisor) Key() string      { return "cloud-hypervisor" }
func (h *hypervisor) PingPath() string { return root + "/vmm.ping" }
func (h *hypervisor) DiskMode() string { return "cache " + h.options.Cache }

var thread = regexp.MustCompile(`^vcpu(\d+)$`)

func (h *hypervisor) VCPUThread() *regexp.Regexp { return thread }

// RunDirectory is the guest's folder: there is no jail.
func (h *hypervisor) RunDirectory(folder, _ string) (string, int) { return folder, 0 }

// Command starts the program with nothing but its API. It tells of its guest
// through a pipe, and its log goes to a file.
func (h *hypervisor) Command(m *microvm.Machine) vmm.Command {
	c := vmm.Command{
		Program:   microvm.Path(h.options.Program),
		Arguments: []string{"--api-socket", "path=" + microvm.Socket, "--log-file", microvm.Log, "-v"},
		CleanExit: "it switched itself off",
	}
	if ours, theirs, err := os.Pipe(); err == nil { // else its end says less
		m.Events, c.Files = ours, []*os.File{theirs}
		c.Arguments = append(c.Arguments, "--event-monitor", "fd=3")
	}
	return c
}

// Words: the machine has ACPI, and can be switched off.
func (h *hypervisor) KernelArgs(*microvm.Machine) []string { return []string{"tare.off=poweroff"} }

// Watch reads the events. A guest that resets itself would boot again, for ever
// if its kernel panics, so the program is ended instead.
func (h *hypervisor) Watch(m *microvm.Machine, p *vmm.Process) {
	if m.Events == nil {
		return
	}
	for in := json.NewDecoder(m.Events); ; {
		var event struct{ Source, Event string }
		if err := in.Decode(&event); err != nil {
			return // the program has ended
		}
		if event.Source == "vm" && (event.Event == "rebooting" || event.Event == "rebooted") && !p.ExitExpected() {
			p.SetStopReason("it reset itself, as after a kernel panic or at its own wish")
			_ = p.Kill()
		}
	}
}

// Quit asks the program to end.
func (h *hypervisor) Quit(ctx context.Context, api *microvm.API, _ *vmm.Process) {
	_ = api.Put(ctx, root+"/vmm.shutdown", nil) // it may be gone before it answers
}

// Finish has nothing to add.
func (h *hypervisor) Finish(*vmm.Guest, string) {}

// SnapshotFiles are the files of a snapshot.
func (h *hypervisor) SnapshotFiles() []string {
	return []string{"config.json", "state.json", "memory-ranges"}
}

// url is that of the folder of a snapshot.
func url(folder string) string { return "file://" + filepath.Join(folder, microvm.SnapshotDirectory) }
