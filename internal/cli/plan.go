package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/report"
	"tare/internal/schedule"
	"tare/internal/study"
	"tare/internal/workload"
)

func printPlan(app *App, foreseen *dryRun) error {
	w, plan := app.Stdout, foreseen.Plan
	fmt.Fprintf(w, "%s (%s)\n\n", plan.Study, plan.Origin)
	planLine(w, "baseline", plan.Baseline)
	planLine(w, "limits", report.Limits(plan.Limits))
	if plan.Pin != nil {
		planLine(w, "pin", report.Pinned(plan.Pin))
	}
	if plan.Price != nil {
		planLine(w, "price", plan.Price.String())
	}
	for _, e := range plan.Environments {
		planLine(w, "environment", place(e.Name, "("+kindAndWhere(e)+")", e.UnusualOptions()))
		if limits := report.Limits(e.Limits); limits != report.Limits(plan.Limits) {
			planLine(w, "  limits", limits)
		}
		for _, own := range e.Own() {
			planLine(w, "  with", own)
		}
	}
	for _, work := range plan.Workloads {
		planLine(w, "workload", fmt.Sprintf("%s: %s; fresh instance each %s", work.Name, work.Pack.Title, work.Fresh))
		if places := placesInWords(work.Pack); places != "" {
			planLine(w, "  place", places)
		}
		if set := setInWords(work); set != "" {
			planLine(w, "  set", set)
		}
		for _, l := range work.Levels {
			if l.Name != "" {
				planLine(w, "  level", l.Name)
			}
		}
	}
	d := plan.Design
	planLine(w, "design", fmt.Sprintf("%s; margin %s; confidence %s; %s", d.Order, d.Margin, d.Confidence, blocksInWords(d)))
	if watched := plan.Sampling.Words(); watched != "" {
		planLine(w, "sampling", watched)
	}
	planLine(w, "seed", fmt.Sprint(plan.Seed))
	for _, remark := range foreseen.Remarks {
		planLine(w, "remark", remark)
	}
	fmt.Fprintf(w, "\norder of the first block:\n")
	printOrder(w, foreseen.FirstBlock)
	printExpected(w, foreseen)
	return nil
}

func printExpected(w io.Writer, d *dryRun) {
	fmt.Fprintf(w, "\n%s\n", strings.Join(report.Wrap("expected: "+d.words, 78), "\n  "))
	fmt.Fprintf(w, "(at %v a trial, the start of the instance included; a run measures it and\ntells the time to go)\n", assumed)
}

// planLine is one thing of a plan, wrapped beside its name.
func planLine(w io.Writer, name, text string) {
	fmt.Fprintf(w, "%-12s  %s\n", name, strings.Join(report.Wrap(text, 66), "\n              "))
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

// kindAndWhere says what an environment is, and what it is in or on if not this
// machine.
func kindAndWhere(e study.Environment) string {
	switch {
	case e.Inside != nil:
		return e.Kind + " inside " + e.Inside.Name
	case e.Host != "":
		return e.Kind + " on host " + e.Host
	}
	return e.Kind
}

// placesInWords are the roles that do not run together with the others.
func placesInWords(p workload.Pack) string {
	var words []string
	for _, role := range p.RoleNames() {
		where := p.Place(role)
		if where == workload.Together {
			continue
		}
		if on := p.Roles[role].Hosts; len(on) > 0 {
			where += " on " + strings.Join(on, ", ")
		}
		words = append(words, role+" "+where)
	}
	return strings.Join(words, "; ")
}

// setInWords is what the study sets of a workload, the same at all levels: what
// is swept stands in their names.
func setInWords(work study.Workload) string {
	first := settings(work, work.Levels[0])
	var words []string
	for _, key := range slices.Sorted(maps.Keys(first)) {
		elsewhere := func(l study.Level) bool {
			return strings.Contains(","+l.Name, ","+key+"=") || settings(work, l)[key] != first[key]
		}
		if !slices.ContainsFunc(work.Levels, elsewhere) {
			words = append(words, key+"="+first[key])
		}
	}
	return strings.Join(words, " ")
}

// settings of a level that are not the pack's defaults.
func settings(work study.Workload, l study.Level) map[string]string {
	set := map[string]string{}
	for key, value := range l.Parameters {
		if value != work.Pack.Parameters[key].Default {
			set[key] = value
		}
	}
	for key, n := range map[string]int{"instances": l.Instances, "starting": l.Starting, "neighbours": l.Neighbours} {
		if n > 0 && !(key == "instances" && n == 1) {
			set[key] = fmt.Sprint(n)
		}
	}
	if work.Neighbour != nil && l.Neighbours > 0 {
		for key, value := range l.Neighbour {
			if value != work.Neighbour.Parameters[key].Default {
				set["neighbour."+key] = value
			}
		}
	}
	return set
}

func blocksInWords(d study.Design) string {
	b := d.Blocks
	switch {
	case b.Fixed:
		return fmt.Sprintf("exactly %d blocks", b.Max)
	case b.Open:
		return fmt.Sprintf("from %d blocks on until all is decided", b.Min)
	}
	text := fmt.Sprintf("%d to %d blocks", b.Min, b.Max)
	if d.Budget > 0 {
		text += fmt.Sprintf(", at most %v", d.Budget)
	}
	return text
}
