package html

import (
	"fmt"
	"strings"

	"tare/internal/report/model"
	"tare/internal/rundir"
)

// traceRow is one trial with its command and output files.
type traceRow struct {
	rundir.Trial
	Shown    string
	Anchor   string // of the command
	Headline string // the primary figures
}

// Trace is every trial in the order of the journal.
func (p *page) Trace() []traceRow {
	type primary struct{ name, unit string }
	anchors := map[[2]string]string{}
	primaries := map[string][]primary{}
	for _, w := range p.Workloads {
		for _, l := range w.Levels {
			anchors[[2]string{w.Name, l.Name}] = fmt.Sprintf("c%d-%d", w.Index, l.Index)
		}
		for _, m := range w.AllMetrics() {
			if m.Primary {
				primaries[w.Name] = append(primaries[w.Name], primary{m.Name, m.Unit})
			}
		}
	}
	rows := make([]traceRow, 0, len(p.Trials))
	for _, t := range p.Trials {
		row := traceRow{Trial: t, Shown: p.ShownName(t.Environment), Anchor: anchors[[2]string{t.Workload, t.Level}]}
		var figures []string
		for _, m := range primaries[t.Workload] {
			if x, ok := t.Metrics[m.name]; ok {
				figures = append(figures, model.Figure(x, m.unit))
			} else if why := t.Missing[m.name]; why != "" {
				figures = append(figures, model.Missing+" ("+why+")")
			}
		}
		row.Headline = strings.Join(figures, "; ")
		rows = append(rows, row)
	}
	return rows
}
