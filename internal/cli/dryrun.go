package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"tare/internal/image/origin"
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

// engineTime is how long a dry run waits for an engine, which it can do without.
const engineTime = 5 * time.Second

// absentImages are remarks on images that a run takes from the Docker daemon, where it
// answers and has none.
func absentImages(ctx context.Context, plan *study.Plan) (remarks []string) {
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	built := map[string]bool{}
	for _, w := range plan.Workloads {
		if w.Application != nil {
			for _, role := range w.Levels[0].Shape.Roles {
				built[role.Image] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(plan.Images)) {
		reference := plan.Images[name].Reference
		if !strings.HasPrefix(reference, "docker-daemon:") {
			continue
		}
		if _, err := origin.Describe(ctx, reference); err != nil && !errors.Is(err, origin.ErrSilent) && ctx.Err() == nil {
			remark := err.Error()
			if built[reference] {
				remark += "; docker compose build makes those that the Compose file builds"
			}
			remarks = append(remarks, remark)
		}
	}
	return remarks
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
