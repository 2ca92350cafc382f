package model

import (
	"cmp"
	"slices"

	"tare/internal/stats"
	"tare/internal/usage"
)

// ProcessRow is the resource use of one process or thread name in an environment:
// medians over the trials.
type ProcessRow struct {
	Environment *Environment
	Level       string
	Role, Name  string
	Processes   int
	CPU         float64
	Memory      string
	Share       float64 // of the environment's processor time, in percent
}

// smallPart is the share of CPU time below which an exited process has no row.
const smallPart = 0.01

// Parts divides the CPU time of a workload's environments by process.
func (v *Report) Parts(w Workload) (rows []ProcessRow) {
	v.eachUsage(w, func(e *Environment, level string, trials []*usage.Usage) {
		type label struct{ role, name string }
		cpu, memory, processes := map[label][]float64{}, map[label][]float64{}, map[label][]float64{}
		told := 0
		for _, u := range trials {
			if len(u.Parts) > 0 {
				told++
			}
			for _, part := range u.Parts {
				of := label{part.Role, partName(part)}
				cpu[of] = append(cpu[of], part.CPU)
				memory[of] = append(memory[of], part.Memory)
				processes[of] = append(processes[of], float64(part.Processes))
			}
		}
		var list []ProcessRow
		whole := 0.
		for of, seen := range cpu {
			for len(seen) < told { // it did not run in the other trials
				seen = append(seen, 0)
			}
			row := ProcessRow{Environment: e, Level: level, Role: of.role, Name: of.name, CPU: stats.Median(seen), Processes: int(stats.Median(processes[of]))}
			if held := stats.Median(memory[of]); held > 0 {
				row.Memory = Figure(held, "B")
			}
			whole += row.CPU
			list = append(list, row)
		}
		slices.SortFunc(list, func(a, b ProcessRow) int { // map order is random
			return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Name, b.Name))
		})
		for _, row := range list {
			if whole > 0 {
				row.Share = 100 * row.CPU / whole
			}
			if row.Processes > 0 || row.Share >= 100*smallPart {
				rows = append(rows, row)
			}
		}
	})
	return rows
}

func partName(p usage.Part) string {
	switch {
	case p.Name == "":
		return "exited unseen, or not attributed"
	case p.Thread != "":
		return p.Name + ", thread " + p.Thread
	}
	return p.Name
}
