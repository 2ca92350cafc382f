package prices

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tare/internal/usage/evidence"
	"tare/internal/workload"
)

// Item is one class of what an operation asks of the kernel.
type Item struct {
	Name  string   `json:"name"`
	Count float64  `json:"count"`           // in one operation
	Bytes *float64 `json:"bytes,omitempty"` // of one, on average
	// Mostly names the most frequent of other calls.
	Mostly []string `json:"mostly,omitempty"`
	// Kinds of calls that it is priced by, and how much of each is in one operation.
	Kinds map[string]float64 `json:"kinds,omitempty"`
}

// counts are those of a block, in one operation, of which what has a price is taken away.
type counts struct {
	of         map[string]float64
	operations float64
	path       path // of TCP
	items      []Item
}

// path is what TCP of a workload goes through; the kinds of exchanges have its name.
type path string

const (
	loopback path = ""
	toHost   path = "outside" // where the driver is, and what it does is not counted
	apart    path = "apart"   // to another instance, in which calls are counted too
)

func pathOf(p workload.Pack) path {
	if p.Place(p.DriverRole()) == workload.OnHost {
		return toHost
	}
	for role := range p.Roles {
		if p.Place(role) == workload.Apart {
			return apart
		}
	}
	return loopback
}

// exchanged prices n transfers of so many bytes by exchanges, which are a request that is sent
// and read, and a byte back. Of an exchange from outside, one end of both is here.
func (p path) exchanged(kinds map[string]float64, bytes, n float64) {
	if p == toHost {
		n *= 2
	}
	sizes := map[string]float64{}
	between(sizes, bytes, n, sized{1, "1"}, sized{64 << 10, "64k"})
	small, large := string(p)+"-1", string(p)+"-64k"
	kinds[small] = sizes["1"]/4 - sizes["64k"]/4
	kinds[large] = sizes["64k"] / 2
}

// itemsOf are the classes that a counted trial shows.
func itemsOf(e *evidence.Evidence, operations float64, path path) []Item {
	c := counts{of: map[string]float64{}, operations: operations, path: path}
	for name, f := range e.Counts {
		if f.Missing == "" {
			c.of[name] = f.Value / operations
		}
	}
	c.transfers()
	c.waits()
	c.processes()
	c.calls()
	if v := c.of[evidence.MinorFaults]; v > 0 {
		c.add("page faults", v, map[string]float64{"fault": v})
	}
	return c.items
}

func (c *counts) add(name string, count float64, kinds map[string]float64) {
	if count > 0 {
		c.items = append(c.items, Item{Name: name, Count: count, Kinds: kinds})
	}
}

// take removes calls of these names, up to so many; a negative number is all of them.
func (c *counts) take(most float64, names ...string) (taken float64) {
	for _, name := range names {
		n := c.of[evidence.Syscall+name]
		if most >= 0 {
			n = min(n, most-taken)
		}
		c.of[evidence.Syscall+name] -= n
		taken += n
	}
	return taken
}

// all of the calls that there are.
const all = -1

var objects = map[string]string{
	"file": "files", "pipe": "pipes", "unix": "Unix sockets", "tcp": "TCP sockets", "udp": "UDP sockets", "other": "devices and events", "output": "standard output",
}

// transfers are priced between the sizes of the list. A pair of a write and a read has one
// price, of which each is half.
func (c *counts) transfers() {
	cleared := c.cleared()
	for _, direction := range evidence.Directions {
		verb := map[string]string{"read": "reads from ", "write": "writes to "}[direction]
		for _, object := range evidence.Objects {
			for _, size := range evidence.Sizes {
				name := direction + "." + object + "." + size
				n := c.of[evidence.Transfer+name]
				if n == 0 {
					continue
				}
				bytes := c.of[evidence.Bytes+name] / n
				kinds := map[string]float64{}
				switch object {
				case "output":
					if direction == "write" {
						kinds["line"] = n
					} else {
						kinds["pipe-1"] = n / 2
					}
				case "file":
					between(kinds, bytes, n, sized{1, direction + "-1"}, sized{4 << 10, direction + "-4k"}, sized{64 << 10, direction + "-64k"})
				case "pipe":
					between(kinds, bytes, n/2, sized{1, "pipe-1"}, sized{4 << 10, "pipe-4k"}, sized{64 << 10, "pipe-64k"})
				case "unix":
					between(kinds, bytes, n/2, sized{1, "socket-1"}, sized{4 << 10, "socket-4k"}, sized{64 << 10, "socket-64k"})
				case "tcp":
					if c.path != loopback {
						// Each end waits once in an exchange, and waits are priced apart.
						c.path.exchanged(kinds, bytes, n)
						kinds["tcp-switch"], kinds["tcp-1"] = -n/2, n/2
						break
					}
					between(kinds, bytes, n/2, sized{1, "tcp-1"}, sized{64 << 10, "tcp-64k"})
				case "udp":
					between(kinds, bytes, n/2, sized{1, "udp-1"}, sized{1400, "udp-1400"})
				default:
					kinds["getpid"] = n
				}
				if direction == "read" {
					// The kinds of files read with pread64, those of streams with read.
					trapped := cleared
					if slices.Contains([]string{"pipe", "unix", "tcp", "udp"}, object) {
						trapped = cleared - 1
					}
					if trapped != 0 {
						kinds["trap"] += n * trapped
						kinds["getpid"] -= n * trapped
					}
				}
				what := verb + objects[object] + map[string]string{"small": " up to 4 KiB", "large": " above 4 KiB"}[size]
				c.items = append(c.items, Item{Name: what, Count: n, Bytes: &bytes, Kinds: kinds})
			}
		}
	}
}

// cleared is the share of reads that are calls of read, whose number is 0. The C library clears a
// register for it, so that gVisor does not replace the call by a jump, as it does others.
func (c *counts) cleared() float64 {
	var all float64
	for _, name := range evidence.ReadCalls {
		all += c.of[evidence.Syscall+name]
	}
	if all == 0 {
		return 0
	}
	return c.of[evidence.Syscall+"read"] / all
}

type sized struct {
	bytes float64
	kind  string
}

// between divides n calls of so many bytes among the kinds of the sizes next to it, so that
// their prices are interpolated, and beyond the last one continued.
func between(kinds map[string]float64, bytes, n float64, sizes ...sized) {
	bytes = max(bytes, sizes[0].bytes)
	at := 1
	for at < len(sizes)-1 && bytes > sizes[at].bytes {
		at++
	}
	share := (bytes - sizes[at-1].bytes) / (sizes[at].bytes - sizes[at-1].bytes)
	kinds[sizes[at-1].kind] += n * (1 - share)
	kinds[sizes[at].kind] += n * share
}

var (
	polls  = []string{"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6"}
	sleeps = []string{"nanosleep", "clock_nanosleep"}
	ends   = []string{"wait4", "waitid"}
)

// waits are calls in which the task gave its core away. What one costs is the difference of
// the kind that waits and the same without.
func (c *counts) waits() {
	sum := func(prefix string, names []string) (n float64) {
		for _, name := range names {
			n += c.of[evidence.Blocked+prefix+name]
		}
		return n
	}
	var network float64
	for name, v := range c.of {
		if strings.HasPrefix(name, evidence.Blocked+evidence.Transfer) && (strings.Contains(name, ".tcp.") || strings.Contains(name, ".udp.")) {
			network += v
		}
	}
	rest := c.of[evidence.Voluntary]
	if moved := c.of[evidence.Transfer+"read.tcp.small"] + c.of[evidence.Transfer+"read.tcp.large"]; moved > 0 {
		network += sum(evidence.Syscall, polls)
	}
	hands := sum(evidence.Syscall, []string{"futex"})
	c.take(2*hands, "futex")
	slept := c.take(all, sleeps...)
	rest -= network + hands + sum(evidence.Syscall, slices.Concat(sleeps, ends, syncs))
	c.add("waits for the network", network, map[string]float64{"tcp-switch": network, "tcp-1": -network})
	c.add("threads that wait for others (futex)", hands, map[string]float64{"futex": hands})
	c.add(timers, slept, map[string]float64{"timer": slept})
	c.add("other waits", rest, map[string]float64{"switch": rest, "pipe-1": -rest})
}

// Items that a change could make fewer, and that no request waits for.
const (
	connections    = "TCP connections"
	programs       = "programs"
	filesOpened    = "files opened"
	timers         = "timers"
	processes      = "processes"
	startedThreads = "threads"
)

// processes have the calls that start and end them in their price.
func (c *counts) processes() {
	started, threads := c.of[evidence.Processes], c.of[evidence.Threads]
	executed := min(c.of[evidence.Syscall+"execve"]+c.of[evidence.Syscall+"execveat"], started)
	c.add(processes, started-executed, map[string]float64{"fork": started - executed})
	c.add(programs, executed, map[string]float64{"exec": executed})
	c.add(startedThreads, threads, map[string]float64{"thread": threads})
	c.take(all, "clone", "clone3", "fork", "vfork", "exit", "exit_group", "execve", "execveat")
	c.take(all, ends...)
}

// calls that are left.
func (c *counts) calls() {
	var moved float64
	for name, v := range c.of {
		if strings.HasPrefix(name, evidence.Transfer) {
			moved += v
		}
	}
	failed := c.take(all, slices.Concat(evidence.ReadCalls, evidence.WriteCalls)...) - moved
	accepted := c.take(all, "accept", "accept4")
	kind := "accept"
	if c.path != loopback {
		kind = string(c.path) + "-connect"
	}
	c.add(connections, accepted, map[string]float64{kind: accepted})
	c.take(accepted, "socket")
	c.take(accepted, "connect")
	c.take(2*accepted, "setsockopt")
	opened := c.take(all, "open", "openat", "openat2", "creat")
	c.take(opened+2*accepted, "close")
	c.add(filesOpened, opened, map[string]float64{"open": opened})
	named := c.take(all, "stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
		"unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir")
	c.add("calls with a path", named, map[string]float64{"stat": named})
	listed := c.take(all, "getdents64")
	c.add("directories listed", listed, map[string]float64{"readdir": listed / 2})
	mapped := c.take(all, "mmap", "munmap", "mremap", "mprotect", "brk")
	c.add("changes of the memory map", mapped, map[string]float64{"mmap": mapped / 2})
	polled := c.take(all, polls...)
	c.add("questions for events (epoll, poll)", polled, map[string]float64{"epoll": polled})
	changed := c.take(all, "epoll_ctl")
	c.add("changes of what epoll watches", changed, map[string]float64{"epoll-ctl": changed})
	optioned := c.take(all, "setsockopt", "getsockopt")
	c.add("socket options", optioned, map[string]float64{"sockopt": optioned})
	yielded := c.take(all, "sched_yield")
	c.add("cores given away (sched_yield)", yielded, map[string]float64{"yield": yielded})
	synced := c.take(all, syncs...)
	c.add("syncs to disk", synced, map[string]float64{"fsync": synced, "write-4k": -synced})
	left := map[string]float64{"reads and writes that fail": max(failed, 0)}
	for name, v := range c.of {
		if call, is := strings.CutPrefix(name, evidence.Syscall); is {
			left[call] = max(v, 0)
		}
	}
	var rest float64
	for _, v := range left {
		rest += v
	}
	if c.add("other calls", rest, map[string]float64{"getpid": rest}); rest > 0 {
		c.items[len(c.items)-1].Mostly = mostly(left, rest)
	}
}

// mostly are the names of at most two that are a fifth of all each, the largest first.
func mostly(left map[string]float64, all float64) []string {
	names := slices.SortedFunc(maps.Keys(left), func(a, b string) int { return cmp.Or(cmp.Compare(left[b], left[a]), strings.Compare(a, b)) })
	n := 0
	for n < min(2, len(names)) && left[names[n]] >= all/5 {
		n++
	}
	return names[:n]
}

// syncs to the disk, whatever there is to write.
var syncs = []string{"fsync", "fdatasync", "sync", "syncfs", "msync", "sync_file_range"}
