package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/rundir"
	"tare/internal/trial"
	"tare/internal/verdict"
)

// loop makes trials until the schedule says that the run is over.
func (e *execution) loop(ctx context.Context, runner *trial.Runner) error {
	e.began = time.Now()
	e.announceVerdicts() // of earlier sessions
	block := 0
	for {
		batch, more := e.schedule.NextBatch(e.elapsed())
		if !more {
			return nil
		}
		if next := batch.Slots[0]; next.Block != block {
			block = next.Block
			if err := e.waitUntilIdle(ctx); err != nil {
				return err
			}
			e.progress(Event{Kind: Block, Slot: &next})
		}
		trying := Event{Kind: Trying, Slot: &batch.Slots[0]}
		if batch.Slots[0].Rounds > 0 {
			trying.Batch = batch.Slots
		}
		e.progress(trying)
		e.batch = batch
		trials, err := e.attempt(ctx, runner)
		if ctx.Err() != nil {
			return ctx.Err() // the trials are made again by --resume
		}
		for i := range trials {
			e.warnInterrupted(&trials[i])
			e.maskSecrets(&trials[i])
		}
		if err := errors.Join(e.run.Append(trials...), err); err != nil {
			return err
		}
		for i := range trials {
			e.schedule.Record(trials[i])
		}
		for i := range trials {
			e.progress(Event{Kind: Tried, Slot: &batch.Slots[i], Trial: &trials[i], Contrasts: e.schedule.Verdicts()})
		}
		if batch.Slots[0].Rounds > 0 || time.Since(e.told) >= estimatesEvery {
			e.estimates(0, nil)
		}
		e.announceVerdicts()
	}
}

// attempt makes the trials of the batch under way. While this process is stopped (SIGSTOP,
// Ctrl-Z), the clocks of samples, starts and timeouts go on, so what it was stopped in is
// discarded and made again.
func (e *execution) attempt(ctx context.Context, runner *trial.Runner) ([]rundir.Trial, error) {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	again := ""
	for {
		trials, err := runner.Run(ctx, e.batch)
		if ctx.Err() != nil || err != nil {
			return trials, err
		}
		select {
		case <-continued:
		default:
			for i := range trials {
				if again != "" && trials[i].Status != rundir.Skipped {
					trials[i].Warnings = append(trials[i].Warnings, again)
				}
			}
			return trials, nil
		}
		again = "tare was stopped (SIGSTOP or Ctrl-Z) while this was under way, and made it again: the first attempt is discarded"
		slot := e.batch.Slots[0]
		e.events(Event{Kind: Noted, Message: fmt.Sprintf("tare was stopped (SIGSTOP or Ctrl-Z) during block %d of %s: what was under way is discarded and made again", slot.Block, slot.Workload)})
		if err := runner.Again(); err != nil {
			return nil, err
		}
	}
}

// estimatesEvery is the least time between two events with estimates that are sent
// while samples are taken: a display that draws between two of them works next to
// nothing else, but its terminal may go on during the next sample.
const estimatesEvery = time.Second

// afterRound sends the estimates so far, which include the rounds of the trials
// under way.
func (e *execution) afterRound(number int, underWay []rundir.Trial) {
	if time.Since(e.told) >= estimatesEvery {
		e.estimates(number, underWay)
	}
}

func (e *execution) estimates(round int, underWay []rundir.Trial) {
	e.told = time.Now()
	e.events(Event{Kind: Estimates, Slot: &e.batch.Slots[0], Round: round, Estimates: e.schedule.SoFar(underWay)})
}

// warnInterrupted adds a warning to a trial whose block was begun by an earlier
// session.
func (e *execution) warnInterrupted(t *rundir.Trial) {
	switch {
	case t.Instance == "":
	case e.interrupted[[2]string{fmt.Sprint(t.Block), t.Environment}]:
		t.Warnings = append(t.Warnings, "the run was interrupted within this block: the environment's earlier trials in it ran in another instance, and at another time")
	case len(t.Rounds) > 0 && e.torn[batchKey{t.Block, t.Workload, t.Level}]:
		t.Warnings = append(t.Warnings, "the run was killed while it wrote this block: the samples of other environments with the same round were taken at another time")
	}
}

func (e *execution) elapsed() time.Duration { return e.before + time.Since(e.began) }

func (e *execution) progress(event Event) {
	event.Progress = e.schedule.Progress(e.elapsed())
	e.events(event)
}

// announceVerdicts sends an event for each primary contrast that was decided
// since the last call.
func (e *execution) announceVerdicts() {
	for i, c := range e.schedule.Verdicts() {
		key := strings.Join([]string{c.Workload, c.Level, c.Metric, c.Environment, c.Part}, "\x00")
		if !c.Primary || c.Open || e.decided[key] || c.N == 0 || c.Verdict == verdict.None {
			continue
		}
		if e.decided == nil {
			e.decided = map[string]bool{}
		}
		e.decided[key] = true
		c = e.schedule.Contrasts()[i]
		e.progress(Event{Kind: Verdict, Contrast: &c, Message: verdict.Wording(c)})
	}
}
