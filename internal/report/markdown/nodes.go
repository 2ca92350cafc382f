package markdown

import (
	"fmt"
	"strings"

	"tare/internal/report/model"
)

func nodes(b *strings.Builder, rows []model.NodesRow) {
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n## " + model.NodesTitle + "\n\n" + model.NodesLead + ".\n\n| workload | metric | environment | node | blocks | change | interval | |\n|---|---|---|---|---:|---:|---|---|\n")
	for _, r := range rows {
		before := fmt.Sprintf("| %s | %s | %s | ", escape(model.LevelTitle(r.Workload, r.Level)), escape(r.Metric), escape(r.Environment.Shown))
		for _, line := range r.Lines {
			fmt.Fprintf(b, "%s%s | %d | %s | %s | %s |\n", before, escape(line.Node), line.Blocks, line.Change, escape(line.Interval), line.Remark)
		}
		if text := r.OmittedText(); text != "" {
			fmt.Fprintf(b, "%s%s | | | | |\n", before, text)
		}
	}
}
