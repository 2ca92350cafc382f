package fingerprint

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/agent/observe"
	"tare/internal/environment"
	"tare/internal/linux/cgroup"
	"tare/internal/parity"
)

// container is what the agent sees in a container on a machine with cgroup v2,
// AppArmor and a disk of NVMe, put together from what such kernels print.
func container() (Subject, *observe.Answer, Outside) {
	id := strings.Repeat("0123456789abcdef", 4)
	server := observe.Process{
		Texts: map[string]string{
			"exe": "/usr/bin/redis-check-rdb", "cmdline": "redis-server 172.17.0.2:6379\x00", "environ": "\x00\x00\x00",
			"status":  "Name:\tredis-server\nUid:\t999\t999\t999\t999\nGid:\t999\t999\t999\t999\nCapEff:\t0000000000000000\nCapBnd:\t00000000a80425fb\nNoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\nSpeculation_Store_Bypass:\tthread force mitigated\nSpeculationIndirectBranch:\tconditional force disabled\nCpus_allowed_list:\t0-1\n",
			"stat":    "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 -5 1 0 100 1 1 1 1 1 1 1 1 1 0 0 0 0 0 0 17 0 0 0 0",
			"limits":  "Limit                     Soft Limit           Hard Limit           Units     \nMax open files            1048576              unlimited            files     \n",
			"uid_map": "         0     100000      65536\n", "attr/current": "docker-default (enforce)\n", "ns/pid": "pid:[5]", "ns/net": "net:[1]", "oom_score_adj": "0\n",
		},
		Libraries: []string{"/usr/bin/redis-check-rdb", "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"},
		Files: []observe.File{
			{Number: 0, Target: "/dev/null", Flags: "0100000"}, {Number: 1, Target: "pipe:[77]", Flags: "01"}, {Number: 2, Target: "/dev/null", Flags: "01"},
			{Number: 5, Target: "pipe:[77]", Flags: "02001"}, {Number: 6, Target: "/var/log/redis/server", Flags: "0102001"}, {Number: 7, Target: "/data/dump.rdb", Flags: "01"},
			{Number: 8, Target: "/data/old.log", Flags: "0100000"},
		},
	}
	answer := &observe.Answer{
		System: observe.System{Node: id[:12], Release: "6.8.0-45-generic", Version: "#45-Ubuntu SMP", Machine: "x86_64", PageSize: 4096},
		Texts: map[string]string{
			bootID: "a\n", cmdline: "root=/dev/nvme0n1p2 ro quiet\n", variables: "PATH=/bin\x00HOSTNAME=" + id[:12] + "\x00LANG=C.UTF-8\x00PWD=/\x00",
			cpuinfo: "processor\t: 0\nmodel name\t: A CPU\nflags\t\t: sse fpu\n\nprocessor\t: 1\nmodel name\t: A CPU\n", meminfo: "MemTotal:       16384500 kB\nSwapTotal:             0 kB\n",
			online: "0-1,4\n", weaknesses + "/meltdown": "Not affected\n", hugePages + "enabled": "always [madvise] never\n", lastCap: "40\n",
			entropy: "256\n", localtime: "/usr/share/zoneinfo/Europe/Berlin", sysctlPath("net.core.somaxconn"): "4096\n",
			mountinfoFile: "600 500 0:50 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A:/var/lib/docker/overlay2/l/B,upperdir=/x,workdir=/y,nouserxattr\n" +
				"601 600 259:2 /var/lib/tare/" + id + " /data rw,noatime - xfs /dev/nvme0n1p2 rw,attr2,inode64\n602 600 0:51 / /dev/shm rw,nosuid - tmpfs shm rw,size=65536k\n" +
				"603 600 0:52 / /proc rw - proc proc rw\n604 603 0:52 /sys /proc/sys ro - proc proc rw\n605 603 0:53 /null /proc/kcore rw - tmpfs tmpfs rw\n" +
				"606 603 0:54 / /proc/scsi ro - tmpfs tmpfs ro\n",
			"/data/my.cnf": "[mysqld]\nbind-address=172.17.0.2\n",
		},
		Absent: map[string]string{clocks + "current_clocksource": "permission denied", "server: ns/time": "no such file or directory"},
		Locations: map[string]observe.Location{
			"/": {Path: "/", Device: "0:50", Block: 4096}, "/data": {Path: "/data", Device: "259:2", Block: 4096, Queue: map[string]string{"scheduler": "[none] mq-deadline", "write_cache": "write through", "read_ahead_kb": "128"}},
			"/dev/shm/x": {Path: "/dev/shm", Device: "0:51", Block: 4096},
		},
		Processes: map[string]observe.Process{"server": server},
		Devices:   []string{"vda2", "null", "tty1", "tty0", "vda", "vda1"},
		Filter:    observe.Filter{ChainsError: "asking the kernel for the rules of nftables: operation not permitted", TrackedError: "permission denied"},
		Programs: map[string]observe.Program{
			"/usr/bin/redis-check-rdb": {Path: "/usr/bin/redis-check-rdb", SHA256: id, Loader: "/lib/ld-musl-x86_64.so.1", LoaderPackage: "musl", LoaderVersion: "1.2.4-r2", Package: "redis", Version: "7.0"},
			"wrk":                      {Error: "no such command in PATH (/bin)"},
		},
		Interfaces: []observe.Interface{
			{Name: "lo", MTU: 65536, Loopback: true, Up: true, Addresses: []string{"127.0.0.1"}},
			{Name: "eth0", MTU: 1500, Up: true, Addresses: []string{"172.17.0.2"}, Driver: "veth", Offloads: map[string]bool{"tso": true, "gro": false}, Error: "operation not supported"},
		},
	}
	outer := Outside{
		Paths:    environment.Paths{Network: "veth pair", Root: "overlay2", RootOn: "xfs on nvme0n1p2", DataOn: "xfs on nvme0n1p2"},
		Provider: map[string]string{"log.driver": "json-file"},
		Bounds:   cgroup.Bounds{CPUs: cgroup.Bound{Value: "0.5"}, Memory: cgroup.Bound{Missing: "there is no memory controller"}},
		Host:     Host{Boot: "a\n", Namespaces: map[string]string{"net": "net:[1]", "pid": "pid:[1]"}},
		LSM:      cgroup.Bound{Value: "lockdown,capability,apparmor"}, Governor: cgroup.Bound{Value: "powersave"},
		Weaknesses: []string{"meltdown", "retbleed"}, Sysctls: map[string]string{"net.core.busy_poll": "0"},
		Filter: observe.Filter{Chains: []observe.Chain{{Table: "nat", Hook: "output", Rules: 12}, {Table: "filter", Hook: "output"}, {Table: "nat", Hook: "prerouting", Rules: 9}}, Tracked: true},
		Disks:  map[string]map[string]string{"xfs on nvme0n1p2": {"scheduler": "[none] mq-deadline", "write_cache": "write through"}},
	}
	s := Subject{Address: "172.17.0.2", Servers: []Server{{"server", "server", 7}}, Drivers: []Driver{{"driver", []string{"wrk", "http://172.17.0.2/"}}},
		Paths: []string{"/dev/shm/x", "/dev/stdout", "/gone"}, Files: []File{{"server", "/data/my.cnf"}, {"server", "/data/no.cnf"}}}
	return s, answer, outer
}

func TestObservationsOfAContainerBecomeFacts(t *testing.T) {
	s, answer, outer := container()
	facts := Read(s, answer, outer)
	for key, want := range map[string]string{
		"kernel.own": parity.Hosts, "kernel.cmdline": "root=/dev/nvme0n1p2 ro quiet", "cpu.model": "A CPU", "cpu.flags": "fpu sse", "cpu.count": "3",
		"cpu.mitigation[meltdown]": "Not affected", "cpu.governor": "powersave", "memory.total": "16777216000", "memory.swap": "0", "memory.thp": "madvise",
		"limit.cpu": "0.5", "sysctl[net.core.somaxconn]": "4096", "sysctl[net.core.busy_poll]": "0",
		"process.user": "999:999", "process.priority": "-5", "process.policy": "other", "cpu.allowed": "0-1", "seccomp.mode": "filter", "no_new_privileges": "off",
		"speculation.store_bypass": "thread force mitigated", "speculation.indirect_branch": "conditional force disabled",
		"capabilities.effective": parity.None, "ulimit[nofile].soft": "1048576", "ulimit[nofile].hard": "unlimited",
		"capabilities.bounding": "audit_write,chown,dac_override,fowner,fsetid,kill,mknod,net_bind_service,net_raw,setfcap,setgid,setpcap,setuid,sys_chroot",
		"lsm":                   "lockdown,capability,apparmor", "lsm.profile": "docker-default (enforce)", "user.map": "0 100000 65536",
		"namespace[pid]": parity.Own, "namespace[net]": parity.Hosts,
		"environment[HOSTNAME]": parity.Instance, "environment[LANG]": "C.UTF-8", "locale": "C.UTF-8", "time.zone": "Europe/Berlin", "entropy": "256",
		"path[/].filesystem": "overlay", "path[/].options": "nouserxattr,relatime,rw", "path[/].source": parity.None, "path[/].below": "xfs on nvme0n1p2",
		"path[/].scheduler": "none", "path[/].cache": "write through", "path[/].layer": "overlay2",
		"path[/data].filesystem": "xfs", "path[/data].source": "directory", "path[/data].options": "attr2,inode64,noatime,rw", "path[/data].readahead": "128",
		"path[/dev/shm/x].below": environment.Memory, "path[/dev/shm/x].scheduler": environment.Memory,
		"network.interface": "eth0 (veth)", "network.mtu": "1500", "network.offload[tso]": "on", "network.offload[gro]": "off",
		"network.filter[output]": "filter: 0 rules, nat: 10 to 99 rules", "network.filter[prerouting]": "nat: 1 to 9 rules", "network.filter[input]": parity.None, "network.tracked": "on",
		"program[server/redis-server].path": "/usr/bin/redis-check-rdb", "program[server/redis-server].version": "redis 7.0",
		"program[server/redis-server].sha256": strings.Repeat("0123456789abcdef", 4), "allocator[server/redis-server]": "libjemalloc.so.2", "libc": "musl 1.2.4-r2",
		"command[server]": "redis-server ${address}:6379", "command[driver]": "wrk http://${address}/",
		"configuration[server/my.cnf][mysqld.bind_address]": parity.Address, "configuration[server/my.cnf].path": "/data/my.cnf",
		"devices": "null,tty*,vda,vda*", "proc.masked": "/proc/kcore,/proc/scsi,/proc/sys (read-only)", "mount.propagation": "slave",
		"log[server].stdout": parity.ToTheAgent, "log[server].stderr": parity.Nowhere, "log[server].file[stdout]": parity.ToTheAgent,
		"log[server].file[/var/log/redis/server]": "overlay", "log.driver": "json-file",
	} {
		if got := facts[key]; got.Value != want {
			t.Errorf("%s is %+v, want %q", key, got, want)
		}
	}
	for key, want := range map[string]string{
		"clock.source": "permission denied", "cpu.mitigation[retbleed]": "not there", "limit.memory": "no memory controller", "namespace[time]": "no such file",
		"network.offload[rx]": "operation not supported", "path[/gone].filesystem": "not there", "program[driver/wrk].sha256": "no such command",
		"configuration[server/no.cnf].path": "not there",
	} {
		if got := facts[key]; got.Value != "" || !strings.Contains(got.Missing, want) {
			t.Errorf("%s is %+v, and missing because of %q", key, got, want)
		}
	}
	for _, key := range []string{"path[/dev/stdout].filesystem", "environment[PWD]", "log[server].file[/data/dump.rdb]", "log[server].file[/data/old.log]"} {
		if got, there := facts[key]; there {
			t.Errorf("%s is %+v, and ought not to be", key, got)
		}
	}
	for key := range facts {
		if !tabled(key) {
			t.Errorf("%s is in no table of keys", key)
		}
	}
}

// A guest's disk is seen from inside, and what holds it from outside.
func TestAGuestsDiskHasFactsOfBothKernels(t *testing.T) {
	s, answer, outer := container()
	outer.Host.Boot = "b\n"
	facts := Read(s, answer, outer)
	for key, want := range map[string]string{
		"kernel.own": parity.OwnKernel, "namespace[net]": parity.OwnKernel, "path[/data].scheduler": "none",
		"path[/data].host.scheduler": "none", "path[/data].host.cache": "write through", "path[/data].below": "xfs on nvme0n1p2",
	} {
		if got := facts[key]; got.Value != want {
			t.Errorf("%s is %+v, want %q", key, got, want)
		}
	}
	for number, want := range map[string]string{"20504": "about 16384", "16384": "about 16384", "1": "about 1", "0": "0", "unlimited": "unlimited"} {
		if got := about(number); got != want {
			t.Errorf("%s becomes %q, want %q", number, got, want)
		}
	}
	if got := facts["network.filter[output]"]; got.Value != "" || !strings.Contains(got.Missing, "not permitted") {
		t.Errorf("the host's rules are taken for the guest's: %+v", got)
	}
	if got := facts["sysctl[net.core.busy_poll]"]; got.Value != "" {
		t.Errorf("the host's setting is taken for the guest's: %+v", got)
	}
}

func TestFactsVisibleOnlyOnAnotherMachineAreMissing(t *testing.T) {
	s, answer, outer := container()
	outer.Host.Boot, outer.Elsewhere = "b\n", "it runs on another machine"
	facts := Read(s, answer, outer)
	for _, key := range []string{"kernel.own", "namespace[net]"} {
		if got := facts[key]; !strings.HasPrefix(got.Missing, outer.Elsewhere) || got.Value != "" {
			t.Errorf("%s is %+v", key, got)
		}
	}
}

func TestPacketsGoThroughTheInterfaceThatHasTheAddress(t *testing.T) {
	for address, want := range map[string]string{"": "lo", "127.0.0.1": "lo", "127.7.0.3": "lo", "172.17.0.2": "eth0 (veth)", "10.9.9.9": "eth0 (veth)"} {
		s, answer, outer := container()
		s.Address = address
		if got := Read(s, answer, outer)["network.interface"].Value; got != want {
			t.Errorf("those to %q go through %s, want %s", address, got, want)
		}
	}
}

func TestFactsOfASeparateRoleAreAddedToThoseOfTheFirstInstance(t *testing.T) {
	into := map[string]parity.Fact{"kernel.release": {Value: "1"}, "command[server]": {Value: "a"}}
	other := map[string]parity.Fact{"kernel.release": {Value: "2"}, "command[driver]": {Value: "b"}, "command[server]": {Value: "c"}}
	Merge(into, other, "driver", true)
	for key, want := range map[string]string{"kernel.release": "1", "kernel.release@driver": "2", "command[driver]": "b", "command[server]": "a"} {
		if into[key].Value != want {
			t.Errorf("%s is %q, want %q", key, into[key].Value, want)
		}
	}
	Merge(into, map[string]parity.Fact{"kernel.version": {Value: "3"}}, "web", false)
	if len(into) != 4 {
		t.Errorf("a role on the host adds facts of the host: %v", into)
	}
}

// Of a server of another user the kernel shows no namespaces to the agent, which
// is in the same network.
func TestTheNetworkOfAServerOfAnotherUserIsTheAgents(t *testing.T) {
	s, answer, outer := container()
	delete(answer.Processes["server"].Texts, "ns/net")
	for space, want := range map[string]string{"net:[1]": parity.Hosts, "net:[2]": parity.Own, "": ""} {
		answer.Filter.Namespace = space
		if got := Read(s, answer, outer)["namespace[net]"]; got.Value != want {
			t.Errorf("in %q it is %+v, want %q", space, got, want)
		}
	}
}

// tabled says whether the table of keys has that of a fact.
func tabled(fact string) bool {
	key, _ := parity.SplitRole(fact)
	return slices.ContainsFunc(parity.Keys(), func(k parity.Key) bool { return parity.Match(k.Name, key) })
}
