package sheet

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/verdict"
)

// Procedure is how the options evaluate the table: sequential, budget, fixed or unpaired.
func (s *Sheet) Procedure(o Options) string {
	switch {
	case !s.Paired:
		return "unpaired"
	case o.Fixed:
		return "fixed"
	case o.Budget:
		return "budget"
	}
	return "sequential"
}

// Introduction says in a sentence what the contrasts are about.
func (s *Sheet) Introduction(o Options) string {
	text := fmt.Sprintf("against %s, margin %s, a %s interval for each figure", o.Baseline, o.Margin, o.Confidence)
	pairs := ""
	if s.rounds {
		pairs = "; the samples of each round are compared as a pair"
	}
	switch s.Procedure(o) {
	case "unpaired":
		return fmt.Sprintf("against %s: without blocks nothing pairs the values, so there is no verdict and the error rate is unknown: a drift of the machine between the samples looks like a difference. The table only describes the samples.", o.Baseline)
	case "fixed":
		return text + ", one analysis of all blocks" + pairs
	case "budget":
		return text + ", analyses after a quarter and half of the blocks and of all of them" + pairs
	}
	return text + ", interim analyses from 6 blocks on" + pairs
}

// Group names what a contrast is about: workload, level and metric.
func Group(c verdict.Contrast) string {
	names := slices.DeleteFunc([]string{c.Workload, c.Level, c.Metric}, func(s string) bool { return s == "" })
	if len(names) == 0 {
		return "value"
	}
	return strings.Join(names, ", ")
}

// Notes are remarks about the contrasts, each once. name shortens the name of an
// environment.
func (s *Sheet) Notes(contrasts []verdict.Contrast, name func(string) string) []string {
	var notes []string
	add := func(note string) {
		notes = lists.Add(notes, note)
	}
	several := slices.ContainsFunc(contrasts, func(c verdict.Contrast) bool {
		return Group(c) != Group(contrasts[0]) || c.Better != contrasts[0].Better
	})
	for _, c := range contrasts {
		about := name(c.Environment) + ": "
		if several {
			about = Group(c) + ", " + about
		}
		if s.Paired && c.Verdict == verdict.None {
			note := about + c.Reason.String()
			if c.N > 0 {
				note += fmt.Sprintf("; median %s, range %s to %s", verdict.Change(c.Middle), verdict.Change(c.Least), verdict.Change(c.Most))
			}
			add(note)
		}
		for _, w := range c.Warnings {
			if w.Code != verdict.FewBlocks && w.Code != verdict.Unpaired && !c.Repeats(w) {
				add(about + w.String())
			}
		}
	}
	if slices.ContainsFunc(contrasts, func(c verdict.Contrast) bool { return c.InsideMargin }) {
		add("* a real difference, inside the margin")
	}
	if slices.ContainsFunc(contrasts, func(c verdict.Contrast) bool { return c.Projection > c.N }) {
		add("needs: number of blocks that a verdict with a precise interval takes, if the estimate stays")
	}
	for _, remark := range s.Remarks {
		add(remark)
	}
	if len(s.Unused) > 0 {
		add("columns not used: " + strings.Join(s.Unused, ", "))
	}
	return notes
}
