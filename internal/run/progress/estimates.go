package progress

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/subject"
	"tare/internal/verdict"
)

// leastLines of a table: its heading and one contrast.
const leastLines = 2

// table draws the estimates so far: a heading and a line for each contrast that
// has an estimate, those that are still open first. What the lines cannot hold is
// counted.
func table(all []verdict.SoFar, columns, lines int) []string {
	known := lists.Filter(all, func(s verdict.SoFar) bool { return !math.IsNaN(s.Estimate) })
	if len(known) == 0 || lines < leastLines {
		return nil
	}
	slices.SortStableFunc(known, func(a, b verdict.SoFar) int { return rank(a) - rank(b) })
	shown, unknown := known, len(all)-len(known)
	if more := len(shown) + 1 - lines; more > 0 || more == 0 && unknown > 0 {
		shown = shown[:max(lines-2, 1)]
	}
	rows := [][]string{{"so far, not final", "against " + baseline(all), "change", "interval", "to a verdict"}}
	names := names(all)
	for _, s := range shown {
		rows = append(rows, []string{names[s.Figure().In("")], compared(s), verdict.Change(s.Estimate), basis(s), way(s)})
	}
	drawn := layOut(rows, columns)
	var rest []string
	if hidden := len(known) - len(shown); hidden > 0 {
		rest = append(rest, fmt.Sprintf("%d more", hidden))
	}
	if unknown > 0 {
		rest = append(rest, fmt.Sprintf("%d without an estimate yet", unknown))
	}
	if len(rest) > 0 && len(drawn) < lines {
		drawn = append(drawn, ansi.Truncate("and "+strings.Join(rest, ", "), columns, "…"))
	}
	return drawn
}

func rank(s verdict.SoFar) int {
	if s.Open {
		return 0
	}
	return 1
}

// baseline of all contrasts; the steps of a ladder have several.
func baseline(all []verdict.SoFar) string {
	if slices.ContainsFunc(all, func(s verdict.SoFar) bool { return s.Baseline != all[0].Baseline }) {
		return "the step below"
	}
	return all[0].Baseline
}

// compared is the side of a contrast that is not the baseline.
func compared(s verdict.SoFar) string {
	switch {
	case s.Part != "":
		return s.Name
	case s.Label != "":
		return s.Environment + " [" + s.Label + "]"
	}
	return s.Environment
}

// names of the figures in whichever environment; the metric is part of them where a workload has several.
func names(all []verdict.SoFar) map[subject.Figure]string {
	metrics, names := map[string]string{}, map[subject.Figure]string{}
	several := map[string]bool{}
	for _, s := range all {
		if first, known := metrics[s.Workload]; known && first != s.Metric {
			several[s.Workload] = true
		}
		metrics[s.Workload] = s.Metric
	}
	for _, s := range all {
		metric := ""
		if several[s.Workload] {
			metric = s.Metric
		}
		names[s.Figure().In("")] = joined(s.Workload, s.Level, metric)
	}
	return names
}

// basis is the interval, or what the estimate comes from before there is one.
func basis(s verdict.SoFar) string {
	switch {
	case s.Bounded():
		return verdict.EndsText(s.Estimate, s.Low, s.High)
	case s.N > 0:
		return quantity.Counted(s.N, "block", "blocks") + " so far"
	}
	return quantity.Counted(s.Rounds, "round", "rounds") + " so far"
}

// way is a bar of how far an open contrast is on its way to a verdict with a precise
// interval, with the verdict that it has already; its verdict once it is final. One that
// has enough blocks waits for an analysis, of which the status line has the block.
func way(s verdict.SoFar) string {
	const cells = 8
	if !s.Open {
		if s.Verdict == verdict.None {
			return "no verdict"
		}
		return string(s.Verdict)
	}
	share := s.Way()
	bar := barOf(share, cells)
	if !s.Bounded() {
		return bar
	}
	if bar += fmt.Sprintf(" %2d%%", int(100*share)); share >= 1 {
		bar = "next analysis"
	}
	if s.Verdict != verdict.Inconclusive {
		bar += ", " + string(s.Verdict)
	}
	return bar
}

// layOut puts rows into columns. The first two get shorter where the width does
// not suffice.
func layOut(rows [][]string, columns int) []string {
	const gap = 2
	widths := make([]int, len(rows[0]))
	total := -gap
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], ansi.StringWidth(row[i]))
		}
		total += widths[i] + gap
	}
	for over := total - columns; over > 0; over-- {
		widest := 0
		if widths[1] > widths[0] {
			widest = 1
		}
		widths[widest] = max(1, widths[widest]-1)
	}
	return lists.Map(rows, func(row []string) string {
		var line strings.Builder
		for i, text := range row {
			text = shortened(text, widths[i])
			space := strings.Repeat(" ", widths[i]-ansi.StringWidth(text))
			if i == 2 {
				text = space + text // numbers end in one column
			} else {
				text += space
			}
			line.WriteString(text + strings.Repeat(" ", gap))
		}
		return ansi.Truncate(strings.TrimRight(line.String(), " "), columns, "…")
	})
}

// shortened keeps both ends of a text: names often differ at their ends.
func shortened(text string, columns int) string {
	width := ansi.StringWidth(text)
	if width <= columns {
		return text
	}
	head := (columns - 1) / 2
	return ansi.Truncate(text, head, "") + ansi.TruncateLeft(text, width-(columns-1-head), "…")
}

// estimatesLine names the estimates so far of the workload under way in a line.
func estimatesLine(all []verdict.SoFar, at subject.Place) string {
	here := lists.Filter(all, func(s verdict.SoFar) bool {
		return s.Figure().Place() == at && !math.IsNaN(s.Estimate)
	})
	if len(here) == 0 {
		return ""
	}
	const most = 4
	names := names(all)
	parts := lists.Map(here[:min(most, len(here))], func(s verdict.SoFar) string {
		return fmt.Sprintf("%s in %s %s (%s)", names[s.Figure().In("")], compared(s), verdict.Change(s.Estimate), strings.TrimSuffix(basis(s), " so far"))
	})
	if more := len(here) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return "so far, not final: " + strings.Join(parts, "; ")
}
