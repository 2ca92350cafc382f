package usage

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/base/crash"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/stolen"
)

// Never is an Every for readings at the beginning and at the end only.
const Never time.Duration = -1

// defaultInterval is the default time between two readings.
const defaultInterval = 100 * time.Millisecond

// Options of a Sampling.
type Options struct {
	// Every is the time between two readings; 0 means 100 ms.
	Every time.Duration
	// Each, if not nil, is called with every reading of the one instance, from the
	// sampling goroutine. It must not block.
	Each func(Reading)
	// AtEdges: instead of a timer, the caller says when a sample begins and when it
	// ends (Begin, End). Only the samples count, and nothing is read between them.
	AtEdges bool
	// Cores that the instances use, for Edge.Steal; nil for all.
	Cores []int

	sinceCreation bool // usage before the first reading counts too
}

// Meter measures what an instance uses from the creation of the meter until Stop.
type Meter interface {
	// Stop ends the measurement and returns the usage. A later call returns the
	// same.
	Stop() Usage
	// Series returns the readings. It is valid after Stop.
	Series() *Series
}

// Target is an instance to sample. Each, if not nil, is called with each reading.
type Target struct {
	Footprint
	Each func(Reading)
}

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

// openStolen loads the program that reads the counters of the kernel, once: it takes
// some 0.1 s, and ends with this process.
var openStolen = sync.OnceValues(stolen.Open)

// stage of a reading.
type stage int

const (
	first stage = iota
	usual
	edge // of a sample
	last
)

// Sampling samples several instances, one after another, with one set of buffers: by a
// timer, or at the edges of samples.
type Sampling struct {
	Samplers []*Sampler // one of each target
	options  Options
	on       machine
	reader   procReader
	tables   map[string]*interfaces // by path and namespace
	host     hostMeter
	effort   Effort

	halt, done chan struct{}
	once       sync.Once
}

// Start starts sampling one instance.
func Start(f Footprint, o Options) *Sampler { return StartAll(o, Target{f, o.Each}).Samplers[0] }

// StartAll starts sampling several instances of this machine. Each pass reads all
// of them. The first Stop ends the sampling of all, so that they are measured
// over the same time.
func StartAll(o Options, targets ...Target) *Sampling {
	on := here()
	if o.AtEdges {
		if clock, err := openStolen(); err == nil {
			on.stolen = clock.Read
		}
	}
	return start(on, o, targets...)
}

func here() machine {
	on := machine{proc: "/proc", sys: "/sys", now: time.Now}
	on.groups, _ = cgroup.Host()
	return on
}

// OfStart returns what an instance has used since its creation, from the counters
// of its groups and processes. It excludes the daemons of an engine. The network
// is missing, since the counters of an interface do not start with the instance.
func OfStart(f Footprint) Usage {
	return ofStart(here(), f)
}

func ofStart(on machine, f Footprint) Usage {
	once := func(f Footprint) Usage {
		return start(on, Options{Every: Never, sinceCreation: true}, Target{Footprint: f}).Samplers[0].Stop()
	}
	usage := once(f)
	if f.Early != "" { // its memory need not be counted; processes have all of their time
		f.Cgroups, f.Processes = append(slices.Clone(f.Cgroups), f.Early), nil
		whole := once(f)
		usage.CPUUser, usage.CPUSystem = whole.CPUUser, whole.CPUSystem
	}
	absent := Absent("not counted during the start")
	usage.NetReceived, usage.NetSent, usage.PacketsIn, usage.PacketsOut = absent, absent, absent, absent
	// Both describe the time between two readings; here there is only one.
	usage.Host, usage.Sampler = nil, nil
	return usage
}

func start(on machine, o Options, targets ...Target) *Sampling {
	o.Every = cmp.Or(o.Every, defaultInterval)
	g := &Sampling{
		options: o, on: on, reader: procReader{proc: on.proc, cores: o.Cores}, tables: map[string]*interfaces{},
		halt: make(chan struct{}), done: make(chan struct{}),
	}
	if on.proc == "/proc" {
		g.reader.tasks, _ = openTaskstats() // without it each thread is read
	}
	for _, t := range targets {
		g.Samplers = append(g.Samplers, newSampler(g, t))
	}
	g.host.open(g)
	g.pass(first)
	crash.Go(g.run)
	return g
}

// run reads by the timer.
func (g *Sampling) run() {
	defer close(g.done)
	if g.options.Every < 0 || g.options.AtEdges {
		<-g.halt
		return
	}
	tick := time.NewTicker(g.options.Every)
	defer tick.Stop()
	for {
		select {
		case <-g.halt:
			return
		case due := <-tick.C:
			if time.Since(due) > g.options.Every/2 {
				g.effort.Late++
			}
			g.pass(usual)
		}
	}
}

// pass reads all instances, and measures its own overhead.
func (g *Sampling) pass(when stage) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began, used := time.Now(), threadTime()
	for _, s := range g.Samplers {
		s.read(when)
	}
	if !g.options.AtEdges {
		g.host.energy.poll(g.on.now())
	}
	took := time.Since(began).Seconds()
	e := &g.effort
	e.Passes++
	e.CPU += threadTime() - used
	e.PassMean += (took - e.PassMean) / float64(e.Passes)
	e.PassMax = max(e.PassMax, took)
}

// threadTime returns the CPU time of this thread in seconds.
func threadTime() float64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return float64(t.Nano()) / 1e9
}

// Edge is what a sample took.
type Edge struct {
	CPU   Figure // CPU time of all instances
	Steal Figure // that the hypervisor took from the cores of the instances, over all of them
	// StealSource is StealCounters or StealTicks.
	StealSource string
}

// What stolen time is read from: the counters of the kernel, in nanoseconds, or
// /proc/stat, in ticks of 10 ms.
const (
	StealCounters = "run queues"
	StealTicks    = "/proc/stat"
)

// Begin reads the counters at the beginning of a sample.
func (g *Sampling) Begin() {
	g.pause(true)
	g.pass(edge)
	g.pause(false)
	for _, s := range g.Samplers {
		s.record.mark = s.record.last
	}
	g.host.began = g.host.read(g)
}

// pause says whether the time until the next reading lies between samples.
func (g *Sampling) pause(between bool) {
	for _, s := range g.Samplers {
		s.record.paused = between
	}
}

// End reads them at its end, and returns what the sample took.
func (g *Sampling) End() (all Edge) {
	stolen := g.host.add(g)
	g.pass(edge)
	for _, s := range g.Samplers {
		all.CPU = all.CPU.Plus(s.record.addSample())
	}
	all.Steal, all.StealSource = Figure{Value: max(stolen, 0).Seconds(), Missing: g.host.noSteal}, StealTicks
	if g.on.stolen != nil {
		all.StealSource = StealCounters
	}
	return all
}

// Close makes the last reading and computes the usages.
func (g *Sampling) Close() {
	g.once.Do(func() {
		close(g.halt)
		<-g.done
		g.pause(g.options.AtEdges)
		g.pass(last) // at edges for the memory of each process
		for _, s := range g.Samplers {
			if g.options.AtEdges {
				s.record.useSum()
			}
		}
		host, effort := g.host.close(g), g.effort
		for _, s := range g.Samplers {
			u := s.usage()
			u.Host, u.Sampler = host, &effort
			s.final = &u
			s.close()
		}
		for _, t := range g.tables {
			t.file.Close()
		}
		if g.reader.totals != nil {
			g.reader.totals.Close()
		}
		if g.reader.tasks != nil {
			g.reader.tasks.close()
		}
	})
}
