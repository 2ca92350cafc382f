package markdown

import (
	"fmt"
	"strings"

	"tare/internal/report/model"
)

func copies(b *strings.Builder, rows []model.CopiesRow) {
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n## Concurrent copies\n\nMedians over trials. The spread is the standard deviation over the copies of a trial, divided by their mean.\n\n" +
		"| workload | metric | environment | copies | combined | median | mean | p95 | p99 | min | max | spread |\n|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range rows {
		fmt.Fprintf(b, "| %s | %s | %s | %d | %s | %s | %s | %s | %s | %s | %s | %s |\n", escape(model.LevelTitle(r.Workload, r.Level)), escape(r.Metric), escape(r.Environment.Shown),
			r.Copies, model.Figure(r.Together, r.Unit), model.Figure(r.Each, r.Unit), model.Figure(r.Mean, r.Unit), model.Figure(r.P95, r.Unit), model.Figure(r.P99, r.Unit), model.Figure(r.Least, r.Unit), model.Figure(r.Most, r.Unit), model.Percent(r.Spread))
	}
}

func density(b *strings.Builder, v *model.Report) {
	if rows := v.WithinRows(); len(rows) > 0 {
		b.WriteString("\n## " + model.WithinTitle + "\n\n| workload | reference level | metric | environment | reference value | value | change | verdict |\n|---|---|---|---|---:|---:|---|---|\n")
		for _, r := range rows {
			c := r.Contrast
			if c.NoRatio() {
				fmt.Fprintf(b, "| %s | %s | %s | %s | | | %s | |\n", escape(model.LevelTitle(r.Workload, r.Level)), escape(r.BaseLevel), escape(r.Metric), escape(r.Shown), escape(model.NoRatioReason(c)))
				continue
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s %s | **%s** %s |\n", escape(model.LevelTitle(r.Workload, r.Level)), escape(r.BaseLevel), escape(r.Metric), escape(r.Shown),
				escape(model.Figure(c.Base.Median, r.Unit)), escape(model.Figure(c.Values.Median, r.Unit)), model.EstimateText(c), escape(model.IntervalText(c)), model.VerdictWord(c), model.BlockCount(c))
		}
	}
	if rows := v.Growths(); len(rows) > 0 {
		b.WriteString("\n## " + model.GrowthTitle + "\n\nThe Theil-Sen slope over the levels of a block; Hodges-Lehmann estimate over the blocks.\n\n" +
			"| workload | metric | environment | per instance | interval | vs " + escape(v.Plan.Baseline) + " | blocks |\n|---|---|---|---:|---|---|---:|\n")
		for _, r := range rows {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %d |\n", escape(model.LevelTitle(r.Workload, r.Level)), escape(r.Metric), escape(r.Shown),
				escape(model.Figure(r.Each.Estimate, r.Unit)), escape(r.Span()), escape(r.Against()), r.N)
		}
	}
}
