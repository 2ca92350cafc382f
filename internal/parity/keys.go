package parity

import (
	"slices"
	"strings"
)

// Where a fact is seen from.
const (
	Inside  = "inside"  // by the agent
	Outside = "outside" // by the host and the provider
	Planned = "plan"    // it is what the study asks for
)

// Words that facts of several keys have for a value.
const (
	None       = "none"        // no limit, no such thing
	Own        = "own"         // a namespace of its own
	Hosts      = "the host's"  // a namespace that is shared with the host
	OwnKernel  = "own kernel"  // nothing of the kind is shared: another kernel runs inside
	ToTheAgent = "the agent"   // a pipe into which the agent looks: it hands on what is printed to tare
	Nowhere    = "nowhere"     // /dev/null or closed
	LibcsOwn   = "the libc's"  // no allocator library is loaded
	Address    = "${address}"  // of the instance, wherever one stands in a text
	Instance   = "${instance}" // its name or id, wherever one stands in a text
)

// Key is a kind of fact. In its name * stands for what several facts of the
// kind differ by: sysctl[*] is one for each setting.
type Key struct {
	Name  string `json:"name"`
	Unit  string `json:"unit,omitempty"` // "" for words, B, KiB, 1 for what is counted
	Seen  string `json:"seen"`           // from where, as a rule: a kernel of the instance's own is seen from inside alone
	About string `json:"about"`
}

// Keys are all kinds of facts. "The server" is the workload's first server that
// runs in the instance; where it has none, facts of a process are those that
// every command of the agent begins with. ROLE is the step's role, else
// "server" or "driver"; SERVER is the role, and where a role has several servers
// ROLE.2 for the second; PROGRAM is the file's name.
var Keys = []Key{
	{"kernel.release", "", Inside, "as uname says it"},
	{"kernel.version", "", Inside, "the build, as uname says it"},
	{"kernel.cmdline", "", Inside, "the kernel's command line"},
	{"kernel.architecture", "", Inside, "as uname says it: x86_64"},
	{"kernel.own", "", Inside, "the host's, or own kernel where another one runs inside (boot id)"},

	{"cpu.model", "", Inside, "model name of the first processor"},
	{"cpu.flags", "", Inside, "its features, sorted"},
	{"cpu.count", "1", Inside, "processors that are online"},
	{"cpu.allowed", "", Inside, "cores that the process may run on, by the numbers inside: 0-1"},
	{"cpu.mitigation[*]", "", Inside, "by the name of the vulnerability"},
	{"cpu.governor", "", Outside, "of the frequency of the host's first core"},

	{"limit.cpu", "1", Outside, "quota in cores; none"},
	{"limit.cpu.period", "us", Outside, "of the quota; none"},
	{"limit.cpu.weight", "1", Outside, "of its group against groups beside it: cpu.weight, or cpu.shares on cgroup v1"},
	{"limit.cores", "", Outside, "cpuset, by the host's numbers: 0-1"},
	{"limit.memory", "B", Outside, "of the group; none. Memory of a virtual machine is memory.total"},
	{"limit.swap", "B", Outside, "that the group may have besides its memory; 0 is no swap, as where the machine has none; none is no limit"},
	{"limit.pids", "1", Outside, "processes and threads; none"},

	{"memory.total", "B", Inside, "of the machine as the instance sees it, to 16 MiB"},
	{"memory.swap", "B", Inside, "swap space of the machine as the instance sees it"},
	{"memory.thp", "", Inside, "transparent huge pages: always, madvise or never"},
	{"memory.thp.defrag", "", Inside, "when the kernel makes room for them"},
	{"page.size", "B", Inside, "of memory"},

	{"clock.source", "", Inside, "the kernel's: tsc, kvm-clock, hpet"},
	{"clock.available", "", Inside, "that it could take"},
	{"sysctl[*]", "", Inside, "by its name with dots: sysctl[net.core.somaxconn]"},

	{"process.user", "", Inside, "user and group of the server: 0:0"},
	{"process.priority", "1", Inside, "nice value of the server"},
	{"process.policy", "", Inside, "how it is scheduled: other, fifo, rr, batch, idle, deadline"},
	{"process.oom", "1", Inside, "its oom_score_adj"},
	{"ulimit[*].soft", "", Inside, "of the server: ulimit[nofile].soft; unlimited"},
	{"ulimit[*].hard", "", Inside, "of the server"},
	{"seccomp.mode", "", Inside, "of the server: off, strict, filter"},
	{"seccomp.filters", "1", Inside, "how many programs each system call passes"},
	{"no_new_privileges", "", Inside, "on, off"},
	{"capabilities.effective", "", Inside, "of the server, sorted; all; none"},
	{"capabilities.bounding", "", Inside, "of the server, sorted; all; none"},
	{"lsm", "", Outside, "security modules of the kernel: capability,landlock,apparmor"},
	{"lsm.profile", "", Inside, "that the server is confined by; none"},
	{"namespace[*]", "", Inside, "pid, mnt, net, ipc, uts, cgroup, user, time: own, the host's, own kernel"},
	{"user.map", "", Inside, "user ids inside, and which they are outside"},

	{"path[*].filesystem", "", Inside, "type that the mount shows: ext4, overlay, tmpfs, 9p"},
	{"path[*].mount", "", Inside, "where the mount lies that the path is on"},
	{"path[*].options", "", Inside, "of the mount and of the file system, sorted, without folders of the host"},
	{"path[*].source", "", Inside, "device of the mount: /dev/vda; folder for a bind of a folder; none"},
	{"path[*].block", "B", Inside, "block size of the file system"},
	{"path[*].below", "", Outside, "file system of the host that holds it: ext4 on vda1; memory"},
	{"path[*].layer", "", Outside, "what a block passes, in the provider's words"},
	{"path[*].scheduler", "", Outside, "of the disk below; of a guest's own disk from inside"},
	{"path[*].readahead", "KiB", Outside, "of the disk below; of a guest's own disk from inside"},
	{"path[*].cache", "", Outside, "of the disk below: write back, write through; of a guest's own disk from inside"},
	{"path[*].host.scheduler", "", Outside, "of the host's disk below a guest's"},
	{"path[*].host.cache", "", Outside, "of the host's disk below a guest's"},
	{"disk.cache", "", Outside, "how the VMM opens a guest's disks: writeback, none, unsafe"},
	{"disk.aio", "", Outside, "how the VMM reads and writes: threads, native, io_uring"},
	{"disk.format", "", Outside, "of the guest's disks: raw, qcow2"},
	{"disk.device", "", Outside, "that the guest sees: virtio-blk"},

	{"network.path", "", Outside, "what a packet passes between the instance and the host, in the provider's words"},
	{"network.interface", "", Inside, "that the workload's packets go through, with its driver: lo, eth0 (veth)"},
	{"network.mtu", "B", Inside, "of this interface"},
	{"network.queue", "1", Inside, "packets that its transmit queue holds"},
	{"network.filter[*]", "", Inside, "by the hook that a packet between two programs of the instance passes (prerouting, input, output, postrouting): tables of the packet filter that have chains there for IPv4, and how many rules these have (nat: 1 to 9 rules), without those of other chains that they jump to; none"},
	{"network.tracked", "", Inside, "on, off: whether the kernel tracks connections over the loopback, as for NAT and rules by state"},
	{"network.offload[*]", "", Inside, "of this interface: on, off; tso, gso, gro, tx, rx, sg, ufo, lro"},

	{"libc", "", Inside, "of the server, else of the driver: glibc 2.36 (Debian GLIBC 2.36-9); musl 1.2.3; none, static"},
	{"allocator[*]", "", Inside, "by ROLE/PROGRAM: library that a server loads for memory; the libc's"},
	{"program[*].path", "", Inside, "by ROLE/PROGRAM, of servers and drivers, with links resolved"},
	{"program[*].version", "", Inside, "by ROLE/PROGRAM: package and version that it belongs to"},
	{"program[*].sha256", "", Inside, "by ROLE/PROGRAM"},
	{"configuration[*].path", "", Inside, "by ROLE/FILE, of each file of the pack's configuration"},
	{"configuration[*].sha256", "", Inside, "by ROLE/FILE, of the text with addresses and instances replaced"},
	{"configuration[*][*]", "", Inside, "by ROLE/FILE and key: configuration[server/nginx.conf][http.access_log]; a key that is there several times has its values one after another"},
	{"command[*]", "", Inside, "by SERVER, the process's command line; by ROLE for the driver, as the pack has it"},
	{"environment[*]", "", Inside, "variable of the server"},
	{"log[*].stdout", "", Inside, "by SERVER, where standard output leads: the agent, nowhere, or a file and its file system"},
	{"log[*].stderr", "", Inside, "by SERVER, the same of standard error"},
	{"log[*].file[*]", "", Inside, "by SERVER and path: file system of a log file that the server has open"},
	{"log.channel", "", Outside, "what the agent's stream passes on its way to tare: pipe, the engine's attach, virtio-serial, vsock, ssh"},
	{"log.driver", "", Outside, "the engine's log driver, which writes down all that passes the channel; none"},

	{"time.zone", "", Inside, "of the image: UTC"},
	{"locale", "", Inside, "of the server: the first of LC_ALL, LC_CTYPE and LANG; POSIX"},
	{"entropy", "", Inside, "256 where the kernel's pool is full; less"},
	{"entropy.source", "", Inside, "the kernel's hardware source; none"},

	{"parameter[*]", "", Planned, "of the workload, where an environment sets it (with:): its value there"},

	{"provider[*]", "", Outside, "what only the provider knows: provider[engine], provider[runtime], provider[machine], provider[accelerator], provider[cpu], provider[platform]"},
}

// At is the key of a fact of a further instance, in which a role of its own
// plays: path[/data].filesystem@driver.
func At(key, role string) string { return key + "@" + role }

// Apart parts a key from the role of At; "" for the instance of the first
// server.
func Apart(fact string) (key, role string) {
	at := strings.LastIndexByte(fact, '@')
	if at < 0 || strings.ContainsAny(fact[at:], "]") {
		return fact, ""
	}
	return fact[:at], fact[at+1:]
}

// ByRole says whether a key names the role that the fact is of, so that facts of
// several instances lie beside each other.
func ByRole(key string) bool {
	family, _, _ := strings.Cut(key, "[")
	return slices.Contains([]string{"allocator", "program", "configuration", "command", "log"}, family)
}

// KeyOf finds what kind of fact a key is.
func KeyOf(fact string) (Key, bool) {
	fact, _ = Apart(fact)
	for _, k := range Keys {
		if Match(k.Name, fact) {
			return k, true
		}
	}
	return Key{}, false
}

// Match says whether a fact's key is of a pattern. A * stands for any text that
// is not empty: within brackets up to their end, and at the end of the pattern
// for all the rest.
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

// Argument is the text in a key's first brackets: nginx of a[nginx].b; "" where
// it has none.
func Argument(key string) string {
	_, rest, _ := strings.Cut(key, "[")
	argument, _, _ := strings.Cut(rest, "]")
	return argument
}
