package text

import (
	"fmt"

	"tare/internal/report/model"
)

// capacities prints a line an environment.
func (t *terminal) capacities(rows []model.CapacityRow) {
	if len(rows) == 0 {
		return
	}
	t.heading(model.CapacityTitle)
	last := ""
	for _, r := range rows {
		last = t.group(last, model.LevelTitle(r.Workload, r.Level)+": highest rate with "+r.Objective)
		text := fmt.Sprintf("%s: %s %s", r.Shown, r.Value(), r.Span())
		if machines := r.Machines(); machines != "" {
			text += fmt.Sprintf(", %s instances for the traffic of one %s", machines, r.Baseline)
		}
		t.wrap(4, text+fmt.Sprintf(", n=%d", r.N))
	}
}

// atLoads prints a line an environment.
func (t *terminal) atLoads(rows []model.AtLoadRow) {
	if len(rows) == 0 {
		return
	}
	t.heading(model.AtLoadTitle)
	last := ""
	for _, r := range rows {
		last = t.group(last, model.LevelTitle(r.Workload, r.Level)+": "+r.RateText())
		text := fmt.Sprintf("%s: %s cores", r.Shown, r.CoresText())
		if more := r.MoreText(); more != "" {
			text += " (" + more + ")"
		}
		t.wrap(4, text+fmt.Sprintf(", memory %s, n=%d", r.MemoryText(), r.N))
	}
}
