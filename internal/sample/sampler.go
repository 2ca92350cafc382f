package sample

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/linux/cgroup"
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

// seldomly is how often is read what adds up by itself between two looks and
// costs much to be read: stalls, throttling, the division of processor time into
// user and system and among processes, and what processes have started.
const seldomly = time.Second

// skipped is why a look lacks such a figure.
const skipped = "read once a second"

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
	quiet   bool            // no listed process has run since the last look
	grown   bool            // listed processes may have started others
	pids    []int           // in the groups
	listed  bool            // by this look
	threads float64         // in the groups
	inside  crowd           // the processes in the groups
	outside crowd           // the listed processes and what they started
	apart   []*process      // those of the groups that listed processes started
	net     *traffic
	bottoms map[string]bool // whether a device lies on no other one

	began, at time.Time
	looks     int
	seldom    int     // every how many looks is a thorough one
	thorough  bool    // this look is
	ofStart   bool    // what was used before the first look counts as well
	now       Reading // as it is being read; counters are the kernel's own
	base      Reading // the first one
	last      Reading
	risen     Reading // the highest of each counter, as none ever falls
	series    Series
	curves    [4]curve // memory, cache, threads, processes
	final     *Usage
}

func newSampler(l *loop, t Target) *Sampler {
	s := &Sampler{seldom: max(1, int(seldomly/max(l.every, 1))), on: l.on, eyes: &l.eyes, footprint: t.Footprint, each: t.Each, loop: l, bottoms: map[string]bool{}}
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
	s.thorough = when != usual || s.looks%s.seldom == 0
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
	if !s.idle || !s.quiet { // else nobody can have sent or received anything
		s.net.look(s.loop)
	}
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
	risen, user, system := *r, s.risen.CPUUser.Value, s.risen.CPUSystem.Value
	for i := range Quantities {
		q := &Quantities[i]
		if q.Kind != Counter {
			continue
		}
		f, highest := q.of(r), q.of(&s.risen)
		*f = f.Minus(*q.of(&s.base))
		if *q.of(&risen) = *f; f.Missing == "" {
			highest.Value = max(highest.Value, f.Value)
			q.of(&risen).Value = highest.Value
		}
	}
	// How a group's processor time is divided is sampled by the kernel, and
	// corrected later: neither part falls, and both make up the whole.
	if all := risen.CPU.Plus(r.CPUUser).Plus(r.CPUSystem); all.Missing == "" {
		user = min(max(r.CPUUser.Value, user), risen.CPU.Value-system)
		risen.CPUUser.Value, risen.CPUSystem.Value = user, risen.CPU.Value-user
		s.risen.CPUUser.Value, s.risen.CPUSystem.Value = user, risen.CPU.Value-user
	}
	for i, f := range []Figure{r.Memory, r.Cache, r.Threads, r.Processes} {
		s.curves[i].add(s.at, f)
	}
	s.last = *r
	s.series.Began = s.began
	s.series.Add(&risen)
	if s.each == nil {
		return
	}
	for i := range Quantities { // who looks on wants no gaps
		if f := Quantities[i].of(&risen); f.Missing == skipped {
			*f = *Quantities[i].of(&s.risen)
		}
	}
	s.each(risen)
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
		if err := s.lookCPU(r, i); err != nil {
			r.CPU, r.CPUUser, r.CPUSystem, r.CPUThrottled = because(err), because(err), because(err), because(err)
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
		if !s.thorough {
			r.StallCPU.Missing, r.StallIO.Missing, r.StallMemory.Missing = skipped, skipped, skipped
		} else if stalls, err := g.Stalls(); err != nil {
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

// lookCPU adds the processor time of one group.
func (s *Sampler) lookCPU(r *Reading, i int) (err error) {
	var cpu cgroup.CPU
	if s.thorough {
		if cpu, err = s.groups[i].CPU(); err != nil {
			return err
		}
		user, system := cpu.Since(s.cpu[i])
		r.CPUUser.more(user.Seconds())
		r.CPUSystem.more(system.Seconds())
		r.CPUThrottled.more(cpu.Throttled.Seconds())
	} else {
		if cpu, err = s.groups[i].Quick(); err != nil {
			return err
		}
		r.CPUUser.Missing, r.CPUSystem.Missing, r.CPUThrottled.Missing = skipped, skipped, skipped
	}
	r.CPU.more((cpu.Total - s.cpu[i].Total).Seconds())
	s.idle = s.idle && cpu.Total == s.totals[i]
	s.totals[i] = cpu.Total
	return nil
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
