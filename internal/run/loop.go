package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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
		e.progress(Event{Kind: Trying, Slot: &batch.Slots[0]})
		trials, err := runner.Run(ctx, batch)
		if ctx.Err() != nil {
			return ctx.Err() // the trials are made again by --resume
		}
		for i := range trials {
			if t := &trials[i]; e.interrupted[[2]string{fmt.Sprint(t.Block), t.Environment}] && t.Instance != "" {
				t.Warnings = append(t.Warnings, "the run was interrupted within this block: the environment's earlier trials in it ran in another instance, and at another time")
			}
		}
		if err := errors.Join(e.run.Append(trials...), err); err != nil {
			return err
		}
		for i := range trials {
			e.schedule.Record(trials[i])
			e.progress(Event{Kind: Tried, Slot: &batch.Slots[i], Trial: &trials[i], Contrasts: e.schedule.Contrasts()})
		}
		e.announceVerdicts()
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
	for _, c := range e.schedule.Contrasts() {
		key := strings.Join([]string{c.Workload, c.Level, c.Metric, c.Environment, c.Part}, "\x00")
		if !c.Primary || c.Open || e.decided[key] || c.N == 0 || c.Verdict == verdict.None {
			continue
		}
		if e.decided == nil {
			e.decided = map[string]bool{}
		}
		e.decided[key] = true
		e.progress(Event{Kind: Verdict, Contrast: &c, Message: verdict.Wording(c)})
	}
}
