package parity

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/base/lists"
)

// Summary compares an environment with its baseline over all workloads. Findings
// that several workloads share are in it once.
type Summary struct {
	Environment string   `json:"environment"`
	Baseline    string   `json:"baseline"`
	Workloads   []string `json:"workloads"` // that were compared
	// Confounds affect a compared workload; Idle ones do not.
	Confounds []Cause  `json:"confounds"`
	Idle      []Cause  `json:"idle_confounds,omitempty"`
	Chosen    []Cause  `json:"chosen,omitempty"`
	Inherent  []Cause  `json:"inherent,omitempty"`
	Unseen    []Unseen `json:"unseen,omitempty"`
	Same      int      `json:"same"` // facts that do not differ, over all workloads
}

// Cause is a finding with the workloads for which it was found (Under), and those
// that it affects (Over).
type Cause struct {
	Finding
	Under []string `json:"under"`
	Over  []string `json:"over,omitempty"`
}

// Affecting is the finding with the workloads that it affects.
func (c Cause) Affecting() string {
	return c.Finding.Finding + " (" + strings.Join(c.Over, ", ") + ")"
}

// Summarize groups comparisons by environment, in their order.
func Summarize(all []Comparison) (summaries []Summary) {
	for _, c := range all {
		i := slices.IndexFunc(summaries, func(s Summary) bool { return s.Environment == c.Environment && s.Baseline == c.Baseline })
		if i < 0 {
			i = len(summaries)
			summaries = append(summaries, Summary{Environment: c.Environment, Baseline: c.Baseline})
		}
		summaries[i].add(c)
	}
	for i := range summaries {
		s := &summaries[i]
		s.Confounds, s.Idle = split(s.Confounds)
	}
	return summaries
}

// Notes returns the inherent findings that affect a workload, which a reader of
// its results should know.
func (s Summary) Notes() []Cause {
	touching, _ := split(s.Inherent)
	return touching
}

// split separates causes that affect a workload from those that affect none.
func split(all []Cause) (touching, idle []Cause) {
	for _, c := range all {
		if len(c.Over) > 0 {
			touching = append(touching, c)
		} else {
			idle = append(idle, c)
		}
	}
	return touching, idle
}

func (s *Summary) add(c Comparison) {
	s.Workloads = append(s.Workloads, c.Workload)
	s.Same += c.Same
	for _, f := range c.Findings {
		list := map[Class]*[]Cause{Confound: &s.Confounds, Chosen: &s.Chosen, Inherent: &s.Inherent}[f.Class]
		i := slices.IndexFunc(*list, func(known Cause) bool { return known.Finding.Finding == f.Finding })
		if i < 0 {
			i = len(*list)
			*list = append(*list, Cause{Finding: f})
			(*list)[i].Differences = nil
		}
		(*list)[i].add(c.Workload, f)
	}
	s.Unseen = lists.Add(s.Unseen, c.Unseen...)
}

func (c *Cause) add(workload string, f Finding) {
	c.Under = append(c.Under, workload)
	if f.Touches {
		c.Over = append(c.Over, workload)
		c.Touches, c.NoVerdict = true, c.NoVerdict || f.NoVerdict
	}
	c.Asked = lists.Add(c.Asked, f.Asked...)
	c.Differences = lists.Add(c.Differences, f.Differences...)
}

// Unfair returns an error with the names of the confounds; nil if there are none.
func Unfair(all []Comparison) error {
	var environments []string
	for _, s := range Summarize(all) {
		names := lists.Map(s.Confounds, func(c Cause) string { return c.Finding.Finding })
		if len(names) > 0 {
			environments = append(environments, s.Environment+": "+strings.Join(names, ", "))
		}
	}
	if len(environments) == 0 {
		return nil
	}
	return fmt.Errorf("not fair: %s", strings.Join(environments, "; "))
}
