package cli

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"tare/internal/run"
	"tare/internal/schedule"
	"tare/internal/study"
)

// assumed is how long a trial is taken to be where nothing was measured yet: a
// second of driving and as much around it.
const assumed = 2 * time.Second

// dryRun is what a run would do: the answer to --dry-run, as text or as JSON.
type dryRun struct {
	Plan       *study.Plan     `json:"plan"`
	FirstBlock []schedule.Slot `json:"first_block"` // in its order
	Expected   expected        `json:"expected"`
	Remarks    []string        `json:"remarks,omitempty"`

	words   string // Expected, in words
	tooSoon string // that the budget ends before any interval
}

// expected is how much a run will do at least and at most, as the verdicts come
// in, and how long that takes if a trial takes so long as is assumed.
type expected struct {
	Blocks   atLeast `json:"blocks"`
	Trials   atLeast `json:"trials"`
	Duration atLeast `json:"duration_ns"`
	Assumed  int64   `json:"trial_ns"`
}

// atLeast is a range; without a most there is no maximum.
type atLeast struct {
	Least int64  `json:"least"`
	Most  *int64 `json:"most"`
}

func foresee(plan *study.Plan) (*dryRun, error) {
	var names []string
	for _, e := range plan.Environments {
		names = append(names, e.Name)
	}
	s, err := schedule.New(plan, names)
	if err != nil {
		return nil, badInput("%w", err)
	}
	e := s.Expected(func(schedule.Slot) time.Duration { return assumed })
	d := &dryRun{Plan: plan, FirstBlock: e.FirstBlock, Remarks: slices.Clone(plan.Remarks), words: e.Words()}
	if err := run.TooWide(plan, runtime.NumCPU()); err != nil {
		d.Remarks = append(d.Remarks, err.Error())
	}
	if d.tooSoon = d.short(e); d.tooSoon != "" {
		d.Remarks = append(d.Remarks, d.tooSoon)
	}
	span := func(least, most int64) atLeast {
		if most == 0 {
			return atLeast{Least: least}
		}
		return atLeast{least, &most}
	}
	d.Expected = expected{
		Blocks:   span(int64(e.MinBlocks), int64(e.MaxBlocks)),
		Trials:   span(int64(e.MinTrials), int64(e.MaxTrials)),
		Duration: span(int64(e.Min), int64(e.Max)), Assumed: int64(assumed),
	}
	return d, nil
}

// short says that the budget is too short for any interval; "" where it is not, or
// where trials that are quicker than assumed would do.
func (d *dryRun) short(e schedule.Expectation) string {
	const quicker = 2
	if e.Budget == 0 || e.Interval <= quicker*e.Budget {
		return ""
	}
	return fmt.Sprintf("an interval takes %d blocks, and the budget of %s is likely to end before: where a trial takes %s, they take %s",
		e.IntervalBlocks, e.Budget, assumed, e.Interval)
}

// forewarn says before a run whether its budget is too short for any interval.
func forewarn(app *App, plan *study.Plan, show displayFlags) error {
	d, err := foresee(plan)
	if err == nil && d.tooSoon != "" && !show.quiet && !show.json {
		app.say("note: %s", d.tooSoon)
	}
	return err
}

// dry prints what a run of the plan would do, as text in the way given or as JSON.
func dry(app *App, plan *study.Plan, asJSON bool, text func(*App, *dryRun) error) error {
	d, err := foresee(plan)
	switch {
	case err != nil:
		return err
	case asJSON:
		return printJSON(app.Stdout, d)
	}
	return text(app, d)
}
