package section

import (
	"cmp"
	"fmt"
	"slices"

	"tare/internal/report/model"
	"tare/internal/stats"
	"tare/internal/usage"
)

// process is one process or thread name with its role.
type process struct{ role, name string }

// smallPart is the share of CPU time below which an exited process has no row.
const smallPart = 0.01

// Processes divides the CPU time of a workload's environments by process: medians over the
// trials; nil without rows.
func Processes(v *model.Report, w model.Workload) []Part {
	t := &Table{About: "CPU time by process in " + w.Name, Columns: append(placeColumns(w), column("role"), column("process"), number("at the end"), number("CPU"), number("share"), number("memory"))}
	for _, l := range w.Levels {
		for i := range v.Environments {
			at := measured{l, &v.Environments[i]}
			for _, r := range processes(v.Usages[l.Place(w).In(at.Environment.Name)]) {
				t.Rows = append(t.Rows, Row{Cells: slices.Concat(place(w, at).Cells, r.Cells)})
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return []Part{{Table: t}}
}

// processes are those of the trials of an environment, those that take most first.
func processes(trials []*usage.Usage) (rows []Row) {
	cpu, memory, count := map[process][]float64{}, map[process][]float64{}, map[process][]float64{}
	told, whole := 0, 0.
	for _, u := range trials {
		if len(u.Parts) > 0 {
			told++
		}
		for _, part := range u.Parts {
			of := process{part.Role, processName(part)}
			cpu[of], memory[of], count[of] = append(cpu[of], part.CPU), append(memory[of], part.Memory), append(count[of], float64(part.Processes))
		}
	}
	var all []process
	times := map[process]float64{}
	for of, seen := range cpu {
		for len(seen) < told { // it did not run in the other trials
			seen = append(seen, 0)
		}
		times[of] = stats.Median(seen)
		all = append(all, of)
	}
	slices.SortFunc(all, func(a, b process) int { // map order is random
		return cmp.Or(cmp.Compare(times[b], times[a]), cmp.Compare(a.role, b.role), cmp.Compare(a.name, b.name))
	})
	for _, of := range all {
		whole += times[of]
	}
	for _, of := range all {
		n, held, share := int(stats.Median(count[of])), "", 0.
		if bytes := stats.Median(memory[of]); bytes > 0 {
			held = model.Figure(bytes, "B")
		}
		if whole > 0 {
			share = times[of] / whole
		}
		if n > 0 || share >= smallPart {
			rows = append(rows, Line(of.role, of.name, n, model.Figure(times[of], "s"), fmt.Sprintf("%.1f%%", 100*share), held))
		}
	}
	return rows
}

func processName(p usage.Part) string {
	switch {
	case p.Name == "":
		return "exited unseen, or not attributed"
	case p.Thread != "":
		return p.Name + ", thread " + p.Thread
	}
	return p.Name
}
