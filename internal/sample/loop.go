package sample

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Never is an Every that looks at the beginning and at the end alone.
const Never time.Duration = -1

// usually is the time between two looks where nothing else is asked for.
const usually = 100 * time.Millisecond

// Meter counts what an instance uses from its making until Stop.
type Meter interface {
	// Stop ends the counting and returns the usage from beginning to end. A later
	// call returns the same.
	Stop() Usage
	// Series are the readings, to be asked for after Stop.
	Series() *Series
}

// Target is an instance to be watched, and who hears of each look at it; nil for
// nobody.
type Target struct {
	Footprint
	Each func(Reading)
}

// loop looks at several instances, one after another, with one timer and one
// set of buffers.
type loop struct {
	on       machine
	eyes     eyes
	every    time.Duration
	samplers []*Sampler
	tables   map[string]*interfaces // by where they are seen
	host     *hostWatch
	effort   Effort

	halt, done chan struct{}
	once       sync.Once
}

// Start begins to watch one instance.
func Start(f Footprint, o Options) *Sampler {
	return StartAll(o.Every, Target{f, o.Each})[0]
}

// StartAll begins to watch several instances of this machine, and looks at all
// of them in each pass. The first Stop ends the watching of all, so that they
// are counted over the same time.
func StartAll(every time.Duration, targets ...Target) []*Sampler {
	return start(here(), every, false, targets...)
}

func start(on machine, every time.Duration, ofStart bool, targets ...Target) []*Sampler {
	if every == 0 {
		every = usually
	}
	l := &loop{on: on, every: every, eyes: eyes{proc: on.proc}, tables: map[string]*interfaces{}, halt: make(chan struct{}), done: make(chan struct{})}
	if on.proc == "/proc" {
		l.eyes.tasks, _ = openTaskstats() // without it every thread is asked
	}
	for _, t := range targets {
		s := newSampler(l, t)
		if s.ofStart = ofStart; ofStart {
			clear(s.cpu)
			s.inside.begun, s.outside.begun = true, true
		}
		l.samplers = append(l.samplers, s)
	}
	l.host = watchHost(l)
	l.pass(first)
	go l.run()
	return l.samplers
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

// pass looks at all instances, and at what that costs.
func (l *loop) pass(when stage) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began, used := time.Now(), threadTime()
	for _, s := range l.samplers {
		s.look(when)
	}
	l.host.look(l.on.now())
	took := time.Since(began).Seconds()
	e := &l.effort
	e.Passes++
	e.CPU += threadTime() - used
	e.PassMean += (took - e.PassMean) / float64(e.Passes)
	e.PassMax = max(e.PassMax, took)
}

// threadTime is the processor time of this thread, in seconds.
func threadTime() float64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return float64(t.Nano()) / 1e9
}

// end looks for the last time and sums up.
func (l *loop) end() {
	l.once.Do(func() {
		close(l.halt)
		<-l.done
		l.pass(last)
		host, effort := l.host.end(), l.effort
		for _, s := range l.samplers {
			u := s.usage()
			u.Host, u.Sampler = host, &effort
			s.final = &u
			s.close()
		}
		for _, t := range l.tables {
			t.file.Close()
		}
		if l.eyes.tasks != nil {
			l.eyes.tasks.close()
		}
	})
}

// Stop ends the watching, of all that began together, and returns the usage.
func (s *Sampler) Stop() Usage {
	s.loop.end()
	return *s.final
}

// Series are the readings.
func (s *Sampler) Series() *Series { return &s.series }

func (s *Sampler) close() {
	for _, g := range s.groups {
		g.Close()
	}
	s.inside.close()
	s.outside.close()
	for _, p := range s.apart {
		p.close()
	}
}
