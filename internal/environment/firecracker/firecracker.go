// Package firecracker runs an image in a microVM under Firecracker, which it
// controls through the API at a unix socket.
//
// It must not know workloads, studies or statistics.
package firecracker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"tare/internal/base/bounded"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/environment/support/microvm"
	"tare/internal/environment/support/vmm"
	"tare/internal/linux/beneath"
)

func init() {
	environment.Register(environment.Registration{
		Kind:     "firecracker",
		About:    "a microVM under Firecracker, booted or restored from a snapshot; needs working KVM",
		Options:  func() any { return defaults() },
		Requires: func(o any) []environment.Requirement { return requirements(o.(*Options)) },
		Parts:    microvm.LadderParts(func(o any) *microvm.Options { return &o.(*Options).Options }),
		Needs:    func(o any) (environment.Needs, error) { return o.(*Options).needs() },
		New: func(o any) (environment.Environment, error) {
			f := &firecracker{options: *o.(*Options)}
			return microvm.New(f.vmm(), f.options.Options), nil
		},
	})
}

// Options of the kind firecracker, as a study writes them.
type Options struct {
	microvm.Options `yaml:",inline"`
	// Cache is unsafe (the guest's flushes are ignored, Firecracker's default) or
	// writeback (they reach the host's disk).
	Cache string `yaml:"cache" json:"cache"`
	// AIO is the I/O engine of the disks: sync, or async (io_uring).
	AIO string `yaml:"aio" json:"aio"`
	// SMT gives the guest two threads per core.
	SMT bool `yaml:"smt" json:"smt,omitempty"`
	// BootTimer makes Firecracker measure the boot with its boot timer device.
	BootTimer bool `yaml:"boot_timer" json:"boot_timer,omitempty"`
	// Jailer is the executable of the jailer, which runs Firecracker in a chroot as
	// another user: a name on the PATH, or a path; "" is no jail.
	Jailer string `yaml:"jailer" json:"jailer,omitempty"`
	// JailUser is that user's UID, and the GID.
	JailUser int `yaml:"jail_user" json:"jail_user,omitempty"`
}

func defaults() *Options {
	const nobody = 65534
	return &Options{Options: microvm.Defaults("firecracker"), Cache: "writeback", AIO: "sync", JailUser: nobody}
}

// maxCPUs is Firecracker's maximum of virtual CPUs.
const maxCPUs = 32

// Validate returns all errors of the options.
func (o *Options) Validate() error {
	wrong := []error{o.Options.Validate(), environment.OneOf("cache", o.Cache, "unsafe", "writeback"), environment.OneOf("aio", o.AIO, "sync", "async")}
	say := func(key, format string, values ...any) {
		wrong = append(wrong, strictyaml.AtKey(key, format, values...))
	}
	if o.CPUs > maxCPUs {
		say("cpus", "%d: Firecracker supports at most %d", o.CPUs, maxCPUs)
	}
	if o.SMT && o.CPUs > 1 && o.CPUs%2 != 0 {
		say("cpus", "%d is odd, and smt: true gives the guest two threads per core", o.CPUs)
	}
	if o.BootTimer && o.Start == microvm.Snapshot {
		say("boot_timer", "a restored guest does not boot: set start: boot")
	}
	if o.Jailer != "" && o.Start == microvm.Snapshot {
		say("jailer", "a snapshot's memory cannot be shared with a chroot: set start: boot, or no jailer")
	}
	if o.Jailer != "" && o.JailUser <= 0 {
		say("jail_user", "%d: it must be a positive UID", o.JailUser)
	}
	return errors.Join(wrong...)
}

type firecracker struct{ options Options }

func (f *firecracker) vmm() *microvm.VMM {
	v := &microvm.VMM{
		Name: "Firecracker", Key: "firecracker", DiskMode: "cache " + f.options.Cache + ", " + f.options.AIO,
		VCPUThread:    regexp.MustCompile(`^fc_vcpu (\d+)$`),
		KernelArgs:    f.kernelArgs,
		AddedArgs:     len(" pci=off") + devices*len(" virtio_mmio.device=4K@0xc0001000:10"),
		Resets:        true,
		SnapshotFiles: []string{stateFile, memoryFile},
		Ping:          "/",
		Boot:          microvm.Put("/actions", action{"InstanceStart"}),
		Pause:         microvm.Request{Method: http.MethodPatch, Path: "/vm", Body: state{"Paused"}},
		Resume:        microvm.Request{Method: http.MethodPatch, Path: "/vm", Body: state{"Resumed"}},
		Guests:        f,
	}
	if f.options.Jailer != "" {
		v.RunDirectory = f.runDirectory
	}
	if f.options.BootTimer {
		v.Finish = f.noteBootTime
	}
	return v
}

// devices whose place Firecracker adds to the kernel's command line: two disks, the vsock
// and a network card.
const devices = 4

// runDirectory returns the jail's root, whose path the jailer defines: it has the
// name of the program's file, to which the program may be a link.
func (f *firecracker) runDirectory(dir, name string) (string, int) {
	program := microvm.Path(f.options.Program)
	if file, err := filepath.EvalSymlinks(program); err == nil {
		program = file
	}
	return filepath.Join(dir, "jail", filepath.Base(program), id(name), "root"), f.options.JailUser
}

// id returns a guest's ID, which Firecracker and the jailer limit. It is part of the
// log and of the jail's path, which is below the guest's own directory.
func id(name string) string {
	const longest = 64
	return name[:min(len(name), longest)]
}

// Command starts Firecracker, or the jailer, which executes Firecracker.
func (f *firecracker) Command(m *microvm.Machine) vmm.Command {
	c := vmm.Command{CleanExit: "it reset itself, as after a kernel panic or a reboot"}
	args := []string{"--api-sock", microvm.Socket}
	if f.options.BootTimer {
		args = append(args, "--boot-timer")
	}
	c.Program = microvm.Path(f.options.Program)
	if f.options.Jailer == "" {
		c.Arguments = append([]string{"--id", id(m.Name)}, args...)
		return c
	}
	user := strconv.Itoa(f.options.JailUser)
	c.Arguments = append([]string{"--id", id(m.Name), "--exec-file", c.Program, "--uid", user, "--gid", user,
		"--chroot-base-dir", filepath.Join(m.GuestDirectory, "jail"), "--"}, args...)
	c.Program = microvm.Path(f.options.Jailer)
	return c
}

// kernelArgs: there is a keyboard controller with nothing but the reset line, and
// probing it for more takes time.
func (f *firecracker) kernelArgs() []string {
	words := []string{"reboot=k", "i8042.noaux", "i8042.nomux", "i8042.dumbkbd", "tare.off=reboot"}
	if f.options.BootTimer {
		words = append(words, fmt.Sprintf("tare.timer=%#x", f.timer()))
	}
	return words
}

// noteBootTime notes the boot timer's value.
func (f *firecracker) noteBootTime(g *vmm.Guest, dir string) {
	if file, err := beneath.Open(dir, microvm.Log); err == nil {
		log, err := bounded.ReadAll(file, bounded.Line) // a jailed VMM writes it
		file.Close()
		if took, ok := bootTime(string(log)); err == nil && ok {
			g.Note("Firecracker's boot timer: %s", took)
			return
		}
	}
	g.Note("Firecracker's boot timer has no value: the guest could not write to its address, %#x", f.timer())
}

var (
	bootLine    = regexp.MustCompile(`Guest-boot-time =\s*(\d+) us \d+ ms,\s*(\d+) CPU us`)
	versionLine = regexp.MustCompile(`v(\d+)\.(\d+)`)
)

// bootTime finds the boot timer's value in the log.
func bootTime(log string) (string, bool) {
	match := bootLine.FindStringSubmatch(log)
	if match == nil {
		return "", false
	}
	wall, _ := strconv.Atoi(match[1])
	cpu, _ := strconv.Atoi(match[2])
	return fmt.Sprintf("%.1f ms, %.1f ms of processor time", float64(wall)/1000, float64(cpu)/1000), true
}

// timer returns the boot timer's address, the first of the MMIO devices. They
// moved when Firecracker added PCI, in version 1.13.
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

// title converts an option's value to the API's spelling: writeback to Writeback.
func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }
