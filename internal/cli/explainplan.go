package cli

import (
	"fmt"
	"strings"

	"tare/internal/report"
	"tare/internal/study"
)

// ladderSize says how many environments a ladder takes.
func ladderSize(plan *study.Plan) string {
	parts, orders := map[string]bool{}, 1
	for _, s := range plan.Steps {
		parts[s.Part] = true
		orders = max(orders, s.Order)
	}
	text := fmt.Sprintf("%s from %s to %s: %d environments", counted(len(parts)-1, "part", "parts"), plan.Baseline, plan.Environments[len(plan.Environments)-1].Name, len(plan.Environments))
	if orders > 1 {
		text += fmt.Sprintf(" for %d orders", orders)
	}
	return text
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// printLadder prints the rungs, and how long a run over them takes.
func printLadder(app *App, foreseen *dryRun) error {
	w, plan := app.Stdout, foreseen.Plan
	fmt.Fprintf(w, "%s\n\n%s\n", plan.Study, ladderSize(plan))
	order := -1
	var rows [][]string
	flush := func() {
		table(w, 80, rows)
		rows = nil
	}
	for _, step := range plan.Steps {
		if step.Part == "" {
			continue
		}
		if step.Order != order {
			flush()
			if order = step.Order; order > 0 {
				fmt.Fprintf(w, "\norder %d\n", order)
			} else {
				fmt.Fprintln(w)
			}
			rows = append(rows, []string{"  " + step.Base, "", ""})
		}
		about := step.Name
		if order <= 1 && step.About != "" {
			about += ": " + step.About
		}
		rows = append(rows, []string{"  " + step.Environment, step.Part, about})
	}
	flush()
	if len(foreseen.Remarks) > 0 {
		fmt.Fprintln(w)
	}
	for _, r := range foreseen.Remarks {
		fmt.Fprintln(w, strings.Join(report.Wrap("note: "+r, 78), "\n  "))
	}
	printExpected(w, foreseen)
	return nil
}
