package markdown

import (
	"fmt"
	"strings"

	"tare/internal/report/model"
)

func imported(b *strings.Builder, v *model.Report) {
	if facts := v.Imported(); len(facts) > 0 {
		b.WriteString("\n## Imported results\n\n")
		for _, f := range facts {
			fmt.Fprintf(b, "- %s: %s\n", escape(f.Name), escape(f.Text))
		}
	}
	if len(v.Findings) > 0 {
		b.WriteString("\n## Anomalies in the data\n\n")
		bullets(b, v.Findings)
	}
}
