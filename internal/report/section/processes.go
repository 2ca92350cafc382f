package section

import (
	"fmt"
	"slices"

	"tare/internal/report/model"
)

// Processes divides the CPU time of a workload's environments by process: medians over the
// trials; nil without rows.
func Processes(v *model.Report, w model.Workload) []Part {
	t := &Table{About: "CPU time by process in " + w.Name, Columns: append(placeColumns(w), column("role"), column("process"), number("at the end"), number("CPU"), number("share"), number("memory"))}
	for _, l := range w.Levels {
		for i := range v.Environments {
			at := measured{l, &v.Environments[i]}
			for _, p := range model.ProcessesOf(v.Usages[l.Place(w).In(at.Environment.Name)]) {
				memory := ""
				if p.Memory > 0 {
					memory = model.Figure(p.Memory, "B")
				}
				r := Line(p.Role, p.Name, p.Count, model.Figure(p.CPU, "s"), fmt.Sprintf("%.1f%%", 100*p.Share), memory)
				t.Rows = append(t.Rows, Row{Cells: slices.Concat(place(w, at).Cells, r.Cells)})
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return []Part{{Table: t}}
}
