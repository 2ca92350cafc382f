package verdict

import (
	"encoding/json"
	"slices"

	"tare/internal/rundir"
	"tare/internal/stats"
)

// SoFar is what is known about a primary contrast while its run is under way.
// Only its verdict is final, once it is not open.
type SoFar struct {
	Contrast
	// Rounds of the block under way are part of the estimate, as one block more;
	// 0 from the first interval on, which is of whole blocks.
	Rounds int
}

// SoFar returns the primary contrasts as of the trials so far. Those that have no
// interval yet also use the rounds of trials that are under way, of which there will be
// so many.
func (b *Book) SoFar(underWay []rundir.Trial, rounds int) (all []SoFar) {
	logs := map[*series]stats.Logs{}
	for _, t := range underWay {
		for i, m := range b.metrics[t.Workload] {
			if logsOf := t.RoundLogs(m.Name); logsOf.Rounds != nil {
				logs[b.at(t.Cell())[i]] = logsOf
			}
		}
	}
	for _, e := range b.entries {
		if !e.contrast.Primary {
			continue
		}
		s := SoFar{Contrast: b.verdict(e)}
		if !s.Bounded() && e.allIn(logs) {
			sum := e.sumOf(func(s *series) stats.Logs { return logs[s] })
			// Next to whole blocks, few rounds would weigh as much as many.
			if enough := s.N == 0 || 2*sum.Rounds >= rounds; sum.Rounds > 0 && enough {
				s.Estimate, s.Rounds = stats.Location(append(slices.Clone(e.pairs().d), sum.Log)), sum.Rounds
			}
		}
		all = append(all, s)
	}
	return all
}

// allIn reports whether all series of a contrast are among these.
func (e *entry) allIn(logs map[*series]stats.Logs) bool {
	lacks := func(s *series) bool { return logs[s].Rounds == nil }
	return !slices.ContainsFunc(e.of, lacks) && !slices.ContainsFunc(e.over, lacks)
}

// Way is how far an open contrast is on its way to a verdict with a precise interval,
// from 0 to 1: the share of the blocks that it is projected to take if the estimate stays.
func (c Contrast) Way() float64 {
	switch {
	case !c.Open:
		return 1
	case !c.Bounded():
		return 0
	}
	return float64(c.IntervalN) / float64(max(c.IntervalN, c.Projection))
}

// MarshalJSON writes what changes while the run is under way. Ends and estimates
// are log ratios, as those of a contrast, and null where there is none.
func (s SoFar) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Workload    string `json:"workload"`
		Level       string `json:"level,omitempty"`
		Metric      string `json:"metric"`
		Environment string `json:"environment"`
		Part        string `json:"part,omitempty"`
		span
		N       int     `json:"n"`
		Rounds  int     `json:"rounds,omitempty"`
		Verdict Verdict `json:"verdict"`
		Open    bool    `json:"open"`
		Way     float64 `json:"way"`
	}{
		s.Workload, s.Level, s.Metric, s.Environment, s.Part, span{finite(s.Estimate), finite(s.Low), finite(s.High)},
		s.N, s.Rounds, s.Verdict, s.Open, s.Way(),
	})
}
