package oci

import (
	"fmt"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"tare/internal/environment"
)

// agentInside is the path of the agent's program inside, read-only.
const agentInside = "/.tare/agent"

// bundleInput is what the configuration of an instance needs besides the options.
type bundleInput struct {
	name   string   // the host name inside
	root   string   // directory of the root
	binds  []string // mounts in the root, SRC:DST[:ro]
	given  []environment.Mount
	agent  string // the agent's program
	data   string // directory mounted at /data
	env    []string
	group  string   // the cgroup that the runtime makes; "" leaves it to others
	space  string   // the network namespace to join; "" for a fresh one
	held   []string // capabilities that can be given; nil for all
	kernel seccomp  // the profile for this kernel
}

// seccomp makes the filter for the rest of a specification; nil for none.
type seccomp func(*specs.Spec) (*specs.LinuxSeccomp, error)

// ids maps each id to itself in a user namespace: files of the image keep their
// owners, while the kernel still translates ids.
var ids = []specs.LinuxIDMapping{{ContainerID: 0, HostID: 0, Size: 65536}}

// spec is the OCI configuration of the instance.
func spec(o *Options, p bundleInput) (*specs.Spec, error) {
	capabilities, err := CapabilitiesOf(o.Capabilities, p.held)
	if err != nil {
		return nil, err
	}
	s := &specs.Spec{
		Version: "1.0.2", // which also the runtimes of older distributions know
		Root:    &specs.Root{Path: p.root, Readonly: o.Root == "bind"},
		Process: &specs.Process{
			Args: []string{agentInside, "stdio", "--open=/data"},
			Env:  append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, p.env...),
			Cwd:  "/",
			Capabilities: &specs.LinuxCapabilities{
				Bounding: capabilities, Effective: capabilities, Permitted: capabilities,
			},
			NoNewPrivileges: o.NoNewPrivs,
		},
		Mounts: mounts(o, p),
		Linux: &specs.Linux{
			Namespaces:  namespaces(o, p.space),
			CgroupsPath: p.group,
			Resources:   &specs.LinuxResources{Devices: deviceRules(o.Devices)},
		},
	}
	if o.Namespaces.UTS {
		s.Hostname = p.name
	}
	if o.Namespaces.User {
		s.Linux.UIDMappings, s.Linux.GIDMappings = ids, ids
	}
	if o.Masked {
		s.Linux.MaskedPaths, s.Linux.ReadonlyPaths = MaskedPaths, ReadonlyPaths
	}
	if o.Seccomp != "unconfined" {
		if s.Linux.Seccomp, err = p.kernel(s); err != nil {
			return nil, fmt.Errorf("making the seccomp filter %s: %w", o.Seccomp, err)
		}
	}
	return s, nil
}

func namespaces(o *Options, space string) (list []specs.LinuxNamespace) {
	for _, n := range []struct {
		on   bool
		kind specs.LinuxNamespaceType
		path string
	}{
		{o.Namespaces.PID, specs.PIDNamespace, ""},
		{o.Namespaces.Mount, specs.MountNamespace, ""},
		{o.Namespaces.IPC, specs.IPCNamespace, ""},
		{o.Namespaces.UTS, specs.UTSNamespace, ""},
		{o.Namespaces.Cgroup, specs.CgroupNamespace, ""},
		{o.Namespaces.User, specs.UserNamespace, ""},
		{o.Namespaces.Time, specs.TimeNamespace, ""},
		{o.Network != "host" || space != "", specs.NetworkNamespace, space},
	} {
		if n.on {
			list = append(list, specs.LinuxNamespace{Type: n.kind, Path: n.path})
		}
	}
	return list
}

// mounts are those that Docker makes, and those of the root.
func mounts(o *Options, p bundleInput) []specs.Mount {
	list := []specs.Mount{}
	for _, b := range p.binds {
		list = append(list, bindMount(b))
	}
	if o.Root == "bind" {
		for _, to := range scratch {
			list = append(list, specs.Mount{Destination: to, Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", "mode=1777"}})
		}
	}
	proc := specs.Mount{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}}
	sys := specs.Mount{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}}
	// In a user namespace proc and sysfs can be mounted only for namespaces that it
	// owns.
	if o.Namespaces.User && !o.Namespaces.PID {
		proc = bindMount("/proc:/proc")
	}
	if o.Namespaces.User && (o.Network == "host" || p.space != "") {
		sys = bindMount("/sys:/sys:ro")
	}
	list = append(list, proc,
		specs.Mount{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
		specs.Mount{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
		sys)
	if o.Namespaces.Mount && (!o.Namespaces.User || o.Namespaces.Cgroup) {
		list = append(list, specs.Mount{Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"ro", "nosuid", "noexec", "nodev"}})
	}
	if !o.Namespaces.User || o.Namespaces.IPC {
		list = append(list, specs.Mount{Destination: "/dev/mqueue", Type: "mqueue", Source: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}})
	}
	list = append(list,
		specs.Mount{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777", "size=67108864"}},
		bindMount(p.agent+":"+agentInside+":ro"))
	switch o.Data {
	case "overlay": // a directory of the root
	case "tmpfs":
		list = append(list, specs.Mount{Destination: "/data", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", "mode=1777"}})
	default:
		list = append(list, bindMount(p.data+":/data"))
	}
	for _, m := range p.given {
		if m.Memory {
			memory := specs.Mount{Destination: m.To, Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", "noexec", "mode=1777"}}
			if m.Size > 0 {
				memory.Options = append(memory.Options, fmt.Sprintf("size=%d", int64(m.Size)))
			}
			list = append(list, memory)
			continue
		}
		list = append(list, bindMount(m.String()))
	}
	return list
}

// scratch are the directories that are writable with a read-only root.
var scratch = []string{"/tmp", "/run", "/var/tmp"}

// bindMount parses SRC:DST[:ro].
func bindMount(text string) specs.Mount {
	text, readOnly := strings.CutSuffix(text, ":ro")
	from, to, _ := strings.Cut(text, ":")
	m := specs.Mount{Destination: to, Type: "bind", Source: from, Options: []string{"rbind", "rprivate"}}
	if readOnly {
		m.Options = append(m.Options, "ro")
	}
	return m
}

// deviceRules are Docker's: deny all, then allow a few. A runtime adds the devices that
// every container needs.
func deviceRules(filter bool) []specs.LinuxDeviceCgroup {
	rules := []specs.LinuxDeviceCgroup{{Allow: !filter, Access: "rwm"}}
	if !filter {
		return rules
	}
	number := func(n int64) *int64 { return &n }
	for _, c := range [][2]int64{{1, 5}, {1, 3}, {1, 9}, {1, 8}, {5, 0}, {5, 1}} {
		rules = append(rules, specs.LinuxDeviceCgroup{Allow: true, Type: "c", Major: number(c[0]), Minor: number(c[1]), Access: "rwm"})
	}
	return rules
}

// Paths that Docker masks and makes read-only; the kind native does the same.
var (
	MaskedPaths = []string{
		"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
		"/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
		"/sys/devices/virtual/powercap", "/sys/firmware",
	}
	ReadonlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)
