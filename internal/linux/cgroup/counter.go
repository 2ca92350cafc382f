package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/base/quantity"
	"tare/internal/linux/procfile"
)

// Counter reads the usage of a group repeatedly. It keeps the group's files open
// and allocates nothing, so that it can be read a hundred times per second. It is
// not safe for concurrent use.
type Counter struct {
	group  *Group
	buffer []byte
	files  []*procfile.File // all, to be closed

	cpu, user, system *procfile.File // v2 has one for all
	quotas            subtree        // cpu.stat of the group and of those below
	now, stat         *procfile.File // of memory
	io, served        *procfile.File // v2's, and v1's operations where a rule makes it count them
	threads           *procfile.File
	stalls            [3]*procfile.File
	members           subtree // cgroup.procs of the group and of those below
	noStalls          string
	stale             bool // members must be opened anew for each reading
}

// Counter returns a counter of the group.
func (g *Group) Counter() *Counter {
	c := &Counter{group: g}
	v2, unified := g.dirs[""]
	pure := unified && len(g.tree.v1) == 0
	file := func(dir, name string) *procfile.File {
		f := procfile.At(filepath.Join(dir, name))
		c.files = append(c.files, f)
		return f
	}
	if dir, v1 := g.dirs["cpuacct"]; v1 {
		c.cpu, c.user, c.system = file(dir, "cpuacct.usage"), file(dir, "cpuacct.usage_user"), file(dir, "cpuacct.usage_sys")
	} else if unified {
		c.cpu = file(v2, "cpu.stat")
	}
	if dir, ok := g.Dir("cpu"); ok {
		c.quotas = subtree{top: dir, name: "cpu.stat"}
	}
	if dir, v1 := g.dirs["memory"]; v1 {
		c.now, c.stat = file(dir, "memory.usage_in_bytes"), file(dir, "memory.stat")
	} else if unified {
		c.now, c.stat = file(v2, "memory.current"), file(v2, "memory.stat")
	}
	if pure {
		c.io = file(v2, "io.stat")
	} else if dir := g.dirs[throttling]; dir != "" && dir != g.tree.mountOf(dir) && ruled(dir) {
		c.served = file(dir, "blkio.throttle.io_serviced_recursive")
	}
	if dir, ok := g.Dir("pids"); ok {
		c.threads = file(dir, "pids.current")
	}
	switch {
	case !unified:
		c.noStalls = "cgroup v1 does not count stalls"
	case !pure && !populated(v2):
		c.noStalls = "the processes are in no group of the v2 hierarchy, which alone counts stalls"
	default:
		for i, resource := range []string{"cpu", "io", "memory"} {
			c.stalls[i] = file(v2, resource+".pressure")
		}
	}
	switch dir, ok := g.Dir("cpuacct"); {
	case c.noStalls == "":
		c.members = subtree{top: v2, name: "cgroup.procs"}
	case ok:
		// v1 makes the list when the file is opened, and keeps it for as long as
		// somebody goes on reading.
		c.members, c.stale = subtree{top: dir, name: "cgroup.procs"}, true
	}
	return c
}

// ruled reports whether a rule throttles a v1 group. Only then does the kernel
// count its I/O.
func ruled(dir string) bool {
	return slices.ContainsFunc([]string{"read_bps", "write_bps", "read_iops", "write_iops"}, func(rule string) bool {
		return readString(filepath.Join(dir, "blkio.throttle."+rule+"_device")) != ""
	})
}

// populated reports whether a v2 group or one below it has processes.
func populated(dir string) bool {
	for key, value := range procfile.Pairs([]byte(readString(filepath.Join(dir, "cgroup.events")))) {
		if string(key) == "populated" {
			return value == 1
		}
	}
	return false
}

// Close closes all files.
func (c *Counter) Close() {
	for _, f := range c.files {
		f.Close()
	}
	c.quotas.close()
	c.members.close()
}

// CPU reads the CPU time.
func (c *Counter) CPU() (CPU, error) {
	cpu, err := c.Quick()
	if err != nil {
		return CPU{}, err
	}
	if c.user == nil {
		cpu.Throttled = c.throttled("throttled_usec", time.Microsecond)
		return cpu, nil
	}
	user, errU := c.user.Number(&c.buffer)
	system, errS := c.system.Number(&c.buffer)
	if err := errors.Join(errU, errS); err != nil {
		return CPU{}, c.group.reading("CPU time", err)
	}
	cpu.User, cpu.System = time.Duration(user), time.Duration(system)
	cpu.Throttled = c.throttled("throttled_time", time.Nanosecond)
	return cpu, nil
}

// Quick reads the CPU time from one file: on v1 only the total.
func (c *Counter) Quick() (cpu CPU, err error) {
	if c.cpu == nil {
		return CPU{}, fmt.Errorf("reading the CPU time of cgroup %s: there is no cpuacct controller", c.group.path)
	}
	if c.user != nil {
		total, err := c.cpu.Number(&c.buffer)
		if err != nil {
			return CPU{}, c.group.reading("CPU time", err)
		}
		return CPU{Total: time.Duration(total)}, nil
	}
	text, err := c.cpu.Read(&c.buffer)
	if err != nil {
		return CPU{}, c.group.reading("CPU time", err)
	}
	found := false
	for key, value := range procfile.Pairs(text) {
		switch string(key) {
		case "usage_usec":
			cpu.Total, found = time.Duration(value)*time.Microsecond, true
		case "user_usec":
			cpu.User = time.Duration(value) * time.Microsecond
		case "system_usec":
			cpu.System = time.Duration(value) * time.Microsecond
		}
	}
	if !found {
		return CPU{}, fmt.Errorf("reading the CPU time of cgroup %s: %s has no usage_usec", c.group.path, c.cpu.Path())
	}
	return cpu, nil
}

// throttled adds up a line of cpu.stat over a group and those below: the kernel
// counts throttling only in the group that has the quota.
func (c *Counter) throttled(name string, unit time.Duration) (sum time.Duration) {
	for _, f := range c.quotas.list() {
		text, err := f.Read(&c.buffer)
		if err != nil {
			continue
		}
		for key, value := range procfile.Pairs(text) {
			if string(key) == name {
				sum += time.Duration(value) * unit
			}
		}
	}
	return sum
}

// MemorySince reads the memory of the group and its page faults. It does not read
// memory.stat if nothing in the group has run since an earlier reading, and the charged
// memory is unchanged.
func (c *Counter) MemorySince(before Memory, idle bool) (Memory, error) {
	if c.now == nil {
		return Memory{}, fmt.Errorf("reading the memory of cgroup %s: there is no memory controller", c.group.path)
	}
	now, err := c.now.Number(&c.buffer)
	if err != nil {
		return Memory{}, c.group.reading("memory", err)
	}
	if idle && quantity.Bytes(now) == before.Current {
		return before, nil
	}
	text, err := c.stat.Read(&c.buffer)
	if err != nil {
		return Memory{}, c.group.reading("memory", err)
	}
	m := Memory{Current: quantity.Bytes(now)}
	v1 := c.group.dirs["memory"] != ""
	for key, value := range procfile.Pairs(text) {
		if v1 { // with those below only where the key begins so
			below := false
			if key, below = bytes.CutPrefix(key, total); !below {
				continue
			}
		}
		switch string(key) {
		case "cache", "file":
			m.Cache = quantity.Bytes(value)
		case "shmem":
			m.Shmem = quantity.Bytes(value)
		case "pgfault":
			m.Faults = value
		case "pgmajfault":
			m.MajorFaults = value
		}
	}
	return m, nil
}

var total = []byte("total_")

// IO reads io.stat. counts says which devices (MAJOR:MINOR) to add up; nil means all.
// Only v2 has useful values: v1 counts a device only while it has a throttle rule, and
// does not charge written pages to a group.
func (c *Counter) IO(counts func(device []byte) bool) (io IO, err error) {
	if c.io == nil {
		return IO{}, fmt.Errorf("reading the disk bytes of cgroup %s: cgroup v1 counts them only under a throttle rule", c.group.path)
	}
	text, err := c.io.Read(&c.buffer)
	if err != nil {
		return IO{}, c.group.reading("disk bytes", err)
	}
	for line := range procfile.Lines(text) {
		device, rest := procfile.Word(line)
		if len(device) == 0 || counts != nil && !counts(device) {
			continue
		}
		for field, rest := procfile.Word(rest); len(field) > 0; field, rest = procfile.Word(rest) {
			key, value, _ := bytes.Cut(field, equals)
			n, ok := procfile.Number(value)
			if !ok {
				continue
			}
			switch string(key) {
			case "rbytes":
				io.Read += quantity.Bytes(n)
			case "wbytes":
				io.Written += quantity.Bytes(n)
			case "rios":
				io.Reads += n
			case "wios":
				io.Writes += n
			}
		}
	}
	return io, nil
}

var equals = []byte("=")

// Served reads the read operations of a v1 group with a throttle rule.
func (c *Counter) Served(counts func(device []byte) bool) (reads int64, err error) {
	if c.served == nil {
		return 0, errors.New("cgroup v1 counts operations of storage only under a throttle rule")
	}
	text, err := c.served.Read(&c.buffer)
	if err != nil {
		return 0, c.group.reading("disk operations", err)
	}
	for line := range procfile.Lines(text) {
		device, rest := procfile.Word(line)
		what, rest := procfile.Word(rest)
		if n, ok := procfile.Number(rest); ok && string(what) == "Read" && (counts == nil || counts(device)) {
			reads += n
		}
	}
	return reads, nil
}

// Threads reads the number of tasks in the group and those below it.
func (c *Counter) Threads() (int64, error) {
	if c.threads == nil {
		return 0, fmt.Errorf("counting the threads of cgroup %s: there is no pids controller", c.group.path)
	}
	n, err := c.threads.Number(&c.buffer)
	if err != nil {
		return 0, c.group.reading("threads", err)
	}
	return n, nil
}

// Stalls are the total times in which something in the group waited.
type Stalls struct{ CPU, IO, Memory time.Duration }

// Stalls reads the pressure files (some).
func (c *Counter) Stalls() (Stalls, error) {
	var s Stalls
	if c.noStalls != "" {
		return s, errors.New(c.noStalls)
	}
	for i, into := range []*time.Duration{&s.CPU, &s.IO, &s.Memory} {
		text, err := c.stalls[i].Read(&c.buffer)
		if err != nil {
			return s, c.group.reading("stalls", err)
		}
		for line := range procfile.Lines(text) {
			if at := bytes.Index(line, totalIs); at >= 0 && bytes.HasPrefix(line, some) {
				us, _ := procfile.Number(line[at+len(totalIs):])
				*into = time.Duration(us) * time.Microsecond
			}
		}
	}
	return s, nil
}

var some, totalIs = []byte("some"), []byte("total=")

// Processes appends the PIDs of the processes whose CPU time the group counts, in
// order. They are those of PIDs, unless a process is in the group of one hierarchy
// only.
func (c *Counter) Processes(list []int) []int {
	begin := len(list)
	for _, f := range c.members.list() {
		text, err := f.Read(&c.buffer)
		if err != nil {
			continue // removed meanwhile, or a threaded group, whose processes stand in the one above
		}
		for line := range procfile.Lines(text) {
			// 0 is a process of another pid namespace that has no number here.
			if pid, ok := procfile.Number(line); ok && pid > 0 {
				list = append(list, int(pid))
			}
		}
		if c.stale {
			f.Close()
		}
	}
	slices.Sort(list[begin:])
	return append(list[:begin], slices.Compact(list[begin:])...)
}

// subtree is one file of a group and of all groups below it. A change of a
// directory's link count shows that groups were created or removed.
type subtree struct {
	top, name   string
	directories []directory
	files       []*procfile.File
	readings    int
}

// checkEvery is the number of readings after which the link counts are checked.
// The counters are cumulative, so the usage of a new group is not lost.
const checkEvery = 10

type directory struct {
	fd    int
	links uint64
}

// list returns the files of the existing groups, that of the top last.
func (s *subtree) list() []*procfile.File {
	s.readings++
	if s.top == "" || len(s.files) > 0 && (s.readings%checkEvery > 0 || !s.changed()) {
		return s.files
	}
	s.close()
	_ = walk(s.top, func(dir string) error {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil
		}
		f := directory{fd, links(fd)}
		s.directories = append(s.directories, f)
		s.files = append(s.files, procfile.At(filepath.Join(dir, s.name)))
		return nil
	})
	return s.files
}

// changed reports whether groups were created or removed. A file system that does
// not count directories as links has a count of 1, so a change is assumed.
func (s *subtree) changed() bool {
	return slices.ContainsFunc(s.directories, func(f directory) bool { return f.links < 2 || links(f.fd) != f.links })
}

func links(fd int) uint64 {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return 0
	}
	return uint64(stat.Nlink)
}

func (s *subtree) close() {
	for _, f := range s.directories {
		unix.Close(f.fd)
	}
	for _, f := range s.files {
		f.Close()
	}
	s.directories, s.files = nil, nil
}
