package progress

import (
	"cmp"
	"fmt"
	"time"

	"tare/internal/base/crash"
	"tare/internal/run"
)

// open notes what comes after the preparation.
func (l *Live) open(e run.Event) {
	l.whole, l.bar, l.step, l.line = true, nil, nil, ""
	if l.budget = 0; e.Run != nil {
		l.budget = e.Run.Plan.Design.Budget
	}
	if l.now != nil {
		l.opened = l.now()
	}
}

// prepare shows what is prepared. A step is shown with a clock, since one can take minutes
// without a message.
func (l *Live) prepare(e run.Event) {
	if e.Step == nil || l.now == nil {
		l.status(e.Message)
		return
	}
	if l.step == nil || l.step.Number != e.Step.Number {
		l.began = l.now()
	}
	l.step, l.doing = e.Step, e.Message
	l.clock()
}

// clock redraws the step under way.
func (l *Live) clock() {
	now := l.now()
	if l.Line == nil && l.whole {
		l.bar = func(int) string { return preparation(now.Sub(l.opened), l.budget) }
	}
	l.status(stepLine(*l.step, now.Sub(l.began), l.doing))
}

// preparation says how long it has taken, and what follows it.
func preparation(took, budget time.Duration) string {
	text := "preparing"
	if took = took.Round(time.Second); took > 0 {
		text += " for " + took.String()
	}
	text += "; then the measurement"
	if budget > 0 {
		text += ", at most " + budget.String()
	}
	return text
}

// stepLine is a step of the preparation and what is done in it.
func stepLine(s run.Step, took time.Duration, doing string) string {
	doing = cmp.Or(doing, s.Name)
	text := fmt.Sprintf("step %d of %d", s.Number, s.Of)
	if took = took.Round(time.Second); took > 0 && s.Took == 0 {
		text += ", " + took.String()
	}
	return text + " · " + doing
}

// startClock redraws the step each second, until stopClock has returned.
func (l *Live) startClock() {
	stop, stopped := make(chan struct{}), make(chan struct{})
	l.stop, l.stopped = stop, stopped
	crash.Go(func() {
		defer close(stopped)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				l.locked(l.clock)
			}
		}
	})
}

func (l *Live) stopClock() {
	if l.stop != nil {
		close(l.stop)
		<-l.stopped
		l.stop = nil
	}
}
