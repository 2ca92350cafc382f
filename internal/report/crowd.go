package report

import (
	"fmt"
	"math"
	"strings"

	"tare/internal/verdict"
)

// withinRow is one environment against itself: a level with more neighbours, or
// more copies at once, and the one with the fewest.
type withinRow struct {
	Workload, Level, BaseLevel, Metric, Unit, Better string
	Shown, Label, Name                               string
	Contrast                                         *contrast
}

// Heading names what the rows with the same one are about.
func (r withinRow) Heading() string {
	return place(r.Workload, r.Level) + " against " + r.BaseLevel + ": " + r.Metric + ", " + r.Better + " is better"
}

// WithinRows of the metrics that workloads are judged by.
func (v *view) WithinRows() (rows []withinRow) {
	for i := range v.within {
		c := &v.within[i]
		if c.Primary && (c.N > 0 || withoutRatio(c)) {
			rows = append(rows, withinRow{c.Workload, c.Level, c.BaseLevel, c.Metric, c.Unit, c.Better, v.shown(c.Environment), c.Label, c.Environment, c})
		}
	}
	return rows
}

// Growths are what each further copy adds.
func (v *view) Growths() []growthRow {
	var rows []growthRow
	for _, g := range v.growths {
		rows = append(rows, growthRow{g, v.shown(g.Environment)})
	}
	return rows
}

type growthRow struct {
	verdict.Growth
	Shown string
}

// Span is the interval, or the range where there are too few blocks for one.
func (r growthRow) Span() string {
	if r.Bounded() {
		return "[" + figure(r.Each.Low, r.Unit) + ", " + figure(r.Each.High, r.Unit) + "]"
	}
	return "range " + figure(r.Least, r.Unit) + " to " + figure(r.Most, r.Unit)
}

// Against is the ratio to the baseline's growth, where more than a few of the
// blocks have one.
func (r growthRow) Against() string {
	if math.IsNaN(r.Ratio.Estimate) || !r.Ratio.Bounded() && r.Paired < r.N {
		return ""
	}
	text := "×" + digits(r.Ratio.Estimate)
	if r.Ratio.Bounded() && r.Ratio.Low > 0 {
		text += " [" + digits(r.Ratio.Low) + ", " + digits(r.Ratio.High) + "]"
	}
	return text
}

const (
	withinTitle = "Each environment against itself"
	growthTitle = "What each further instance adds"
)

// within prints a line a comparison.
func (t *terminal) within(rows []withinRow) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(t, "\n%s\n", t.paint(bold, withinTitle))
	last := ""
	for _, r := range rows {
		if h := r.Heading(); h != last {
			t.wrap(2, t.paint(dim, h))
			last = h
		}
		if withoutRatio(r.Contrast) {
			t.wrap(4, r.Shown+": "+whyNoRatio(r.Contrast))
			continue
		}
		t.wrap(4, fmt.Sprintf("%s: %s to %s, %s  %s  %s  %s", r.Shown, brief(r.Contrast.Base.Median, r.Unit), brief(r.Contrast.Values.Median, r.Unit),
			change(middle(r.Contrast)), ends(r.Contrast), t.verdict(word(r.Contrast)), counts(r.Contrast)))
	}
}

// growths prints a line a figure and environment.
func (t *terminal) growths(rows []growthRow) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(t, "\n%s\n", t.paint(bold, growthTitle))
	t.wrap(2, "slope over the levels of a block (Theil and Sen); over the blocks, the estimate of Hodges and Lehmann")
	last := ""
	for _, r := range rows {
		if h := place(r.Workload, r.Level) + ": " + r.Metric; h != last {
			t.wrap(2, t.paint(dim, h))
			last = h
		}
		text := fmt.Sprintf("%s: %s %s", r.Shown, figure(r.Each.Estimate, r.Unit), r.Span())
		if against := r.Against(); against != "" {
			text += ", " + against + " of " + r.Baseline + "'s"
		}
		t.wrap(4, text+fmt.Sprintf(", n=%d", r.N))
	}
}

func markdownCrowd(b *strings.Builder, v *view) {
	if rows := v.WithinRows(); len(rows) > 0 {
		b.WriteString("\n## " + withinTitle + "\n\n| workload | against | metric | environment | there | here | change | verdict |\n|---|---|---|---|---:|---:|---|---|\n")
		for _, r := range rows {
			c := r.Contrast
			if withoutRatio(c) {
				fmt.Fprintf(b, "| %s | %s | %s | %s | | | %s | |\n", escape(place(r.Workload, r.Level)), escape(r.BaseLevel), escape(r.Metric), escape(r.Shown), whyNoRatio(c))
				continue
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s %s | **%s** %s |\n", escape(place(r.Workload, r.Level)), escape(r.BaseLevel), escape(r.Metric), escape(r.Shown),
				figure(c.Base.Median, r.Unit), figure(c.Values.Median, r.Unit), change(middle(c)), escape(ends(c)), word(c), counts(c))
		}
	}
	if rows := v.Growths(); len(rows) > 0 {
		b.WriteString("\n## " + growthTitle + "\n\nThe slope over the levels of a block (Theil and Sen); over the blocks, the estimate of Hodges and Lehmann.\n\n" +
			"| workload | metric | environment | each | interval | against " + escape(v.Plan.Baseline) + " | blocks |\n|---|---|---|---:|---|---|---:|\n")
		for _, r := range rows {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %d |\n", escape(place(r.Workload, r.Level)), escape(r.Metric), escape(r.Shown),
				figure(r.Each.Estimate, r.Unit), escape(r.Span()), escape(r.Against()), r.N)
		}
	}
}
