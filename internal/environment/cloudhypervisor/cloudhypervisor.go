// Package cloudhypervisor runs an image in a virtual machine under Cloud
// Hypervisor, which it controls through the API at a unix socket.
//
// It must not know workloads, studies or statistics.
package cloudhypervisor

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"

	"tare/internal/base/bounded"
	"tare/internal/environment"
	"tare/internal/environment/support/microvm"
	"tare/internal/environment/support/vmm"
)

func init() {
	environment.Register(environment.Registration{
		Kind:     "cloud-hypervisor",
		About:    "a virtual machine under Cloud Hypervisor, booted or restored from a snapshot; needs working KVM",
		Options:  func() any { return defaults() },
		Requires: func(o any) []environment.Requirement { return requirements(o.(*Options)) },
		Parts:    microvm.LadderParts(func(o any) *microvm.Options { return &o.(*Options).Options }),
		Needs:    func(o any) (environment.Needs, error) { return microvm.Needs(&o.(*Options).Options) },
		New: func(o any) (environment.Environment, error) {
			h := &hypervisor{options: *o.(*Options)}
			return microvm.New(h.vmm(), h.options.Options), nil
		},
	})
}

// Options of the kind cloud-hypervisor, as a study writes them.
type Options struct {
	microvm.Options `yaml:",inline"`
	// Cache is the cache mode of the disks: writeback (host page cache) or none
	// (O_DIRECT).
	Cache string `yaml:"cache" json:"cache"`
}

func defaults() *Options {
	return &Options{Options: microvm.Defaults("cloud-hypervisor"), Cache: "writeback"}
}

// Validate returns all errors of the options.
func (o *Options) Validate() error {
	return errors.Join(o.Options.Validate(), environment.OneOf("cache", o.Cache, "writeback", "none"))
}

var fix = environment.Advice("put cloud-hypervisor from its release page on the PATH, or set the option program to its path; no distribution has a package")

func requirements(o *Options) []environment.Requirement {
	return microvm.Requirements("Cloud Hypervisor", &o.Options, fix)
}

type hypervisor struct{ options Options }

func (h *hypervisor) vmm() *microvm.VMM {
	return &microvm.VMM{
		Name: "Cloud Hypervisor", Key: "cloud-hypervisor", DiskMode: "cache " + h.options.Cache,
		VCPUThread:    regexp.MustCompile(`^vcpu(\d+)$`),
		KernelArgs:    func() []string { return []string{"tare.off=poweroff"} }, // the machine has ACPI
		SnapshotFiles: []string{"config.json", "state.json", "memory-ranges"},
		Ping:          root + "/vmm.ping",
		Boot:          microvm.Put(root+"/vm.boot", nil),
		Pause:         microvm.Put(root+"/vm.pause", nil),
		Resume:        microvm.Put(root+"/vm.resume", nil),
		Quit:          microvm.Put(root+"/vmm.shutdown", nil),
		Guests:        h,
		Watch:         watch,
	}
}

// Command starts Cloud Hypervisor with its API, a pipe for events, and a log file.
func (h *hypervisor) Command(m *microvm.Machine) vmm.Command {
	c := vmm.Command{
		Program:   microvm.Path(h.options.Program),
		Arguments: []string{"--api-socket", "path=" + microvm.Socket, "--log-file", microvm.Log, "-v"},
		CleanExit: "it powered itself off",
	}
	if ours, peer, err := os.Pipe(); err == nil { // without events, messages have less detail
		m.Events, c.Files = ours, []*os.File{peer}
		c.Arguments = append(c.Arguments, "--event-monitor", "fd=3")
	}
	return c
}

// watch reads the events. It kills Cloud Hypervisor if the guest resets itself,
// since it would reboot, endlessly if its kernel panics.
func watch(m *microvm.Machine, p *vmm.Process) {
	if m.Events == nil {
		return
	}
	for in := bounded.NewValues(m.Events, bounded.Answer); ; {
		var event struct{ Source, Event string }
		if err := in.Next(&event); err != nil {
			return // Cloud Hypervisor has exited
		}
		if event.Source == "vm" && (event.Event == "rebooting" || event.Event == "rebooted") && !p.ExitExpected() {
			p.SetStopReason("it reset itself, as after a kernel panic or a reboot")
			_ = p.Kill()
		}
	}
}

// url returns the URL of a snapshot's directory.
func url(dir string) string { return "file://" + filepath.Join(dir, microvm.SnapshotDirectory) }
