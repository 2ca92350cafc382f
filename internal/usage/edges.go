package usage

import (
	"math"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/linux/stolen"
)

// Edges measures what instances of this machine use in several samples, from
// readings at the beginning and at the end of each. Between the samples nothing
// is read, and what the instances use then is not counted, except in the division
// by process.
type Edges struct {
	loop            *loop
	energy          *energy
	began           machineTotals
	sum             machineTotals
	noStat, noSteal string
	cores           int
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

// kernelStolen reads the counters of the kernel. The program that does is loaded once,
// which takes some 0.1 s, and ends with this process.
func kernelStolen(cores []int) (time.Duration, error) {
	clock, err := openStolen()
	if err != nil {
		return 0, err
	}
	return clock.Read(cores)
}

var openStolen = sync.OnceValues(stolen.Open)

// machineTotals are the cumulative counters of this machine at a moment, or what
// they grew by.
type machineTotals struct {
	at     time.Time
	span   time.Duration
	stat   total
	stolen time.Duration // from the cores of the instances
	tare   float64       // CPU time of this process
	energy float64       // J
}

// NewEdges begins with instances that use these cores, or all where there are
// none, between samples. Each target's sampler has the usage after Close.
func NewEdges(cores []int, targets ...Target) (*Edges, []*Sampler) {
	on := here()
	if _, err := kernelStolen(nil); err == nil {
		on.stolen = kernelStolen
	}
	return newEdges(on, cores, targets...)
}

func newEdges(on machine, cores []int, targets ...Target) (*Edges, []*Sampler) {
	l := newLoop(on, Never, false, targets...)
	l.reader.cores = cores
	e := &Edges{loop: l, energy: openEnergy(on.sys)}
	l.edges = e
	l.pass(first)
	return e, l.samplers
}

// Begin reads the counters at the beginning of a sample.
func (e *Edges) Begin() {
	for _, s := range e.loop.samplers {
		s.resume = true
	}
	e.loop.pass(edge)
	for _, s := range e.loop.samplers {
		s.resume, s.mark = false, s.last
	}
	e.began = e.read()
}

// End reads them at its end, and returns what the sample took.
func (e *Edges) End() (all Edge) {
	now := e.read()
	took := now.minus(e.began)
	e.sum = e.sum.plus(took)
	e.loop.pass(edge)
	for _, s := range e.loop.samplers {
		all.CPU = all.CPU.Plus(s.last.CPU.Minus(s.mark.CPU))
		s.addSample()
	}
	all.Steal, all.StealSource = Figure{Value: max(took.stolen, 0).Seconds(), Missing: e.noSteal}, StealTicks
	if e.loop.on.stolen != nil {
		all.StealSource = StealCounters
	}
	return all
}

// addSample adds what the counters grew by since the mark.
func (s *Sampler) addSample() {
	for i := range Quantities {
		q := &Quantities[i]
		sum := q.of(&s.sum)
		if q.Kind == Counter {
			*sum = sum.Plus(q.of(&s.last).Minus(*q.of(&s.mark)))
		}
	}
}

// read reads the machine's counters.
func (e *Edges) read() machineTotals {
	now := machineTotals{at: e.loop.on.now(), tare: ownTime(), energy: e.energy.total()}
	var err error
	if now.stat, e.cores, err = e.loop.reader.total(); err != nil {
		e.noStat = err.Error()
	}
	if now.stolen = time.Duration(math.Round(now.stat.stolen*ticks)) * (time.Second / ticks); e.loop.on.stolen != nil {
		now.stolen, err = e.loop.on.stolen(e.loop.reader.cores)
	}
	if err != nil {
		e.noSteal = err.Error()
	}
	return now
}

func (t machineTotals) minus(o machineTotals) machineTotals {
	return machineTotals{
		span: t.at.Sub(o.at), tare: t.tare - o.tare, energy: t.energy - o.energy,
		stat: t.stat.plus(o.stat, -1), stolen: t.stolen - o.stolen,
	}
}

func (t machineTotals) plus(o machineTotals) machineTotals {
	return machineTotals{
		span: t.span + o.span, tare: t.tare + o.tare, energy: t.energy + o.energy,
		stat: t.stat.plus(o.stat, 1),
	}
}

// plus adds another one, times a factor.
func (t total) plus(o total, times float64) total {
	return total{
		user: t.user + times*o.user, system: t.system + times*o.system, irq: t.irq + times*o.irq,
		softirq: t.softirq + times*o.softirq, steal: t.steal + times*o.steal, stolen: t.stolen + times*o.stolen,
	}
}

// Close ends the readings; the samplers' Stop then returns the sums over the
// samples.
func (e *Edges) Close() { e.loop.end() }

// finish puts the sums in place of the last readings.
func (e *Edges) finish() *HostUsage {
	for _, s := range e.loop.samplers {
		s.resume = true
	}
	e.loop.pass(last) // for the memory of each process
	u := &HostUsage{Cores: e.cores, Boot: bootOf(e.loop.on.proc), IRQTime: irqTime(e.loop.on.proc), Seconds: e.sum.span.Seconds()}
	for _, s := range e.loop.samplers {
		if all := s.sum.CPU; all.Missing == "" && s.sum.CPUUser.Missing == "" {
			user := min(max(s.sum.CPUUser.Value, 0), all.Value)
			s.sum.CPUUser.Value, s.sum.CPUSystem.Value = user, all.Value-user
		}
		s.last = s.sum
		u.Watched = u.Watched.Plus(s.sum.CPU)
	}
	stat := func(v float64) Figure { return Figure{Value: max(v, 0), Missing: e.noStat} }
	u.CPU, u.User, u.System = stat(e.sum.stat.busy()), stat(e.sum.stat.user), stat(e.sum.stat.system)
	u.IRQ, u.SoftIRQ, u.Steal = stat(e.sum.stat.irq), stat(e.sum.stat.softirq), stat(e.sum.stat.steal)
	u.Tare, u.Energy = Known(e.sum.tare), Figure{Value: e.sum.energy, Missing: e.energy.missing}
	absent := Absent("the processes of the whole machine are not read between samples that alternate")
	u.Others, u.KernelThreads, u.Unattributed, u.Error = absent, absent, absent, absent
	e.energy.close()
	return u
}

// ownTime is the CPU time of this process in seconds.
func ownTime() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
