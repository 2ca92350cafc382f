package model

import (
	"cmp"
	"slices"

	"tare/internal/stats"
	"tare/internal/usage"
)

// Process is what the processes with a role and a name used: medians over the trials.
type Process struct {
	Role, Name  string
	Count       int // at the end
	CPU, Memory float64
	Share       float64 // of the CPU time of all
}

// smallShare is the share of CPU time below which a process that exited is left out.
const smallShare = 0.01

// ProcessesOf divides the CPU time of an environment in some trials by process: those that
// take most first.
func ProcessesOf(trials []*usage.Usage) (rows []Process) {
	type key struct{ role, name string }
	seen := map[key][]usage.Part{}
	recorded, whole := 0, 0.
	for _, u := range trials {
		if len(u.Parts) > 0 {
			recorded++
		}
		for _, part := range u.Parts {
			of := key{part.Role, processName(part)}
			seen[of] = append(seen[of], part)
		}
	}
	for of, parts := range seen {
		var cpu, memory, count []float64
		for _, part := range parts {
			cpu, memory, count = append(cpu, part.CPU), append(memory, part.Memory), append(count, float64(part.Processes))
		}
		for len(cpu) < recorded { // it did not run in the other trials
			cpu = append(cpu, 0)
		}
		one := Process{Role: of.role, Name: of.name, Count: int(stats.Median(count)), CPU: stats.Median(cpu), Memory: stats.Median(memory)}
		rows = append(rows, one)
	}
	slices.SortFunc(rows, func(a, b Process) int { // map order is random
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range rows {
		whole += p.CPU
	}
	for i := range rows {
		if whole > 0 {
			rows[i].Share = rows[i].CPU / whole
		}
	}
	return slices.DeleteFunc(rows, func(p Process) bool { return p.Count == 0 && p.Share < smallShare })
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
