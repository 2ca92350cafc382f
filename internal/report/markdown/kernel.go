package markdown

import (
	"fmt"
	"strings"

	"tare/internal/report/model"
	"tare/internal/usage/evidence"
)

func kernel(b *strings.Builder, tables []model.KernelTable) {
	for i, k := range tables {
		fmt.Fprintf(b, "\n## %s: %s\n\n", model.KernelTitle, escape(k.Heading()))
		if i == 0 {
			fmt.Fprintf(b, "%s\n\n", model.KernelLead)
		}
		b.WriteString(strings.TrimRight(evidence.Markdown(k.Sections, k.Slow, k.Fast), "\n") + "\n")
		if len(k.Remarks) > 0 {
			b.WriteString("\n")
		}
		bullets(b, k.Remarks)
	}
}
