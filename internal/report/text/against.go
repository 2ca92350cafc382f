package text

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/report/model"
	"tare/internal/verdict"
)

// against prints a row an environment below its workload and metric.
func (t *terminal) against(v *model.Report) {
	if v.Against == nil {
		return
	}
	t.heading("Compared with " + v.Against.Study.Study)
	t.wrap(2, v.AgainstLead())
	last, width := "", 0
	for _, r := range v.Against.Rows {
		width = max(width, ansi.StringWidth(v.AgainstName(r)))
	}
	for _, r := range v.Against.Rows {
		last = t.group(last, model.LevelTitle(r.Workload, r.Level)+": "+r.Metric+" ("+r.Place+")")
		name := v.AgainstName(r)
		t.wrap(4, fmt.Sprintf("%s%s  published %s, measured %s; %s", name, strings.Repeat(" ", width-ansi.StringWidth(name)),
			verdict.Change(r.Published), strings.TrimSpace(verdict.Change(r.Measured)+" "+r.Interval()), r.Compared()))
	}
	for _, remark := range v.AgainstRemarks() {
		t.wrap(2, remark)
	}
}
