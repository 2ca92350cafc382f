package model

import (
	"sort"

	"tare/internal/environment"
)

// PhaseRow is how one environment's start divides into phases: means over its
// starts, since means add up and medians do not.
type PhaseRow struct {
	Environment *Environment
	Starts      int
	Parts       []Phase // in the order of Phases
	Total       float64
}

// Phase is the mean time of one phase of a start; Known tells it from none.
type Phase struct {
	Name    string
	Seconds float64
	Known   bool
}

// PhaseNames are the columns of the table of phases.
func (v *Report) PhaseNames() []string {
	names := []string{}
	if len(v.Phases) == 0 {
		return names
	}
	for _, part := range v.Phases[0].Parts {
		names = append(names, part.Name)
	}
	return names
}

func gatherPhases(v *Report) []PhaseRow {
	order := []string{}
	sums := map[string]map[string]float64{}
	starts := map[string]int{}
	for _, t := range v.Trials {
		if len(t.Phases) == 0 {
			continue
		}
		starts[t.Environment]++
		if sums[t.Environment] == nil {
			sums[t.Environment] = map[string]float64{}
		}
		for _, ph := range t.Phases {
			if ph.Name == environment.PreparePhase {
				continue // no part of the start
			}
			sums[t.Environment][ph.Name] += ph.Duration.Seconds()
			order = appendNew(order, ph.Name)
		}
	}
	// The phases follow one another in this order, whichever was seen first.
	rank := map[string]int{"engine": 1, "kernel": 2, "agent": 3}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := rank[order[i]], rank[order[j]]
		return a != 0 && (b == 0 || a < b)
	})
	var rows []PhaseRow
	for i := range v.Environments {
		e := &v.Environments[i]
		n := starts[e.Name]
		if n == 0 {
			continue
		}
		row := PhaseRow{Environment: e, Starts: n}
		for _, name := range order {
			sum, known := sums[e.Name][name]
			row.Parts = append(row.Parts, Phase{name, sum / float64(n), known})
			row.Total += sum / float64(n)
		}
		rows = append(rows, row)
	}
	return rows
}

func appendNew(list []string, text string) []string {
	for _, have := range list {
		if have == text {
			return list
		}
	}
	return append(list, text)
}
