package markdown

import (
	"fmt"
	"strings"

	"tare/internal/report/model"
	"tare/internal/verdict"
)

func against(b *strings.Builder, v *model.Report) {
	if v.Against == nil {
		return
	}
	fmt.Fprintf(b, "\n## Compared with %s\n\n%s\n", escape(v.Against.Study.Study), escape(v.AgainstLead()))
	if len(v.Against.Rows) > 0 {
		b.WriteString("\n| workload | metric | environment | published | measured | interval | |\n|---|---|---|---:|---:|---|---|\n")
	}
	for _, r := range v.Against.Rows {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", escape(model.LevelTitle(r.Workload, r.Level)), escape(r.Metric), escape(v.AgainstName(r)),
			verdict.Change(r.Published), verdict.Change(r.Measured), escape(r.Interval()), r.Compared())
	}
	if remarks := v.AgainstRemarks(); len(remarks) > 0 {
		b.WriteString("\n")
		bullets(b, remarks)
	}
}
