package run

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"tare/internal/base/lists"
	"tare/internal/run/schedule"
	"tare/internal/study"
)

// AssumedTrial is the duration of a trial that a dry run assumes, since nothing
// was measured: one second of load and one of set-up.
const AssumedTrial = 2 * time.Second

// DryRun is what a run of a plan would do.
type DryRun struct {
	Plan       *study.Plan     `json:"plan"`
	FirstBlock []schedule.Slot `json:"first_block"` // in its order
	Expected   Expected        `json:"expected"`
	Remarks    []string        `json:"remarks,omitempty"`

	Words string `json:"-"` // Expected, in words
	// Fitting is what the machine's memory makes of the plan.
	Fitting []string `json:"-"`
	// ShortBudget is the remark that the budget ends before any interval; "" where
	// it does not.
	ShortBudget string `json:"-"`
}

// Expected is the least and the most that a run does, depending on when the
// verdicts are in, if each trial takes AssumedTrial.
type Expected struct {
	Blocks       Span  `json:"blocks"`
	Trials       Span  `json:"trials"`
	Duration     Span  `json:"duration_ns"`
	AssumedTrial int64 `json:"trial_ns"`
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
	e := s.Expected(func(schedule.Slot) time.Duration { return AssumedTrial })
	d := &DryRun{Plan: plan, FirstBlock: e.FirstBlock, Remarks: slices.Clone(plan.Remarks), Words: e.Words(), ShortBudget: shortBudget(e), Fitting: plan.Fitting(names)}
	if err := TooWide(plan, runtime.NumCPU()); err != nil {
		d.Remarks = append(d.Remarks, err.Error())
	}
	d.Remarks = append(d.Remarks, plan.LateDrivers()...)
	d.Remarks = append(d.Remarks, d.Fitting...)
	d.Remarks = append(d.Remarks, foreign(plan, names)...)
	if d.ShortBudget != "" {
		d.Remarks = append(d.Remarks, d.ShortBudget)
	}
	d.Expected = Expected{
		Blocks:   span(int64(e.MinBlocks), int64(e.MaxBlocks)),
		Trials:   span(int64(e.MinTrials), int64(e.MaxTrials)),
		Duration: span(int64(e.Min), int64(e.Max)), AssumedTrial: int64(AssumedTrial),
	}
	return d, nil
}

// LeastTime is the least that the blocks of a plan take until contrasts have intervals:
// what samples are set to take and the rests, with a second of set-up for each trial. Work
// that is set by its amount, such as a file to read, counts as no time.
func LeastTime(plan *study.Plan) (time.Duration, error) {
	fit(plan)
	s, err := schedule.New(plan, lists.Map(plan.Environments, func(e study.Environment) string { return e.Name }))
	if err != nil {
		return 0, err
	}
	return s.Expected(func(slot schedule.Slot) time.Duration {
		w := plan.Workload(slot.Workload)
		level, _ := w.Level(slot.Level)
		took := time.Second + w.LoadTime(level, plan.Environment(slot.Environment), slot.Rounds > 0)
		if slot.Within == 0 { // else there may be one round
			took += time.Duration(max(0, slot.Rounds-1)) * (took - time.Second)
		}
		if slot.Rounds == 0 || slot.Environment == plan.Baseline {
			took += w.Pause
		}
		return took
	}).Interval, nil
}

func span(least, most int64) Span {
	if most == 0 {
		return Span{Least: least}
	}
	return Span{least, &most}
}

// shortBudget tolerates a factor of two, since trials may be shorter than
// assumed.
func shortBudget(e schedule.Expectation) string {
	if e.Budget == 0 || e.Interval <= 2*e.Budget {
		return ""
	}
	return fmt.Sprintf("an interval needs %d blocks, and the budget of %s is likely to end before: at %s per trial they take %s",
		e.IntervalBlocks, e.Budget, AssumedTrial, e.Interval)
}
