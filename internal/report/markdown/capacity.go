package markdown

import (
	"fmt"
	"strings"

	"tare/internal/report/model"
)

func capacities(b *strings.Builder, v *model.Report) {
	rows := v.Capacities()
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n## " + model.CapacityTitle + "\n\nThe highest rate that holds the objective, with its interval over the blocks, and how many instances serve the traffic of one of " + escape(v.Plan.Baseline) + ".\n\n" +
		"| workload | objective | environment | capacity | interval | instances | more instances | blocks |\n|---|---|---|---:|---|---|---|---:|\n")
	for _, r := range rows {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %d |\n", escape(model.LevelTitle(r.Workload, r.Level)), escape(r.Objective), escape(r.Shown),
			escape(r.Value()), escape(r.Span()), escape(r.Machines()), escape(r.More()), r.N)
	}
}
