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

func atLoads(b *strings.Builder, v *model.Report) {
	rows := v.AtLoads()
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n## " + model.AtLoadTitle + "\n\nWhat the same rate takes in all environments, at a share of the capacity of " + escape(v.Plan.Baseline) + ": medians over the blocks, and the change of the CPU time of an operation.\n\n" +
		"| workload | environment | requests | cores | more cores | memory | blocks |\n|---|---|---:|---:|---|---:|---:|\n")
	for _, r := range rows {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %d |\n", escape(model.LevelTitle(r.Workload, r.Level)), escape(r.Shown), escape(r.RateText()), escape(r.CoresText()), escape(r.MoreText()), escape(r.MemoryText()), r.N)
	}
}
