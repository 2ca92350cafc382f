package section

import (
	"fmt"

	"tare/internal/report/model"
)

// costs of a thousand operations. A terminal shows CPU time with the verdicts, and with
// --all the others as well.
func costs(v *model.Report, o Options) Section {
	s := Section{ID: "costs", Title: "Cost per thousand operations",
		Lead: "Medians over trials, for the whole environment, compared with " + v.Plan.Baseline + ". In parentheses: no verdict."}
	lines := v.CostsWithoutColumn()
	if o.Short && o.All {
		lines, s.Lead = v.CostsWithoutValue(), ""
	} else {
		for _, w := range v.Workloads {
			costs := v.CostTable(w, w.Levels, !o.Short)
			if len(costs.Columns) > 0 {
				s.Parts = append(s.Parts, Part{Title: w.Name, Table: costTable(w, costs), Numbered: costs.Reasons})
			}
		}
	}
	if len(lines) > 0 {
		s.Parts = append(s.Parts, Part{Title: "Costs that are zero or missing", Notes: plains(lines)})
	}
	return s
}

func costTable(w model.Workload, costs model.CostTable) *Table {
	t := &Table{About: "Cost per thousand operations of " + w.Name, Pieces: true}
	if w.Swept() {
		t.Columns = append(t.Columns, group("level"))
	}
	t.Columns = append(t.Columns, key("environment"))
	for _, head := range costs.Columns {
		t.Columns = append(t.Columns, number(head))
	}
	for _, r := range costs.Rows {
		var shown Row
		if w.Swept() {
			shown = Line(r.Level)
		}
		shown.Cells = append(shown.Cells, environment(r.Environment))
		for _, c := range r.Cells {
			cell := plain(c.Text)
			if c.Change != "" {
				cell = append(cell, Text{Text: " " + c.Change, Style: Quiet})
			}
			if c.Note > 0 {
				cell = append(cell, Text{Text: fmt.Sprintf(" [%d]", c.Note), Style: Quiet})
			}
			shown.Cells = append(shown.Cells, cell)
		}
		t.Rows = append(t.Rows, shown)
	}
	return t
}
