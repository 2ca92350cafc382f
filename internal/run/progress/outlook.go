package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/run"
	"tare/internal/run/schedule"
	"tare/internal/study"
)

// mostNames is how many environments a line names.
const mostNames = 6

// headline says what a run is going to do.
func headline(e run.Event) string {
	if e.Run == nil {
		return ""
	}
	plan := e.Run.Plan
	names := lists.Map(plan.Environments, func(e study.Environment) string { return e.Name })
	compared := strings.Join(names, ", ")
	if len(names) > mostNames {
		compared = quantity.Counted(len(names), "environment", "environments")
	}
	text := plan.Study + ": " + compared
	if n := len(plan.Workloads); n > 1 {
		text += "; " + quantity.Counted(n, "workload", "workloads")
	}
	if b := plan.Design.Budget; b > 0 {
		text += fmt.Sprintf("; at most %v of measurements, after the preparation", b)
	}
	return text
}

// ToGo says how long a run is likely to go on, and how long at most: its budget lets no
// block begin that would take longer. Where neither is known, it says how long at least;
// "" where nothing is known.
func ToGo(p schedule.Progress) string {
	likely, atMost := p.ToGo()
	switch {
	case likely > 0 && atMost > 0:
		return fmt.Sprintf("about %s to go, at most %s", about(likely), atMost.Round(time.Second))
	case likely > 0:
		return fmt.Sprintf("about %s to go", about(likely))
	case atMost > 0:
		return fmt.Sprintf("at most %s to go", atMost.Round(time.Second))
	case p.Least && !p.Guessed && p.Remaining > 0:
		return fmt.Sprintf("at least %s to go", about(p.Remaining))
	case p.Over():
		return "the budget is spent: this block is the last"
	}
	return ""
}

// about rounds a time that is an estimate.
func about(d time.Duration) time.Duration {
	unit := time.Second
	switch {
	case d >= 10*time.Minute:
		unit = time.Minute
	case d >= time.Minute:
		unit = 10 * time.Second
	case d >= 20*time.Second:
		unit = 5 * time.Second
	}
	return max(time.Second, d.Round(unit))
}

// outlook is how long a run has measured, how long it goes on, and how far it is.
func outlook(p schedule.Progress, until string) string {
	elapsed := ""
	if p.Elapsed >= time.Second {
		elapsed = p.Elapsed.Round(time.Second).String() + " done"
	}
	failed := ""
	if p.Failed > 0 {
		failed = fmt.Sprintf("%d failed", p.Failed)
	}
	return joinedBy(", ", elapsed, ToGo(p)+until, verdicts(p), failed)
}

// until is the time of day that ToGo leads to. A bar is not redrawn during a sample, which
// can be long, and the time to go that it shows is that of its last drawing.
func until(p schedule.Progress, now time.Time) string {
	likely, atMost := p.ToGo()
	left := likely
	if atMost > 0 {
		left = atMost
	}
	if left <= 0 {
		return ""
	}
	return " (" + now.Add(left).Format(time.TimeOnly) + ")"
}

// verdicts counts those that are reached.
func verdicts(p schedule.Progress) string {
	if all := p.Decided + p.Inconclusive + p.Open; all > 0 {
		return fmt.Sprintf("%d of %d verdicts", p.Decided, all)
	}
	return ""
}

// joinedBy joins the texts that are not empty.
func joinedBy(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), separator)
}

const leastBar, mostBar = 8, 40

// withBar puts a bar before the first of the texts that leaves room for one, or else the
// last one.
func withBar(share float64, columns int, texts ...string) string {
	const gap = 2
	for _, text := range texts {
		if width := min(mostBar, columns-gap-ansi.StringWidth(text)); width >= leastBar {
			return barOf(share, width) + strings.Repeat(" ", gap) + text
		}
	}
	return texts[len(texts)-1]
}

// barOf is a bar that is full only at the end.
func barOf(share float64, cells int) string {
	full := min(cells, int(float64(cells)*max(0, share)))
	return strings.Repeat("█", full) + strings.Repeat("░", cells-full)
}
