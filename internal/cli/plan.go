package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/report/model"
	"tare/internal/run"
	"tare/internal/schedule"
	"tare/internal/term"
)

func printPlan(app *App, d *run.DryRun) error {
	w, plan := app.Stdout, d.Plan
	fmt.Fprintf(w, "%s (%s)\n\n", plan.Study, plan.Origin)
	planLine(w, "baseline", plan.Baseline)
	planLine(w, "limits", model.Limits(plan.Limits))
	if plan.Pin != nil {
		planLine(w, "pin", model.Pinned(plan.Pin))
	}
	if plan.Price != nil {
		planLine(w, "price", plan.Price.String())
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
		if places := work.SeparateRoles(); places != "" {
			planLine(w, "  place", places)
		}
		if set := work.Settings(); set != "" {
			planLine(w, "  set", set)
		}
		for _, l := range work.Levels {
			if l.Name != "" {
				planLine(w, "  level", l.Name)
			}
		}
	}
	planLine(w, "design", fmt.Sprintf("%s; margin %s; confidence %s; %s", plan.Design.Order, plan.Design.Margin, plan.Design.Confidence, plan.Design.BlocksAndBudget()))
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

func printExpected(w io.Writer, d *run.DryRun) {
	fmt.Fprintf(w, "\n%s\n", strings.Join(term.Wrap("expected: "+d.Words, 78), "\n  "))
	fmt.Fprintf(w, "(assuming %v per trial, including the start of its instance; a run measures this\nand shows the time left)\n", run.AssumedTrial)
}

// planLine prints a property of a plan, wrapped after its name.
func planLine(w io.Writer, name, text string) {
	fmt.Fprintf(w, "%-12s  %s\n", name, strings.Join(term.Wrap(text, 66), "\n              "))
}

func printOrder(w io.Writer, slots []schedule.Slot) {
	environments, workloads := 0, 0
	for _, slot := range slots {
		environments = max(environments, ansi.StringWidth(slot.Environment))
		workloads = max(workloads, ansi.StringWidth(slot.Workload))
	}
	for _, slot := range slots {
		line := fmt.Sprintf("  %3d  %-*s  %-*s  %s", slot.Position, environments, slot.Environment, workloads, slot.Workload, slot.Level)
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}
