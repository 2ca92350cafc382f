package usage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/linux/cgroup"
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
	sampling  *Sampling
	reader    *procReader
	record    record
	footprint Footprint

	problem       string // why nothing can be counted from groups and processes
	groups        []*groupCounter
	idle          bool       // nothing in the groups has run since the previous reading
	listedIdle    bool       // no listed process has run since the previous reading
	mayHaveForked bool       // listed processes may have started others
	pids          []int      // in the groups
	listed        bool       // pids was read in this reading
	threads       float64    // in the groups
	inside        processSet // the processes in the groups
	outside       processSet // the listed processes and their descendants
	elsewhere     []*process // processes in the groups that listed processes started
	net           *traffic
	bottomDevices map[string]bool // whether a device is stacked on no other

	readings  int
	fullEvery int  // every how many readings a full one is made
	full      bool // this reading is a full one
	final     *Usage
}

// groupCounter is a cgroup with what it counted before.
type groupCounter struct {
	*cgroup.Counter
	first  cgroup.CPU    // at the first reading
	total  time.Duration // CPU time at the previous reading
	memory cgroup.Memory // at the previous reading
}

func newSampler(g *Sampling, t Target) *Sampler {
	s := &Sampler{
		sampling: g, reader: &g.reader, record: record{each: t.Each}, footprint: t.Footprint, bottomDevices: map[string]bool{},
		fullEvery: max(1, int(expensiveInterval/max(g.options.Every, 1))),
	}
	s.inside.role = s.footprint.roleInside
	s.inside.started, s.outside.started = g.options.sinceCreation, g.options.sinceCreation
	if len(s.footprint.Cgroups)+len(s.footprint.Processes) == 0 {
		s.problem = "the environment reports neither a cgroup nor a process of the instance"
	}
	for _, path := range outermost(s.footprint.Cgroups) {
		if g.on.groups == nil {
			s.problem = "no cgroup hierarchy is mounted on this machine"
			break
		}
		one := &groupCounter{Counter: g.on.groups.At(path).Counter(), total: -1}
		before, err := one.CPU()
		if err != nil {
			s.problem = err.Error()
		}
		if !g.options.sinceCreation {
			one.first = before
		}
		s.groups = append(s.groups, one)
	}
	for _, p := range s.footprint.Processes {
		if _, lives := s.outside.add(s.reader, p.PID, p.Role); !lives {
			s.problem = fmt.Sprintf("process %d (%s) had exited when the sampling began", p.PID, p.Role)
		}
	}
	s.net = openTraffic(g, s.footprint)
	return s
}

// read makes one reading.
func (s *Sampler) read(when stage) {
	at := s.sampling.on.now()
	if when == first {
		s.record.began = at
	}
	s.full = when != usual || s.readings%s.fullEvery == 0
	r := &Reading{Seconds: at.Sub(s.record.began).Seconds()}
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
		s.net.read(s.sampling.effort.Passes)
	}
	traffic := s.net.figures()
	r.NetReceived, r.NetSent, r.PacketsIn, r.PacketsOut = traffic[0], traffic[1], traffic[2], traffic[3]
	if when == first && !s.sampling.options.sinceCreation {
		s.record.base = *r
	}
	s.record.add(r, at)
	s.readings++
}

// add adds values to figures, or says why there are none.
func add(err error, figures [4]*Figure, values ...float64) {
	for i, f := range figures {
		switch {
		case f == nil:
		case err != nil:
			*f = Figure{Missing: err.Error()}
		default:
			f.more(values[i])
		}
	}
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
	for _, g := range s.groups {
		s.readCPU(r, g)
		m, err := g.MemorySince(g.memory, s.idle)
		if err == nil {
			g.memory = m
		}
		add(err, [4]*Figure{&r.Memory, &r.Cache, &r.MinorFaults, &r.MajorFaults},
			float64(m.WorkingSet()), float64(max(m.Cache-m.Shmem, 0)), float64(m.Faults-m.MajorFaults), float64(m.MajorFaults))
		if s.full {
			stalls, err := g.Stalls()
			add(err, [4]*Figure{&r.StallCPU, &r.StallIO, &r.StallMemory}, stalls.CPU.Seconds(), stalls.IO.Seconds(), stalls.Memory.Seconds())
		} else {
			r.StallCPU.Missing, r.StallIO.Missing, r.StallMemory.Missing = notRead, notRead, notRead
		}
		if s.sampling.on.groups.Mode() == "v2" {
			io, err := g.IO(s.isBottom)
			add(err, [4]*Figure{&r.DiskRead, &r.DiskWritten, &r.DiskReads, &r.DiskWrites},
				float64(io.Read), float64(io.Written), float64(io.Reads), float64(io.Writes))
			continue
		}
		reads, err := g.Served(s.isBottom)
		if r.DiskWrites = Absent("cgroup v1 does not charge written pages to a group"); err != nil {
			r.DiskWrites = Figure{Missing: err.Error()}
		}
		add(err, [4]*Figure{&r.DiskReads}, float64(reads))
	}
}

// readCPU adds the CPU time of one group.
func (s *Sampler) readCPU(r *Reading, g *groupCounter) {
	read := g.Quick
	if s.full {
		read = g.CPU
	}
	cpu, err := read()
	if user, system := cpu.Since(g.first); s.full || err != nil {
		add(err, [4]*Figure{&r.CPUUser, &r.CPUSystem, &r.CPUThrottled}, user.Seconds(), system.Seconds(), cpu.Throttled.Seconds())
	} else {
		r.CPUUser.Missing, r.CPUSystem.Missing, r.CPUThrottled.Missing = notRead, notRead, notRead
	}
	add(err, [4]*Figure{&r.CPU}, (cpu.Total - g.first.Total).Seconds())
	if err == nil {
		s.idle = s.idle && cpu.Total == g.total
		g.total = cpu.Total
	}
}

// isBottom reports whether a block device is stacked on no other. The I/O of a
// loop or device-mapper device is counted again by the device below it.
func (s *Sampler) isBottom(device []byte) bool {
	lies, known := s.bottomDevices[string(device)]
	if !known {
		directory := filepath.Join(s.sampling.on.sys, "dev", "block", string(device))
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

// Stop ends the sampling of all instances that were started together, and returns
// the usage of this one.
func (s *Sampler) Stop() Usage {
	s.sampling.Close()
	return *s.final
}

// Series returns the readings.
func (s *Sampler) Series() *Series { return &s.record.series }

func (s *Sampler) close() {
	for _, g := range s.groups {
		g.Close()
	}
	s.inside.close()
	s.outside.close()
	for _, p := range s.elsewhere {
		p.close()
	}
}
