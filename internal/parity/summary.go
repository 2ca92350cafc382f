package parity

import "slices"

// Summary is an environment beside its baseline over all workloads: what several
// of them have in common stands there once.
type Summary struct {
	Environment string   `json:"environment"`
	Baseline    string   `json:"baseline"`
	Workloads   []string `json:"workloads"` // that were compared
	// Confounds touch a workload; Idle ones none of those that were compared.
	Confounds []Cause  `json:"confounds"`
	Idle      []Cause  `json:"idle_confounds,omitempty"`
	Chosen    []Cause  `json:"chosen,omitempty"`
	Inherent  []Cause  `json:"inherent,omitempty"`
	Unseen    []Unseen `json:"unseen,omitempty"`
	Same      int      `json:"same"` // facts that do not differ, over all workloads
}

// Cause is a finding with the workloads that it was found under, and those of
// them that it touches.
type Cause struct {
	Finding
	Under []string `json:"under"`
	Over  []string `json:"over,omitempty"`
}

// Summarize brings comparisons together, an environment each, in their order.
func Summarize(all []Comparison) (summaries []Summary) {
	for _, c := range all {
		i := slices.IndexFunc(summaries, func(s Summary) bool { return s.Environment == c.Environment && s.Baseline == c.Baseline })
		if i < 0 {
			i = len(summaries)
			summaries = append(summaries, Summary{Environment: c.Environment, Baseline: c.Baseline})
		}
		summaries[i].take(c)
	}
	for i := range summaries {
		s := &summaries[i]
		s.Confounds, s.Idle = parted(s.Confounds)
	}
	return summaries
}

// Notes are those that are inherent in the layer and have an effect on a
// workload that a reader of its figures ought to know.
func (s Summary) Notes() []Cause {
	touching, _ := parted(s.Inherent)
	return touching
}

// parted takes the causes that touch no workload apart.
func parted(all []Cause) (touching, idle []Cause) {
	for _, c := range all {
		if len(c.Over) > 0 {
			touching = append(touching, c)
		} else {
			idle = append(idle, c)
		}
	}
	return touching, idle
}

func (s *Summary) take(c Comparison) {
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
		(*list)[i].take(c.Workload, f)
	}
	for _, u := range c.Unseen {
		if !slices.Contains(s.Unseen, u) {
			s.Unseen = append(s.Unseen, u)
		}
	}
}

func (c *Cause) take(workload string, f Finding) {
	c.Under = append(c.Under, workload)
	if f.Touches {
		c.Over = append(c.Over, workload)
		c.Touches = true
	}
	for _, asked := range f.Asked {
		if !slices.Contains(c.Asked, asked) {
			c.Asked = append(c.Asked, asked)
		}
	}
	for _, d := range f.Differences {
		if !slices.Contains(c.Differences, d) {
			c.Differences = append(c.Differences, d)
		}
	}
}
