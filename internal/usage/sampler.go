package usage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/linux/cgroup"
)

// machine is what the readings come from: this machine, or a recorded one.
type machine struct {
	groups *cgroup.Tree // nil if there is none
	proc   string       // /proc
	sys    string       // /sys
	now    func() time.Time
	// stolen returns the time that the hypervisor took from some cores, or from all;
	// nil if only /proc/stat has it.
	stolen func(cores []int) (time.Duration, error)
}

// here returns this machine.
func here() machine {
	on := machine{proc: "/proc", sys: "/sys", now: time.Now}
	on.groups, _ = cgroup.Host()
	return on
}

// stage of a reading.
type stage int

const (
	first stage = iota
	usual
	edge // of a sample
	last
)

// expensiveInterval is the time between full readings. Cumulative counters that
// are expensive to read are sampled once per second, and once at the end: stalls,
// throttling, the division of CPU time into user and system and among processes,
// and the children of processes.
const expensiveInterval = time.Second

// notRead is why the other readings lack such a figure.
const notRead = "read once per second"

// Sampler samples one instance.
type Sampler struct {
	on        machine
	reader    *procReader
	footprint Footprint
	each      func(Reading)
	loop      *loop

	problem       string // why nothing can be counted from groups and processes
	groups        []*cgroup.Counter
	cpu           []cgroup.CPU    // at the first reading
	totals        []time.Duration // CPU time at the previous reading
	idle          bool            // nothing in the groups has run since the previous reading
	memory        []cgroup.Memory // at the previous reading
	listedIdle    bool            // no listed process has run since the previous reading
	mayHaveForked bool            // listed processes may have started others
	pids          []int           // in the groups
	listed        bool            // pids was read in this reading
	threads       float64         // in the groups
	inside        processSet      // the processes in the groups
	outside       processSet      // the listed processes and their descendants
	elsewhere     []*process      // processes in the groups that listed processes started
	net           *traffic
	bottomDevices map[string]bool // whether a device is stacked on no other

	began, at     time.Time
	readings      int
	fullEvery     int     // every how many readings a full one is made
	full          bool    // this reading is a full one
	sinceCreation bool    // usage before the first reading counts too
	now           Reading // in progress; its counters are the kernel's values
	base          Reading // the first
	last          Reading
	mark, sum     Reading // at the beginning of a sample, and the counters' sums over the samples
	resume        bool    // the time since the previous reading does not count
	highest       Reading // the highest value of each counter, since none may fall
	series        Series
	curves        [4]curve // memory, cache, threads, processes
	final         *Usage
}

func newSampler(l *loop, t Target) *Sampler {
	s := &Sampler{fullEvery: max(1, int(expensiveInterval/max(l.every, 1))), on: l.on, reader: &l.reader, footprint: t.Footprint, each: t.Each, loop: l, bottomDevices: map[string]bool{}}
	s.inside.role = s.footprint.roleInside
	if len(s.footprint.Cgroups)+len(s.footprint.Processes) == 0 {
		s.problem = "the environment reports neither a cgroup nor a process of the instance"
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
		s.groups, s.cpu, s.totals, s.memory = append(s.groups, c), append(s.cpu, before), append(s.totals, -1), append(s.memory, cgroup.Memory{})
	}
	for _, p := range s.footprint.Processes {
		if _, lives := s.outside.add(s.reader, p.PID, p.Role); !lives {
			s.problem = fmt.Sprintf("process %d (%s) had exited when the sampling began", p.PID, p.Role)
		}
	}
	s.net = openTraffic(l, s.footprint)
	return s
}

// read makes one reading.
func (s *Sampler) read(when stage) {
	s.at = s.on.now()
	if when == first {
		s.began = s.at
	}
	s.full = when != usual || s.readings%s.fullEvery == 0
	s.now = Reading{Seconds: s.at.Sub(s.began).Seconds()}
	r := &s.now
	if s.problem == "" {
		// CPU time first, so that it excludes the overhead of this reading.
		s.readGroups(r, when)
		s.readProcesses(r, when)
	} else {
		for i := range Quantities {
			*Quantities[i].of(r) = Figure{Missing: s.problem}
		}
	}
	if !s.idle || !s.listedIdle { // otherwise nothing was sent or received
		s.net.read(s.loop)
	}
	traffic := s.net.figures()
	r.NetReceived, r.NetSent, r.PacketsIn, r.PacketsOut = traffic[0], traffic[1], traffic[2], traffic[3]
	if when == first && !s.sinceCreation {
		s.base = *r
	}
	s.record(r)
	s.readings++
}

// record turns the kernel's values into a reading and adds it to the series.
func (s *Sampler) record(r *Reading) {
	risen, user, system := *r, s.highest.CPUUser.Value, s.highest.CPUSystem.Value
	for i := range Quantities {
		q := &Quantities[i]
		if q.Kind != Counter {
			continue
		}
		f, highest := q.of(r), q.of(&s.highest)
		*f = f.Minus(*q.of(&s.base))
		if *q.of(&risen) = *f; f.Missing == "" {
			highest.Value = max(highest.Value, f.Value)
			q.of(&risen).Value = highest.Value
		}
	}
	// The kernel estimates the division of a group's CPU time by sampling, and
	// corrects it later. Here neither part falls, and they add up to the total.
	if all := risen.CPU.Plus(r.CPUUser).Plus(r.CPUSystem); all.Missing == "" {
		user = min(max(r.CPUUser.Value, user), risen.CPU.Value-system)
		risen.CPUUser.Value, risen.CPUSystem.Value = user, risen.CPU.Value-user
		s.highest.CPUUser.Value, s.highest.CPUSystem.Value = user, risen.CPU.Value-user
	}
	for i, f := range []Figure{r.Memory, r.Cache, r.Threads, r.Processes} {
		s.curves[i].add(s.at, f, !s.resume)
	}
	s.last = *r
	s.series.Began = s.began
	s.series.Add(&risen)
	if s.each == nil {
		return
	}
	for i := range Quantities { // live readings have no gaps
		if f := Quantities[i].of(&risen); f.Missing == notRead {
			*f = *Quantities[i].of(&s.highest)
		}
	}
	s.each(risen)
}

func (s *Sampler) readGroups(r *Reading, when stage) {
	s.idle = when == usual && len(s.groups) > 0
	if len(s.groups) == 0 {
		r.CPUThrottled = Absent("only cgroups have a CPU quota, and the instance has no cgroup")
		r.Cache = Absent("the page cache is charged to cgroups only, and the instance has none")
		absent := Absent("the kernel counts stalls (PSI) per cgroup, and the instance has none")
		r.StallCPU, r.StallIO, r.StallMemory = absent, absent, absent
		absent = Absent("the kernel counts disk operations per cgroup, and the instance has none")
		r.DiskReads, r.DiskWrites = absent, absent
		return
	}
	v2 := s.on.groups.Mode() == "v2"
	for i, g := range s.groups {
		if err := s.readGroupCPU(r, i); err != nil {
			r.CPU, r.CPUUser, r.CPUSystem, r.CPUThrottled = missing(err), missing(err), missing(err), missing(err)
		}
		if m, err := g.MemorySince(s.memory[i], s.idle); err != nil {
			r.Memory, r.Cache, r.MinorFaults, r.MajorFaults = missing(err), missing(err), missing(err), missing(err)
		} else {
			s.memory[i] = m
			r.Memory.more(float64(m.WorkingSet()))
			r.Cache.more(float64(max(m.Cache-m.Shmem, 0)))
			r.MinorFaults.more(float64(m.Faults - m.MajorFaults))
			r.MajorFaults.more(float64(m.MajorFaults))
		}
		if !s.full {
			r.StallCPU.Missing, r.StallIO.Missing, r.StallMemory.Missing = notRead, notRead, notRead
		} else if stalls, err := g.Stalls(); err != nil {
			r.StallCPU, r.StallIO, r.StallMemory = missing(err), missing(err), missing(err)
		} else {
			r.StallCPU.more(stalls.CPU.Seconds())
			r.StallIO.more(stalls.IO.Seconds())
			r.StallMemory.more(stalls.Memory.Seconds())
		}
		if v2 {
			if io, err := g.IO(s.isBottom); err != nil {
				r.DiskRead, r.DiskWritten, r.DiskReads, r.DiskWrites = missing(err), missing(err), missing(err), missing(err)
			} else {
				r.DiskRead.more(float64(io.Read))
				r.DiskWritten.more(float64(io.Written))
				r.DiskReads.more(float64(io.Reads))
				r.DiskWrites.more(float64(io.Writes))
			}
			continue
		}
		if reads, err := g.Served(s.isBottom); err != nil {
			r.DiskReads, r.DiskWrites = missing(err), missing(err)
		} else {
			r.DiskReads.more(float64(reads))
			r.DiskWrites = Figure{Missing: "cgroup v1 does not charge written pages to a group"}
		}
	}
}

// readGroupCPU adds the CPU time of one group.
func (s *Sampler) readGroupCPU(r *Reading, i int) (err error) {
	var cpu cgroup.CPU
	if s.full {
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
		r.CPUUser.Missing, r.CPUSystem.Missing, r.CPUThrottled.Missing = notRead, notRead, notRead
	}
	r.CPU.more((cpu.Total - s.cpu[i].Total).Seconds())
	s.idle = s.idle && cpu.Total == s.totals[i]
	s.totals[i] = cpu.Total
	return nil
}

// isBottom reports whether a block device is stacked on no other. The I/O of a
// loop or device-mapper device is counted again by the device below it.
func (s *Sampler) isBottom(device []byte) bool {
	lies, known := s.bottomDevices[string(device)]
	if !known {
		directory := filepath.Join(s.on.sys, "dev", "block", string(device))
		_, err := os.Stat(filepath.Join(directory, "loop"))
		slaves, _ := os.ReadDir(filepath.Join(directory, "slaves"))
		lies = err != nil && len(slaves) == 0
		s.bottomDevices[string(device)] = lies
	}
	return lies
}

// outermost drops groups inside another one, which includes their counters.
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

func missing(err error) Figure { return Figure{Missing: err.Error()} }
