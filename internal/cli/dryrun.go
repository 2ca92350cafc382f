package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/base/term"
	"tare/internal/environment"
	"tare/internal/image/origin"
	"tare/internal/report/model"
	"tare/internal/run"
	"tare/internal/run/schedule"
	"tare/internal/study"
)

func printPlan(app *App, d *run.DryRun) error {
	w, plan := app.Stdout, d.Plan
	fmt.Fprintf(w, "%s (%s)\n\n", plan.Study, plan.Origin)
	planLine(w, "baseline", plan.Baseline)
	planLine(w, "limits", model.Limits(plan.Limits))
	if pinned := plan.Pinned(); pinned != "" {
		planLine(w, "pin", pinned)
	}
	if plan.Price != nil {
		planLine(w, "price", plan.Price.String())
	}
	if len(plan.Accept) > 0 {
		planLine(w, "accept", strings.Join(plan.Accept, ", "))
	}
	for _, s := range plan.Secrets() {
		planLine(w, "secret", s.Words())
	}
	if plan.Nodes.Set() {
		planLine(w, "nodes", plan.Nodes.Words())
	}
	for _, e := range plan.Environments {
		planLine(w, "environment", joined(e.Name, "("+e.KindAndHost()+")", e.UnusualOptions()))
		if limits := model.Limits(e.Limits); limits != model.Limits(plan.Limits) {
			planLine(w, "  limits", limits)
		}
		for _, own := range e.Own() {
			planLine(w, "  with", own)
		}
	}
	for _, work := range plan.Workloads {
		planLine(w, "workload", fmt.Sprintf("%s: %s; fresh instance each %s", work.Name, work.Pack.Title, work.Fresh))
		if app := work.Application; app != nil {
			planLine(w, "  services", app.Words(plan.Baseline))
			for _, s := range app.Services {
				planLine(w, "  service", serviceWords(work, s))
			}
			for _, note := range app.Notes {
				planLine(w, "  note", note)
			}
		}
		if places := work.SeparateRoles(); places != "" {
			planLine(w, "  place", places)
		}
		if set := work.Settings(); set != "" {
			planLine(w, "  set", set)
		}
		if work.Find != nil {
			planLine(w, "  find", "the highest rate that holds "+work.Find.Objective)
		}
		for _, l := range work.Levels {
			if l.Name != "" {
				planLine(w, "  level", l.Name)
			}
		}
	}
	planLine(w, "design", fmt.Sprintf("%s; margin %s; confidence %s; %s", plan.Design.OrderWords(), plan.Design.Margin, plan.Design.Confidence, plan.Design.BlocksAndBudget()))
	if watched := plan.Sampling.Words(); watched != "" {
		planLine(w, "sampling", watched)
	}
	planLine(w, "seed", fmt.Sprint(plan.Seed))
	for _, remark := range d.Remarks {
		planLine(w, "remark", remark)
	}
	fmt.Fprintf(w, "\norder of the first block:\n")
	printOrder(w, d.FirstBlock)
	printExpected(w, d)
	return nil
}

// serviceWords are the image of a service, and the limits that it has in place of its
// environment's.
func serviceWords(work study.Workload, s study.Service) string {
	words := s.Name + ":"
	for _, role := range work.Levels[0].Shape.Roles {
		if role.Name == s.Role {
			words += " image " + role.Image
		}
	}
	if own := model.Limits(s.Limits); own != model.Limits(environment.Limits{}) {
		words += "; limits " + own
	}
	return words
}

func printExpected(w io.Writer, d *run.DryRun) {
	fmt.Fprintf(w, "\n%s\n", strings.Join(term.Wrap("expected: "+d.Words, 78), "\n  "))
	guessed := d.Guessed
	if slices.ContainsFunc(d.Plan.Workloads, func(w study.Workload) bool { return w.Application != nil }) {
		guessed += "; the start of an application's services comes on top, and is not known"
	}
	fmt.Fprintln(w, strings.Join(term.Wrap("("+guessed+")", 80), "\n"))
}

// planLine prints a property of a plan, wrapped after its name.
func planLine(w io.Writer, name, text string) {
	fmt.Fprintf(w, "%-12s  %s\n", name, strings.Join(term.Wrap(text, 66), "\n              "))
}

// printOrder prints a line for each trial, or for those whose samples alternate.
func printOrder(w io.Writer, slots []schedule.Slot) {
	environments, workloads, positions := 0, 0, 3
	for _, slot := range slots {
		environments = max(environments, ansi.StringWidth(slot.Environment))
		workloads = max(workloads, ansi.StringWidth(slot.Workload))
		if slot.Rounds > 0 {
			positions = max(positions, len(fmt.Sprintf("%d-%d", len(slots), len(slots))))
		}
	}
	for len(slots) > 0 {
		first, n := slots[0], schedule.Together(slots)
		position, line := fmt.Sprint(first.Position), fmt.Sprintf("%-*s  %-*s  %s", environments, first.Environment, workloads, first.Workload, first.Level)
		if n > 1 {
			position += fmt.Sprintf("-%d", slots[n-1].Position)
		}
		if first.Rounds > 0 {
			line = strings.Join(term.Wrap(schedule.BatchWords(slots[:n]), 76-positions), "\n"+strings.Repeat(" ", positions+6))
		}
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %*s  %s", positions, position, line), " "))
		slots = slots[n:]
	}
}

func newDryRun(plan *study.Plan) (*run.DryRun, error) {
	d, err := run.NewDryRun(plan)
	if err != nil {
		err = badInput("%w", err)
	}
	return d, err
}

// warnOfLongRun prints a note where a run is likely to take long, or where its budget ends
// before any interval.
func warnOfLongRun(app *App, plan *study.Plan, show displayFlags) error {
	d, err := newDryRun(plan)
	if err == nil && d.Long != "" && !show.quiet && !show.json {
		app.say("note: %s", d.Long)
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
