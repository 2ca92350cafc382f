package html

import (
	"tare/internal/report/model"
	"tare/internal/verdict"
)

// AgainstRows are the cells of the page's table.
func (p *page) AgainstRows() [][]string {
	var rows [][]string
	for _, r := range p.Against.Rows {
		rows = append(rows, []string{model.LevelTitle(r.Workload, r.Level), r.Metric, p.AgainstName(r), typeset(verdict.Change(r.Published)),
			typeset(verdict.Change(r.Measured)), typeset(r.Interval()), r.Compared(), r.Place})
	}
	return rows
}
