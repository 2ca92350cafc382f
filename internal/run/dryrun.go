package run

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/run/schedule"
	"tare/internal/study"
)

// DryRun is what a run of a plan would do.
type DryRun struct {
	Plan       *study.Plan     `json:"plan"`
	FirstBlock []schedule.Slot `json:"first_block"` // in its order
	Expected   Expected        `json:"expected"`
	Remarks    []string        `json:"remarks,omitempty"`

	Words   string `json:"-"` // Expected, in words
	Guessed string `json:"-"` // what its durations are made of
	// Fitting is what the machine's memory makes of the plan.
	Fitting []string `json:"-"`
	// Long is the remark that the run is likely to take long, or that its budget is likely
	// to end before any interval; "" for neither.
	Long string `json:"-"`
}

// Expected is the least and the most that a run does, depending on when the
// verdicts are in. What trials take is a guess, since nothing was measured.
type Expected struct {
	Blocks   Span  `json:"blocks"`
	Trials   Span  `json:"trials"`
	Duration Span  `json:"duration_ns"`
	Trial    int64 `json:"trial_ns"` // the mean
}

// Span is a range; without Most it has no maximum.
type Span struct {
	Least int64  `json:"least"`
	Most  *int64 `json:"most"`
}

// NewDryRun starts nothing. The error is about the plan.
func NewDryRun(plan *study.Plan) (*DryRun, error) {
	fit(plan)
	names := lists.Map(plan.Environments, func(e study.Environment) string { return e.Name })
	s, err := schedule.New(plan, names)
	if err != nil {
		return nil, err
	}
	x := expect(plan)
	e := s.Expected(x.trial)
	d := &DryRun{Plan: plan, FirstBlock: e.FirstBlock, Remarks: slices.Clone(plan.Remarks), Words: e.Words(), Guessed: x.words(), Long: long(e), Fitting: plan.Fitting(names)}
	if err := TooWide(plan, runtime.NumCPU()); err != nil {
		d.Remarks = append(d.Remarks, err.Error())
	}
	d.Remarks = append(d.Remarks, plan.LateDrivers()...)
	d.Remarks = append(d.Remarks, d.Fitting...)
	d.Remarks = append(d.Remarks, foreign(plan, names)...)
	if d.Long != "" {
		d.Remarks = append(d.Remarks, d.Long)
	}
	d.Expected = Expected{
		Blocks:   span(int64(e.MinBlocks), int64(e.MaxBlocks)),
		Trials:   span(int64(e.MinTrials), int64(e.MaxTrials)),
		Duration: span(int64(e.Min), int64(e.Max)), Trial: int64(e.Min) / int64(max(1, e.MinTrials)),
	}
	return d, nil
}

// LeastTime is the least that the blocks of a plan are likely to take until contrasts have
// intervals.
func LeastTime(plan *study.Plan) (time.Duration, error) {
	fit(plan)
	s, err := schedule.New(plan, lists.Map(plan.Environments, func(e study.Environment) string { return e.Name }))
	if err != nil {
		return 0, err
	}
	return s.Expected(expect(plan).trial).Interval, nil
}

func span(least, most int64) Span {
	if most == 0 {
		return Span{Least: least}
	}
	return Span{least, &most}
}

// longRun is from when on a run without a budget is said to be long.
const longRun = 15 * time.Minute

// long tolerates half as much again, since trials may be shorter than guessed.
func long(e schedule.Expectation) string {
	switch {
	case e.Budget == 0 && e.Min > longRun:
		return fmt.Sprintf("this is likely to take about %s or more: --budget ends it earlier", About(e.Min))
	case e.Budget == 0 || 2*e.Interval <= 3*e.Budget:
		return ""
	}
	return fmt.Sprintf("an interval needs %s, and the budget of %s is likely to end before: they take about %s",
		quantity.Counted(e.IntervalBlocks, "block", "blocks"), e.Budget, About(e.Interval))
}

// About is a duration as far as a guess tells it.
func About(d time.Duration) time.Duration {
	switch {
	case d > 10*time.Hour:
		return d.Round(time.Hour)
	case d > 10*time.Minute:
		return d.Round(time.Minute)
	}
	return d.Round(time.Second)
}
