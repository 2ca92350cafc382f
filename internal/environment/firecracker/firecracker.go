// Package firecracker runs an image in a microVM of Firecracker, by requests to
// its API at a unix socket.
//
// It must not know workloads, studies or statistics.
package firecracker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"tare/internal/environment"
	"tare/internal/environment/support/microvm"
	"tare/internal/environment/support/vmm"
)

func init() {
	environment.Register(environment.Registration{
		Kind:     "firecracker",
		About:    "a microVM under Firecracker, booted or restored from a snapshot; needs KVM that works",
		Options:  func() any { return defaults() },
		Requires: func(o any) []environment.Requirement { return requirements(o.(*Options)) },
		New: func(o any) (environment.Environment, error) {
			options := *o.(*Options)
			if err := options.Validate(); err != nil {
				return nil, err
			}
			return microvm.New(&firecracker{options: options}, options.Options), nil
		},
		// Sweep is nil: processes, cgroups and folders are what the owner finds by
		// itself, and a guest's bridge vanishes with the process.
	})
}

// Options of the kind firecracker, as a study writes them.
type Options struct {
	microvm.Options `yaml:",inline"`
	// Cache is unsafe (the guest's syncs are ignored, Firecracker's own default)
	// or writeback (they reach the host's disk).
	Cache string `yaml:"cache" json:"cache"`
	// AIO is how Firecracker does the disks' I/O: sync, or async (io_uring).
	AIO string `yaml:"aio" json:"aio"`
	// SMT shows the guest two threads a core.
	SMT bool `yaml:"smt" json:"smt,omitempty"`
	// BootTimer asks Firecracker how long the boot took, by its own clock.
	BootTimer bool `yaml:"boot_timer" json:"boot_timer,omitempty"`
	// Jailer is the program that puts Firecracker into a chroot as another user:
	// a name on the PATH, or a path; "" is none.
	Jailer string `yaml:"jailer" json:"jailer,omitempty"`
	// JailUser is that user's number, and the group's.
	JailUser int `yaml:"jail_user" json:"jail_user,omitempty"`
}

func defaults() *Options {
	const nobody = 65534
	return &Options{Options: microvm.Defaults("firecracker"), Cache: "writeback", AIO: "sync", JailUser: nobody}
}

// most is how many virtual CPUs Firecracker gives a guest.
const most = 32

// Validate says everything that is wrong with the options.
func (o *Options) Validate() error {
	wrong := []error{o.Options.Validate()}
	say := func(format string, values ...any) { wrong = append(wrong, fmt.Errorf(format, values...)) }
	microvm.OneOf(say, "cache", o.Cache, "unsafe", "writeback")
	microvm.OneOf(say, "aio", o.AIO, "sync", "async")
	if o.CPUs > most {
		say("cpus: %d: Firecracker gives a guest at most %d", o.CPUs, most)
	}
	if o.SMT && o.CPUs > 1 && o.CPUs%2 != 0 {
		say("cpus: %d is odd, and smt: true shows the guest two threads a core", o.CPUs)
	}
	if o.BootTimer && o.Start == microvm.Snapshot {
		say("boot_timer: a restored guest does not boot: write start: boot")
	}
	if o.Jailer != "" && o.Start == microvm.Snapshot {
		say("jailer: the saved guest's memory cannot be shared into a chroot: write start: boot, or no jailer")
	}
	if o.Jailer != "" && o.JailUser <= 0 {
		say("jail_user: %d is no user to be jailed as", o.JailUser)
	}
	return errors.Join(wrong...)
}

const mend = "put the program firecracker of its release archive on the PATH, or its path into the option program; no distribution has a package"

func requirements(o *Options) []environment.Requirement {
	list := microvm.Requirements("Firecracker", &o.Options, mend)
	if o.Jailer != "" {
		list = append(list, environment.Requirement{What: "the program " + o.Jailer + ", for the jail",
			Check: vmm.OnPath(o.Jailer, "take it from the release archive of this very version of Firecracker")})
	}
	return list
}

type firecracker struct{ options Options }

func (f *firecracker) Name() string     { return "Firecracker" }
func (f *firecracker) Key() string      { return "firecracker" }
func (f *firecracker) PingPath() string { return "/" }
func (f *firecracker) DiskMode() string {
	return "cache " + f.options.Cache + ", " + f.options.AIO
}

var thread = regexp.MustCompile(`^fc_vcpu (\d+)$`)

func (f *firecracker) VCPUThread() *regexp.Regexp { return thread }

// RunDirectory is the jail that the jailer makes, by its own rule.
func (f *firecracker) RunDirectory(folder, name string) (string, int) {
	if f.options.Jailer == "" {
		return folder, 0
	}
	program := filepath.Base(microvm.Path(f.options.Program))
	return filepath.Join(folder, "jail", program, name, "root"), f.options.JailUser
}

// Command starts Firecracker, or the jailer that becomes Firecracker.
func (f *firecracker) Command(m *microvm.Machine) vmm.Command {
	c := vmm.Command{CleanExit: "it reset itself, as after a kernel panic or at its own wish"}
	own := []string{"--api-sock", microvm.Socket}
	if f.options.BootTimer {
		own = append(own, "--boot-timer")
	}
	c.Program = microvm.Path(f.options.Program)
	if f.options.Jailer == "" {
		c.Arguments = append([]string{"--id", m.Name}, own...)
		return c
	}
	user := strconv.Itoa(f.options.JailUser)
	c.Arguments = append([]string{"--id", m.Name, "--exec-file", c.Program, "--uid", user, "--gid", user,
		"--chroot-base-dir", filepath.Join(m.GuestDirectory, "jail"), "--"}, own...)
	c.Program = microvm.Path(f.options.Jailer)
	return c
}

// Words: there is a keyboard controller with nothing but the reset line, and
// probing it for more takes time.
func (f *firecracker) KernelArgs(*microvm.Machine) []string {
	words := []string{"reboot=k", "i8042.noaux", "i8042.nomux", "i8042.dumbkbd", "tare.off=reboot"}
	if f.options.BootTimer {
		words = append(words, fmt.Sprintf("tare.timer=%#x", f.timer()))
	}
	return words
}

// Watch has nothing to look at: Firecracker ends with its guest.
func (f *firecracker) Watch(*microvm.Machine, *vmm.Process) {}

// Quit has no request of its own.
func (f *firecracker) Quit(_ context.Context, _ *microvm.API, p *vmm.Process) { _ = p.Terminate() }

// Finish adds the boot timer's figure.
func (f *firecracker) Finish(g *vmm.Guest, folder string) {
	if !f.options.BootTimer {
		return
	}
	log, err := os.ReadFile(filepath.Join(folder, microvm.Log))
	if took, ok := bootTime(string(log)); err == nil && ok {
		g.Note("Firecracker's own boot timer: %s", took)
		return
	}
	g.Note("Firecracker's boot timer has no figure: the guest could not write to its address, %#x", f.timer())
}

var (
	bootLine    = regexp.MustCompile(`Guest-boot-time =\s*(\d+) us \d+ ms,\s*(\d+) CPU us`)
	versionLine = regexp.MustCompile(`v(\d+)\.(\d+)`)
)

// bootTime finds the timer's figure in the log.
func bootTime(log string) (string, bool) {
	match := bootLine.FindStringSubmatch(log)
	if match == nil {
		return "", false
	}
	wall, _ := strconv.Atoi(match[1])
	cpu, _ := strconv.Atoi(match[2])
	return fmt.Sprintf("%.1f ms, %.1f ms of processor time", float64(wall)/1000, float64(cpu)/1000), true
}

// timer is the boot timer's address, which is the first of the devices'. They
// moved when Firecracker learned PCI, in version 1.13.
func (f *firecracker) timer() uint64 {
	const before, since = 0xd0000000, 0xc0000000
	version, err := microvm.Version(context.Background(), f.options.Program)
	match := versionLine.FindStringSubmatch(version)
	if err != nil || match == nil {
		return since
	}
	major, _ := strconv.Atoi(match[1])
	minor, _ := strconv.Atoi(match[2])
	if major < 1 || major == 1 && minor < 13 {
		return before
	}
	return since
}

// title writes an option's value as the API does: Writeback for writeback.
func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }
