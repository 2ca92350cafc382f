package markdown

import (
	"fmt"
	"strings"

	"tare/internal/report/model"
)

func costs(b *strings.Builder, v *model.Report) {
	begun := false
	for _, w := range v.Workloads {
		table := v.CostTable(w, w.Levels, true)
		if len(table.Columns) == 0 {
			continue
		}
		if !begun {
			fmt.Fprintf(b, "\n## Cost per thousand operations\n\nFor the whole environment, compared with %s. In parentheses: no verdict.\n", escape(v.Plan.Baseline))
			begun = true
		}
		fmt.Fprintf(b, "\n| %s | %s |\n|---|%s\n", escape(w.Name), strings.Join(table.Columns, " | "), strings.Repeat("---|", len(table.Columns)))
		for _, r := range table.Rows {
			name := r.Environment.Shown
			if r.Level != "" {
				name = r.Level + ", " + name
			}
			b.WriteString("| " + escape(name))
			for _, c := range r.Cells {
				b.WriteString(" | " + escape(c.String()))
			}
			b.WriteString(" |\n")
		}
		if len(table.Reasons) > 0 {
			b.WriteString("\n")
		}
		for i, reason := range table.Reasons {
			fmt.Fprintf(b, "[%d] %s\n", i+1, escape(reason))
		}
	}
	if lines := v.CostsWithoutColumn(); len(lines) > 0 {
		b.WriteString("\nCosts that are zero or missing:\n\n")
		bullets(b, lines)
	}
}
