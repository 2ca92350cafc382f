package text

import (
	"fmt"

	"tare/internal/report/model"
)

// copies prints a table a workload at a level.
func (t *terminal) copies(rows []model.CopiesRow) {
	if len(rows) == 0 {
		return
	}
	t.heading("Concurrent copies")
	t.wrap(2, "medians over trials; min to max within a trial")
	last := ""
	for _, r := range rows {
		last = t.group(last, model.LevelTitle(r.Workload, r.Level)+": "+r.Metric)
		t.wrap(4, fmt.Sprintf("%s: %d copies, combined %s; median %s, mean %s, p95 %s, p99 %s (%s to %s, spread %s)", r.Environment.Shown, r.Copies,
			model.ShortFigure(r.Together, r.Unit), model.ShortFigure(r.Each, r.Unit), model.ShortFigure(r.Mean, r.Unit), model.ShortFigure(r.P95, r.Unit), model.ShortFigure(r.P99, r.Unit), model.ShortFigure(r.Least, r.Unit), model.ShortFigure(r.Most, r.Unit), model.Percent(r.Spread)))
	}
}

// within prints a line a comparison.
func (t *terminal) within(rows []model.WithinRow) {
	if len(rows) == 0 {
		return
	}
	t.heading(model.WithinTitle)
	last := ""
	for _, r := range rows {
		last = t.group(last, r.Heading())
		if r.Contrast.NoRatio() {
			t.wrap(4, r.Shown+": "+model.NoRatioReason(r.Contrast))
			continue
		}
		t.wrap(4, fmt.Sprintf("%s: %s to %s, %s  %s  %s  %s", r.Shown, model.ShortFigure(r.Contrast.Base.Median, r.Unit), model.ShortFigure(r.Contrast.Values.Median, r.Unit),
			model.EstimateText(r.Contrast), model.IntervalText(r.Contrast), t.verdict(model.VerdictWord(r.Contrast)), model.BlockCount(r.Contrast)))
	}
}

// growths prints a line a figure and environment.
func (t *terminal) growths(rows []model.GrowthRow) {
	if len(rows) == 0 {
		return
	}
	t.heading(model.GrowthTitle)
	t.wrap(2, "Theil-Sen slope over the levels of a block; Hodges-Lehmann estimate over the blocks")
	last := ""
	for _, r := range rows {
		last = t.group(last, model.LevelTitle(r.Workload, r.Level)+": "+r.Metric)
		text := fmt.Sprintf("%s: %s %s", r.Shown, model.Figure(r.Each.Estimate, r.Unit), r.Span())
		if against := r.Against(); against != "" {
			text += ", " + against + " of " + r.Baseline + "'s"
		}
		t.wrap(4, text+fmt.Sprintf(", n=%d", r.N))
	}
}
