package bench

import (
	"fmt"
	"strings"

	"tare/internal/run"
	"tare/internal/run/progress"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/workload"
)

// Progress is a progress bar with the median of each environment so far.
type Progress struct {
	plan  *study.Plan
	times map[string][]float64
}

// NewProgress returns the progress of a run that has not begun.
func NewProgress(plan *study.Plan) *Progress {
	return &Progress{plan: plan, times: map[string][]float64{}}
}

// Add takes the values of a trial that ended.
func (p *Progress) Add(e run.Event) {
	if e.Kind != run.Tried {
		return
	}
	if v, ok := e.Trial.Metrics[workload.WallSeconds]; ok {
		p.times[e.Trial.Environment] = append(p.times[e.Trial.Environment], v)
	}
}

// Line is the bar at an event of a trial. It is full at the next interim
// analysis, since the run may end there.
func (p *Progress) Line(e run.Event) string {
	const cells = 16
	most := max(e.Progress.MaxBlock, 1)
	if next := e.Progress.NextLook; next > 0 && len(p.plan.Environments) > 1 {
		most = next
	}
	full := min(cells, cells*e.Slot.Block/most)
	text := fmt.Sprintf("%s%s %d/%d", strings.Repeat("█", full), strings.Repeat("░", cells-full), e.Slot.Block, most)
	for _, environment := range p.plan.Environments {
		if times := p.times[environment.Name]; len(times) > 0 {
			text += fmt.Sprintf("  %s %s", environment.Name, format(stats.Median(times), "s"))
		}
	}
	if left := progress.ToGo(e.Progress); left != "" {
		text += "  " + left
	}
	return text
}
