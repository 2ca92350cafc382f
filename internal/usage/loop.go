package usage

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/base/crash"
)

// Never is an Every for readings at the beginning and at the end only.
const Never time.Duration = -1

// defaultInterval is the default time between two readings.
const defaultInterval = 100 * time.Millisecond

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

// loop samples several instances, one after another, with one timer and one set
// of buffers.
type loop struct {
	on       machine
	reader   procReader
	every    time.Duration
	samplers []*Sampler
	tables   map[string]*interfaces // by path and namespace
	host     *hostMeter
	edges    *Edges // instead of the timer and host, if readings are made by hand
	effort   Effort

	halt, done chan struct{}
	once       sync.Once
}

// Start starts sampling one instance.
func Start(f Footprint, o Options) *Sampler {
	return StartAll(o.Every, Target{f, o.Each})[0]
}

// StartAll starts sampling several instances of this machine. Each pass reads all
// of them. The first Stop ends the sampling of all, so that they are measured
// over the same time.
func StartAll(every time.Duration, targets ...Target) []*Sampler {
	return start(here(), every, false, targets...)
}

func start(on machine, every time.Duration, sinceCreation bool, targets ...Target) []*Sampler {
	l := newLoop(on, every, sinceCreation, targets...)
	l.host = newHostMeter(l)
	l.pass(first)
	crash.Go(l.run)
	return l.samplers
}

func newLoop(on machine, every time.Duration, sinceCreation bool, targets ...Target) *loop {
	if every == 0 {
		every = defaultInterval
	}
	l := &loop{on: on, every: every, reader: procReader{proc: on.proc}, tables: map[string]*interfaces{}, halt: make(chan struct{}), done: make(chan struct{})}
	if on.proc == "/proc" {
		l.reader.tasks, _ = openTaskstats() // without it each thread is read
	}
	for _, t := range targets {
		s := newSampler(l, t)
		if s.sinceCreation = sinceCreation; sinceCreation {
			clear(s.cpu)
			s.inside.started, s.outside.started = true, true
		}
		l.samplers = append(l.samplers, s)
	}
	return l
}

func (l *loop) run() {
	defer close(l.done)
	if l.every < 0 {
		<-l.halt
		return
	}
	tick := time.NewTicker(l.every)
	defer tick.Stop()
	for {
		select {
		case <-l.halt:
			return
		case due := <-tick.C:
			if time.Since(due) > l.every/2 {
				l.effort.Late++
			}
			l.pass(usual)
		}
	}
}

// pass reads all instances, and measures its own overhead.
func (l *loop) pass(when stage) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began, used := time.Now(), threadTime()
	for _, s := range l.samplers {
		s.read(when)
	}
	if l.host != nil {
		l.host.poll(l.on.now())
	}
	took := time.Since(began).Seconds()
	e := &l.effort
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

// end makes the last pass and computes the usages.
func (l *loop) end() {
	l.once.Do(func() {
		var host *HostUsage
		if l.edges != nil {
			host = l.edges.finish()
		} else {
			close(l.halt)
			<-l.done
			l.pass(last)
			host = l.host.end()
		}
		effort := l.effort
		for _, s := range l.samplers {
			u := s.usage()
			u.Host, u.Sampler = host, &effort
			s.final = &u
			s.close()
		}
		for _, t := range l.tables {
			t.file.Close()
		}
		if l.reader.totals != nil {
			l.reader.totals.Close()
		}
		if l.reader.tasks != nil {
			l.reader.tasks.close()
		}
	})
}

// Stop ends the sampling of all instances that were started together, and returns
// the usage of this one.
func (s *Sampler) Stop() Usage {
	s.loop.end()
	return *s.final
}

// Series returns the readings.
func (s *Sampler) Series() *Series { return &s.series }

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
