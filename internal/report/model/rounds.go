package model

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/lists"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

// alternated says, for each cell whose samples alternated, how many there were and
// what share of their time the hypervisor took, of which environment.
func (v *Report) alternated() (all []string) {
	for _, w := range v.Plan.Workloads {
		for _, l := range w.Levels {
			var rounds []int // of the trials
			taken := map[string]*[2]float64{}
			for _, t := range v.Trials {
				if t.Workload != w.Name || t.Level != l.Name || t.Status != rundir.OK || t.Traced || len(t.Rounds) == 0 {
					continue
				}
				rounds = append(rounds, len(t.Rounds))
				for _, r := range t.Rounds {
					if r.StealSeconds == nil || r.HostSeconds <= 0 {
						continue
					}
					if taken[t.Environment] == nil {
						taken[t.Environment] = new([2]float64)
					}
					taken[t.Environment][0] += *r.StealSeconds
					taken[t.Environment][1] += r.HostSeconds
				}
			}
			if len(rounds) == 0 {
				continue
			}
			text := fmt.Sprintf("%s: samples of the environments alternated, %s in each block",
				LevelTitle(w.Name, l.Name), verdict.Rounds{Least: slices.Min(rounds), Most: slices.Max(rounds)})
			shown := lists.Filter(v.Environments, func(e Environment) bool { return taken[e.Name] != nil })
			if slices.ContainsFunc(shown, func(e Environment) bool { return taken[e.Name][0] > 0 }) {
				text += "; the hypervisor took " + strings.Join(lists.Map(shown, func(e Environment) string {
					return fmt.Sprintf("%.1f%% of a core from those of %s", 100*taken[e.Name][0]/taken[e.Name][1], e.Shown)
				}), ", ") + "; nothing was left out for it"
			} else if len(shown) > 0 {
				text += "; the hypervisor took no time from them"
			}
			all = append(all, text)
		}
	}
	return all
}
