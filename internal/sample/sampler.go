package sample

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/cgroup"
)

// machine is where everything is read from: this one, or a recorded one.
type machine struct {
	groups *cgroup.Tree // nil if there is none
	proc   string       // /proc
	sys    string       // /sys
	now    func() time.Time
}

// here is this machine.
func here() machine {
	on := machine{proc: "/proc", sys: "/sys", now: time.Now}
	on.groups, _ = cgroup.Host()
	return on
}

// stage is which look it is.
type stage int

const (
	first stage = iota
	usual
	last
)

// seldom is every how many looks is read what changes slowly or costs much: the
// lists of what processes started, and the division of a group's processor time
// among its processes.
const seldom = 10

// Sampler watches one instance.
type Sampler struct {
	on        machine
	eyes      *eyes
	footprint Footprint
	each      func(Reading)
	loop      *loop

	problem string // why nothing can be counted from groups and processes
	groups  []*cgroup.Counter
	cpu     []cgroup.CPU    // at the first look
	totals  []time.Duration // processor time at the last look
	idle    bool            // nothing in the groups has run since the last look
	held    []cgroup.Memory // at the last look
	pids    []int           // in the groups
	threads float64         // in the groups
	inside  crowd           // the processes in the groups
	outside crowd           // the listed processes and what they started
	apart   []*process      // those of the groups that listed processes started
	net     *traffic
	bottoms map[string]bool // whether a device lies on no other one

	began, at time.Time
	looks     int
	ofStart   bool // what was used before the first look counts as well
	skipped   string
	now       Reading // as it is being read; counters are the kernel's own
	base      Reading // the first one
	last      Reading
	risen     Reading // the highest of each counter, as none ever falls
	series    Series
	curves    [4]curve // memory, cache, threads, processes
	final     *Usage
}

func newSampler(l *loop, t Target) *Sampler {
	s := &Sampler{on: l.on, eyes: &l.eyes, footprint: t.Footprint, each: t.Each, loop: l, bottoms: map[string]bool{}}
	s.inside.role = s.footprint.roleInside
	if len(s.footprint.Cgroups)+len(s.footprint.Processes) == 0 {
		s.problem = "the environment names neither a cgroup nor a process of the instance"
	}
	for _, path := range outermost(s.footprint.Cgroups) {
		if s.on.groups == nil {
			s.problem = "no cgroup hierarchy is mounted on this machine"
			break
		}
		c := s.on.groups.At(path).Counter()
		before, err := c.CPU()
		if err != nil {
			s.problem = err.Error()
		}
		s.groups, s.cpu, s.totals, s.held = append(s.groups, c), append(s.cpu, before), append(s.totals, -1), append(s.held, cgroup.Memory{})
	}
	for _, p := range s.footprint.Processes {
		if _, lives := s.outside.admit(s.eyes, p.PID, p.Role); !lives {
			s.problem = fmt.Sprintf("process %d (%s) was gone when the counting began", p.PID, p.Role)
		}
	}
	s.net = openTraffic(l, s.footprint)
	return s
}

// look reads everything once.
func (s *Sampler) look(when stage) {
	s.at = s.on.now()
	if when == first {
		s.began = s.at
	}
	s.now = Reading{Seconds: s.at.Sub(s.began).Seconds()}
	r := &s.now
	if s.problem == "" {
		// The processor time first: what the reading itself costs comes after it.
		s.lookGroups(r, when)
		s.lookProcesses(r, when)
	} else {
		for i := range Quantities {
			*Quantities[i].of(r) = Figure{Missing: s.problem}
		}
	}
	s.net.look(s.loop)
	traffic := s.net.figures()
	r.NetReceived, r.NetSent, r.PacketsIn, r.PacketsOut = traffic[0], traffic[1], traffic[2], traffic[3]
	if when == first && !s.ofStart {
		s.base = *r
	}
	s.conclude(r)
	s.looks++
}

// conclude makes a reading of what was read.
func (s *Sampler) conclude(r *Reading) {
	risen := *r
	for i := range Quantities {
		q := &Quantities[i]
		if q.Kind != Counter {
			continue
		}
		f, highest := q.of(r), q.of(&s.risen)
		*f = f.Minus(*q.of(&s.base))
		// How a group's processor time is divided is sampled by the kernel, and
		// corrected later.
		if *q.of(&risen) = *f; f.Missing == "" {
			highest.Value = max(highest.Value, f.Value)
			q.of(&risen).Value = highest.Value
		}
	}
	for i, f := range []Figure{r.Memory, r.Cache, r.Threads, r.Processes} {
		s.curves[i].add(s.at, f)
	}
	s.last = *r
	s.series.Began = s.began
	s.series.Add(&risen)
	if s.each != nil {
		s.each(risen)
	}
}

func (s *Sampler) lookGroups(r *Reading, when stage) {
	s.idle = when == usual && len(s.groups) > 0
	if len(s.groups) == 0 {
		r.CPUThrottled = Absent("only a cgroup has a quota, and the instance has no cgroup")
		r.Cache = Absent("the page cache is charged to cgroups alone, and the instance has none")
		why := Absent("the kernel counts stalls by cgroup, and the instance has none")
		r.StallCPU, r.StallIO, r.StallMemory = why, why, why
		why = Absent("the kernel counts operations of storage by cgroup, and the instance has none")
		r.DiskReads, r.DiskWrites = why, why
		return
	}
	v2 := s.on.groups.Mode() == "v2"
	for i, g := range s.groups {
		if cpu, err := g.CPU(); err != nil {
			r.CPUUser, r.CPUSystem, r.CPUThrottled = because(err), because(err), because(err)
		} else {
			s.idle = s.idle && cpu.Total == s.totals[i]
			s.totals[i] = cpu.Total
			user, system := cpu.Since(s.cpu[i])
			r.CPUUser.more(user.Seconds())
			r.CPUSystem.more(system.Seconds())
			r.CPUThrottled.more(cpu.Throttled.Seconds())
		}
		if m, err := g.MemorySince(s.held[i], s.idle); err != nil {
			r.Memory, r.Cache, r.MinorFaults, r.MajorFaults = because(err), because(err), because(err), because(err)
		} else {
			s.held[i] = m
			r.Memory.more(float64(m.WorkingSet()))
			r.Cache.more(float64(max(m.Cache-m.Shmem, 0)))
			r.MinorFaults.more(float64(m.Faults - m.MajorFaults))
			r.MajorFaults.more(float64(m.MajorFaults))
		}
		if stalls, err := g.Stalls(); err != nil {
			r.StallCPU, r.StallIO, r.StallMemory = because(err), because(err), because(err)
		} else {
			r.StallCPU.more(stalls.CPU.Seconds())
			r.StallIO.more(stalls.IO.Seconds())
			r.StallMemory.more(stalls.Memory.Seconds())
		}
		if v2 {
			if io, err := g.IO(s.bottom); err != nil {
				r.DiskRead, r.DiskWritten, r.DiskReads, r.DiskWrites = because(err), because(err), because(err), because(err)
			} else {
				r.DiskRead.more(float64(io.Read))
				r.DiskWritten.more(float64(io.Written))
				r.DiskReads.more(float64(io.Reads))
				r.DiskWrites.more(float64(io.Writes))
			}
			continue
		}
		if reads, err := g.Served(s.bottom); err != nil {
			r.DiskReads, r.DiskWrites = because(err), because(err)
		} else {
			r.DiskReads.more(float64(reads))
			r.DiskWrites = Figure{Missing: "cgroup v1 charges written pages to nobody"}
		}
	}
}

// bottom says whether a device lies on no other one. What a loop or a mapped
// device moves is moved once more by the device below it.
func (s *Sampler) bottom(device []byte) bool {
	lies, known := s.bottoms[string(device)]
	if !known {
		folder := filepath.Join(s.on.sys, "dev", "block", string(device))
		_, err := os.Stat(filepath.Join(folder, "loop"))
		slaves, _ := os.ReadDir(filepath.Join(folder, "slaves"))
		lies = err != nil && len(slaves) == 0
		s.bottoms[string(device)] = lies
	}
	return lies
}

// lookProcesses adds what processes say themselves: those outside of the groups
// all, those in the groups what no group's file has.
func (s *Sampler) lookProcesses(r *Reading, when stage) {
	if !s.idle {
		s.pids = s.pids[:0]
		for _, g := range s.groups {
			s.pids = g.Processes(s.pids)
		}
	}
	s.lookInside(r, when)
	s.lookOutside(when)
	if when == first && !s.ofStart {
		s.inside.tasks(s.eyes)
		s.outside.tasks(s.eyes)
	}
	threads := 0.
	for _, p := range s.outside.processes {
		r.Memory.more(p.held)
		threads += p.threads
	}
	r.Threads.more(threads)
	r.Processes = Known(float64(len(s.pids) + len(s.outside.processes)))
	spent := &s.outside.spent
	r.CPUUser.more(spent[cpuUser])
	r.CPUSystem.more(spent[cpuSystem])
	r.MinorFaults.more(spent[minorFaults])
	r.MajorFaults.more(spent[majorFaults])
	r.DiskRead.more(spent[diskRead])
	r.DiskWritten.more(spent[diskWritten])
	r.Switches.more(spent[switches])
}

// lookInside reads the processes in the groups.
func (s *Sampler) lookInside(r *Reading, when stage) {
	if len(s.groups) == 0 {
		return
	}
	countThem := false // what the groups do not
	if !s.idle {
		s.threads = 0
		for _, g := range s.groups {
			n, err := g.Threads()
			s.threads += float64(n)
			countThem = countThem || err != nil
		}
	}
	bytes := s.on.groups.Mode() != "v2" // which v1's groups do not count
	shares := when != usual || s.looks%seldom == 0
	// Of many processes each is looked at more seldom, so that a look never takes
	// long; where every thread must be asked for its switches, once a second.
	const many = 32
	switch stride := 1 + len(s.pids)/many; {
	case s.idle:
	case when == usual && s.looks%stride > 0:
		why := Figure{Missing: "more than 32 processes are not read at every look"}
		if r.Switches = why; bytes {
			r.DiskRead, r.DiskWritten = why, why
		}
		if r.Threads.more(s.threads); countThem {
			r.Threads = why
		}
		return
	default:
		s.readInside(r, when, shares, bytes, countThem)
	}
	if bytes {
		r.DiskRead.more(s.inside.spent[diskRead])
		r.DiskWritten.more(s.inside.spent[diskWritten])
	}
	r.Switches.more(s.inside.spent[switches])
	r.Threads.more(s.threads)
}

func (s *Sampler) readInside(r *Reading, when stage, shares, bytes, countThem bool) {
	s.inside.gather(s.eyes, s.pids)
	heard := s.eyes.tasks != nil || shares
	told := false
	for _, p := range s.inside.processes {
		if shares || countThem {
			s.eyes.readStat(p)
		}
		ran := true
		if heard {
			var known bool
			ran, known = s.eyes.readSwitches(p)
			told = told || known
			// So that one that ends has its share, though it is seldom divided: the
			// ledger does not take the time of those in groups.
			if time := float64(p.ran) / 1e6; time > p.own[cpuUser]+p.own[cpuSystem] {
				p.own[cpuUser] = time - p.own[cpuSystem]
			}
		}
		if bytes && ran {
			s.eyes.readIO(p)
		}
		if countThem {
			s.threads += p.threads
		}
		if when == last {
			s.eyes.readStatus(p)
		}
	}
	s.inside.settle(nil)
	switch {
	case !heard:
		r.Switches = Figure{Missing: "read once a second, as every thread must be asked for them"}
	case !told && len(s.inside.processes) > 0:
		r.Switches = Figure{Missing: "the kernel tells no context switches of these processes"}
	}
}

// lookOutside reads the listed processes and what they started.
func (s *Sampler) lookOutside(when stage) {
	if len(s.footprint.Processes) == 0 {
		return
	}
	wanting := when != usual || s.looks%seldom == 0
	for _, p := range s.outside.processes {
		// Those that serve an instance sleep most of the time.
		if ran, _ := s.eyes.readSwitches(p); !ran && when == usual {
			continue
		}
		if !s.eyes.readStat(p) {
			s.outside.dismiss(p)
			wanting = true
			continue
		}
		s.eyes.readIO(p)
		s.eyes.readStatus(p)
	}
	if wanting {
		s.family()
	}
	living := s.apart[:0]
	for _, p := range s.apart {
		if s.eyes.readStat(p) && s.eyes.readIO(p) {
			living = append(living, p)
		} else {
			p.close()
		}
	}
	s.apart = living
	s.outside.settle(s.apart)
}

// family finds what the listed processes have started meanwhile. One that left
// the family because its parent ended still counts.
func (s *Sampler) family() {
	queue := make([]*process, 0, len(s.outside.processes))
	for _, p := range s.outside.processes {
		queue = append(queue, p)
	}
	for ; len(queue) > 0; queue = queue[1:] {
		parent := queue[0]
		for _, pid := range s.eyes.children(parent.pid) {
			if s.counted(pid) {
				s.setApart(pid) // and its children are in the cgroup as well
				continue
			}
			if _, known := s.outside.processes[pid]; known {
				continue
			}
			if p, lives := s.outside.admit(s.eyes, pid, parent.role); lives {
				s.eyes.readSwitches(p)
				s.eyes.readIO(p)
				s.eyes.readStatus(p)
				queue = append(queue, p)
			}
		}
	}
}

// counted says whether a process is in one of the groups.
func (s *Sampler) counted(pid int) bool {
	for _, p := range s.pids {
		if p == pid {
			return true
		}
	}
	return false
}

func (s *Sampler) setApart(pid int) {
	for _, p := range s.apart {
		if p.pid == pid {
			return
		}
	}
	if p, lives := s.eyes.process(pid, ""); lives {
		s.apart = append(s.apart, p)
	}
}

// outermost drops the groups that lie in another one: it counts them already.
func outermost(paths []string) []string {
	list := []string{}
	for i, path := range paths {
		covered := false
		for j, other := range paths {
			if path == other {
				covered = covered || j < i
			} else {
				covered = covered || strings.HasPrefix(path, strings.TrimSuffix(other, "/")+"/")
			}
		}
		if !covered {
			list = append(list, path)
		}
	}
	return list
}

func because(err error) Figure { return Figure{Missing: err.Error()} }
