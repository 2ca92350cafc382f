package text

import (
	"fmt"

	"tare/internal/report/model"
)

// costs prints what else than CPU time a thousand operations cost, in pieces of
// a few columns each where it is too wide for one.
func (t *terminal) costs(table model.CostTable) {
	if len(table.Columns) == 0 || t.All {
		return // --all shows them as rows
	}
	heading := "other costs per thousand operations"
	if table.Undecided() {
		heading += " (in parentheses: no verdict)"
	}
	t.wrap(2, t.paint(dim, heading))
	for first, next := 0, 0; first < len(table.Columns); first = next {
		next = len(table.Columns)
		for next > first+1 && width(costPiece(table, first, next)) > t.Width {
			next--
		}
		t.rows(costPiece(table, first, next))
	}
	for i, reason := range table.Reasons {
		t.wrap(2, fmt.Sprintf("[%d] %s", i+1, reason))
	}
}

// costPiece are the rows with the costs from first up to last: of each the figure,
// and where any environment has one the change.
func costPiece(t model.CostTable, first, last int) [][]string {
	rows := [][]string{{""}}
	for _, r := range t.Rows {
		rows = append(rows, []string{r.Environment.Shown})
	}
	for k := first; k < last; k++ {
		figures, changes, changed := []string{t.Columns[k]}, []string{""}, false
		for _, r := range t.Rows {
			c := r.Cells[k]
			note := ""
			if c.Note > 0 {
				note = fmt.Sprintf(" [%d]", c.Note)
			}
			figures, changes = append(figures, c.Text+note), append(changes, c.Change)
			changed = changed || c.Change != ""
		}
		for i := range rows {
			rows[i] = append(rows[i], figures[i])
			if changed {
				rows[i] = append(rows[i], changes[i])
			}
		}
	}
	return rows
}

func (t *terminal) costless(v *model.Report) {
	title, lines := "Costs that are zero or missing", v.CostsWithoutColumn()
	if t.All { // then what is 0 has its rows
		title, lines = "Missing costs", v.CostsWithoutValue()
	}
	if len(lines) == 0 {
		return
	}
	t.WriteString("\n")
	t.wrap(0, t.paint(bold, title))
	for _, line := range lines {
		t.wrap(2, line)
	}
}
