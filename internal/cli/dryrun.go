package cli

import (
	"tare/internal/run"
	"tare/internal/study"
)

func newDryRun(plan *study.Plan) (*run.DryRun, error) {
	d, err := run.NewDryRun(plan)
	if err != nil {
		return nil, badInput("%w", err)
	}
	return d, nil
}

// warnOfShortBudget prints a note where the budget of a run ends before any
// interval.
func warnOfShortBudget(app *App, plan *study.Plan, show displayFlags) error {
	d, err := newDryRun(plan)
	if err == nil && d.ShortBudget != "" && !show.quiet && !show.json {
		app.say("note: %s", d.ShortBudget)
	}
	return err
}

// printDryRun prints what a run of the plan would do, by the function text or as
// JSON.
func printDryRun(app *App, plan *study.Plan, asJSON bool, text func(*App, *run.DryRun) error) error {
	d, err := newDryRun(plan)
	switch {
	case err != nil:
		return err
	case asJSON:
		return printJSON(app.Stdout, d)
	}
	return text(app, d)
}
