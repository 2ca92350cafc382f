package parity

import (
	"slices"
	"strings"
)

// Where a fact is read.
const (
	Inside  = "inside"  // by the agent
	Outside = "outside" // by the host and the provider
	Planned = "plan"    // from the plan
)

// Values that facts of several keys have.
const (
	None       = "none"        // no limit, no such thing
	Own        = "own"         // a separate namespace
	Hosts      = "the host's"  // a namespace shared with the host
	OwnKernel  = "own kernel"  // nothing is shared: another kernel runs inside
	ToTheAgent = "the agent"   // a pipe to the agent, which forwards the output to tare
	Nowhere    = "nowhere"     // /dev/null or closed
	LibcsOwn   = "the libc's"  // no allocator library is loaded
	Address    = "${address}"  // in place of the instance's address in a text
	Instance   = "${instance}" // in place of its name or ID in a text
)

// Key defines a kind of fact. A * in its name stands for an argument: sysctl[*] has
// one fact per setting.
type Key struct {
	Name  string `json:"name"`
	Unit  string `json:"unit,omitempty"` // "" for words, B, KiB, 1 for what is counted
	Seen  string `json:"seen"`           // usually: facts of an instance's own kernel are read inside only
	About string `json:"about"`
}

// Keys are all kinds of facts. "The server" is the workload's first server that
// runs in the instance; if there is none, facts of a process are those that every
// command of the agent starts with. ROLE is the step's role, else
// "server" or "driver"; SERVER is the role, and where a role has several servers
// ROLE.2 for the second; PROGRAM is the file's name.
var Keys = []Key{
	{"kernel.release", "", Inside, "from uname"},
	{"kernel.version", "", Inside, "build, from uname"},
	{"kernel.cmdline", "", Inside, "the kernel's command line"},
	{"kernel.architecture", "", Inside, "from uname: x86_64"},
	{"kernel.own", "", Inside, "the host's, or own kernel if another one runs inside (by boot ID)"},

	{"machine.system", "", Outside, "distribution and release of the machine that the environment is inside"},

	{"cpu.model", "", Inside, "model name of the first processor"},
	{"cpu.flags", "", Inside, "its features, sorted"},
	{"cpu.count", "1", Inside, "online processors"},
	{"cpu.allowed", "", Inside, "cores that the process may run on, by their numbers inside: 0-1"},
	{"cpu.mitigation[*]", "", Inside, "by vulnerability"},
	{"cpu.governor", "", Outside, "frequency governor of the host's first core"},

	{"limit.cpu", "1", Outside, "CPU quota in cores; none"},
	{"limit.cpu.period", "us", Outside, "period of the CPU quota; none"},
	{"limit.cpu.weight", "1", Outside, "weight of its cgroup relative to its siblings: cpu.weight, or cpu.shares on cgroup v1"},
	{"limit.cores", "", Outside, "cpuset, by the host's numbers: 0-1"},
	{"limit.memory", "B", Outside, "of the cgroup; none. The memory of a virtual machine is memory.total"},
	{"limit.swap", "B", Outside, "swap that the cgroup may use in addition to memory; 0 also if the machine has none; none is no limit"},
	{"limit.pids", "1", Outside, "processes and threads; none"},

	{"memory.total", "B", Inside, "of the machine as the instance sees it, to 16 MiB"},
	{"memory.swap", "B", Inside, "swap space of the machine as the instance sees it"},
	{"memory.thp", "", Inside, "transparent huge pages: always, madvise or never"},
	{"memory.thp.defrag", "", Inside, "when the kernel defragments memory for them"},
	{"page.size", "B", Inside, "size of a page"},

	{"clock.source", "", Inside, "current clocksource: tsc, kvm-clock, hpet"},
	{"clock.available", "", Inside, "available clocksources"},
	{"sysctl[*]", "", Inside, "by name: sysctl[net.core.somaxconn]"},

	{"process.user", "", Inside, "user and group of the server: 0:0"},
	{"process.priority", "1", Inside, "nice value of the server"},
	{"process.policy", "", Inside, "scheduling policy of the server: other, fifo, rr, batch, idle, deadline"},
	{"process.oom", "1", Inside, "oom_score_adj of the server"},
	{"ulimit[*].soft", "", Inside, "of the server: ulimit[nofile].soft; unlimited"},
	{"ulimit[*].hard", "", Inside, "of the server"},
	{"seccomp.mode", "", Inside, "of the server: off, strict, filter"},
	{"seccomp.filters", "1", Inside, "number of filter programs that each system call runs"},
	{"no_new_privileges", "", Inside, "on, off"},
	{"capabilities.effective", "", Inside, "of the server, sorted; all; none"},
	{"capabilities.bounding", "", Inside, "of the server, sorted; all; none"},
	{"lsm", "", Outside, "security modules of the kernel: capability,landlock,apparmor"},
	{"lsm.profile", "", Inside, "profile of the server; none"},
	{"namespace[*]", "", Inside, "pid, mnt, net, ipc, uts, cgroup, user, time: own, the host's, own kernel"},
	{"devices", "", Inside, "device nodes in /dev, with * in place of digits"},
	{"proc.masked", "", Inside, "paths of /proc and /sys that are hidden or read-only by mounts of their own; none"},
	{"mount.propagation", "", Inside, "private, slave or shared: whether mounts of the instance and the host reach each other"},
	{"user.map", "", Inside, "user IDs inside, and their IDs outside"},

	{"path[*].filesystem", "", Inside, "type of the mount: ext4, overlay, tmpfs, 9p"},
	{"path[*].mount", "", Inside, "mount point of the path"},
	{"path[*].options", "", Inside, "of the mount and of the file system, sorted, without directories of the host"},
	{"path[*].source", "", Inside, "device of the mount: /dev/vda; directory for a bind mount; none"},
	{"path[*].block", "B", Inside, "block size of the file system"},
	{"path[*].below", "", Outside, "file system of the host that holds it: ext4 on vda1; memory"},
	{"path[*].layer", "", Outside, "path of a block, as the provider describes it"},
	{"path[*].scheduler", "", Outside, "of the disk below; of a guest's disk, read inside"},
	{"path[*].readahead", "KiB", Outside, "of the disk below; of a guest's disk, read inside"},
	{"path[*].cache", "", Outside, "of the disk below: write back, write through; of a guest's disk, read inside"},
	{"path[*].host.scheduler", "", Outside, "of the host's disk below a guest's disk"},
	{"path[*].host.cache", "", Outside, "of the host's disk below a guest's disk"},
	{"disk.cache", "", Outside, "cache mode of the guest's disks: writeback, none, unsafe"},
	{"disk.aio", "", Outside, "asynchronous I/O of the VMM: threads, native, io_uring"},
	{"disk.format", "", Outside, "image format of the guest's disks: raw, qcow2"},
	{"disk.device", "", Outside, "device model of the guest's disks: virtio-blk"},

	{"network.path", "", Outside, "path of a packet between the instance and the host, as the provider describes it"},
	{"network.interface", "", Inside, "interface of the workload's packets, with its driver: lo, eth0 (veth)"},
	{"network.mtu", "B", Inside, "of this interface"},
	{"network.queue", "1", Inside, "length of its transmit queue in packets"},
	{"network.filter[*]", "", Inside, "by netfilter hook of a packet between two programs of the instance (prerouting, input, output, postrouting): tables with chains for IPv4, and their number of rules (nat: 1 to 9 rules), without chains that they jump to; none"},
	{"network.tracked", "", Inside, "on, off: whether connection tracking is active on the loopback, as for NAT and stateful rules"},
	{"network.offload[*]", "", Inside, "of this interface: on, off; tso, gso, gro, tx, rx, sg, ufo, lro"},

	{"libc", "", Inside, "of the server, or of the driver: glibc 2.36 (Debian GLIBC 2.36-9); musl 1.2.3; none, static"},
	{"allocator[*]", "", Inside, "by ROLE/PROGRAM: allocator library that a server loads; the libc's"},
	{"program[*].path", "", Inside, "by ROLE/PROGRAM, of servers and drivers, with symbolic links resolved"},
	{"program[*].version", "", Inside, "by ROLE/PROGRAM: its package and version"},
	{"program[*].sha256", "", Inside, "by ROLE/PROGRAM"},
	{"configuration[*].path", "", Inside, "by ROLE/FILE, of each configuration file of the pack"},
	{"configuration[*].sha256", "", Inside, "by ROLE/FILE, of the text with addresses and names of instances replaced"},
	{"configuration[*][*]", "", Inside, "by ROLE/FILE and key: configuration[server/nginx.conf][http.access_log]; a repeated key has all its values"},
	{"command[*]", "", Inside, "by SERVER, command line of the process; by ROLE for the driver, as in the pack"},
	{"environment[*]", "", Inside, "variable of the server"},
	{"log[*].stdout", "", Inside, "by SERVER, destination of stdout: the agent, nowhere, or a file and its file system"},
	{"log[*].stderr", "", Inside, "by SERVER, destination of stderr"},
	{"log[*].file[*]", "", Inside, "by SERVER and path: file system of a log file that the server has open"},
	{"log.channel", "", Outside, "transport of the agent's stream: pipe, the engine's attach, virtio-serial, vsock, ssh"},
	{"log.driver", "", Outside, "the engine's log driver, which records everything on the channel; none"},

	{"time.zone", "", Inside, "of the image: UTC"},
	{"locale", "", Inside, "of the server: the first of LC_ALL, LC_CTYPE and LANG that is set; POSIX"},
	{"entropy", "", Inside, "size of the kernel's pool in bits: 256 if it is initialized; less"},
	{"entropy.source", "", Inside, "hardware random number generator of the kernel; none"},

	{"parameter[*]", "", Planned, "of the workload, if an environment sets it (with:): its value there"},

	{"node[*]", "", Outside, "of a pod's node: node[kernel], node[system], node[container runtime], node[kubelet], node[instance type], node[cpu manager policy], node[topology manager policy], node[memory manager policy], node[cgroup driver], node[cgroup version]; node[cni], the network with its plugins; node[exclusive cores], whether the pod got some: yes, no"},
	{"provider[*]", "", Outside, "only known to the provider: provider[engine], provider[runtime], provider[machine], provider[accelerator], provider[cpu], provider[platform]"},
}

// At returns the key of a fact of another instance, that of a further role:
// path[/data].filesystem@driver.
func At(key, role string) string { return key + "@" + role }

// SplitRole splits a key from the role of At; the role is "" for the instance of the
// first server.
func SplitRole(fact string) (key, role string) {
	at := strings.LastIndexByte(fact, '@')
	if at < 0 || strings.ContainsAny(fact[at:], "]") {
		return fact, ""
	}
	return fact[:at], fact[at+1:]
}

// ByRole reports whether a key contains the role, so that facts of several
// instances have different keys without At.
func ByRole(key string) bool {
	family, _, _ := strings.Cut(key, "[")
	return slices.Contains([]string{"allocator", "program", "configuration", "command", "log"}, family)
}

// KeyOf returns the definition of a fact's key.
func KeyOf(fact string) (Key, bool) {
	fact, _ = SplitRole(fact)
	for _, k := range Keys {
		if Match(k.Name, fact) {
			return k, true
		}
	}
	return Key{}, false
}

// Match reports whether a fact's key matches a pattern. A * matches any text that
// is not empty: within brackets up to the closing one, at the end of the pattern
// all the rest.
func Match(pattern, key string) bool {
	before, after, open := strings.Cut(pattern, "*")
	rest, ok := strings.CutPrefix(key, before)
	if !open || !ok {
		return pattern == key
	}
	if after == "" {
		return rest != ""
	}
	if !strings.HasPrefix(after, "]") {
		return false
	}
	at := strings.IndexByte(rest, ']')
	return at > 0 && Match(after, rest[at:])
}

// Argument returns the text in a key's first brackets: nginx for a[nginx].b; "" if
// there is none.
func Argument(key string) string {
	_, rest, _ := strings.Cut(key, "[")
	argument, _, _ := strings.Cut(rest, "]")
	return argument
}
