package verdict

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/workload"
)

// LengthBias is how much the length of the samples biases a metric: what they contain
// besides the work, such as the start of the driver, is a share of it. It is a log ratio
// from the samples of half the length; docs/explanation/statistics.md says how.
type LengthBias struct {
	N        int            // blocks
	Interval stats.Interval // at 95%
	Limit    float64        // a quarter of the margin, as a log ratio
}

// shareOfMargin is what the length of samples may take of the margin.
const shareOfMargin = .25

func lengthBiasOf(d []float64, limit float64) *LengthBias {
	if len(d) == 0 {
		return nil
	}
	return &LengthBias{len(d), hodgesLehmann(d, .05), limit}
}

// Within reports whether the bias is shown to lie inside the limit.
func (l LengthBias) Within() bool { return l.Interval.Inside(l.Limit) }

// Exceeds reports whether the bias is shown to lie outside the limit.
func (l LengthBias) Exceeds() bool { return l.Interval.Low > l.Limit || l.Interval.High < -l.Limit }

// MarshalJSON writes null for an end without a bound.
func (l LengthBias) MarshalJSON() ([]byte, error) {
	shown := "not shown"
	switch {
	case l.Within():
		shown = "within"
	case l.Exceeds():
		shown = "exceeded"
	}
	return json.Marshal(struct {
		N int `json:"n"`
		span
		Limit float64 `json:"limit"`
		Shown string  `json:"shown"`
	}{l.N, span{finite(l.Interval.Estimate), finite(l.Interval.Low), finite(l.Interval.High)}, l.Limit, shown})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *LengthBias) UnmarshalJSON(data []byte) error {
	var in struct {
		N int `json:"n"`
		span
		Limit float64 `json:"limit"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*l = LengthBias{in.N, stats.Interval{Estimate: orElse(in.Estimate, math.NaN()), Low: orElse(in.Low, math.Inf(-1)), High: orElse(in.High, math.Inf(1))}, in.Limit}
	return nil
}

// hasLengthBias reports whether the length of a sample may bias a metric but not scale
// it: what tare times itself, and the number of operations, are proportional to the work.
func hasLengthBias(p workload.Pack, m workload.Metric) bool {
	return m.Primary && m.FromOutput() && m.Name != p.Operations
}

// lengthBias is that of a contrast; nil if no block has it.
func (e *entry) lengthBias() *LengthBias {
	if e.contrast.BaseLevel != "" {
		return nil // levels do not alternate
	}
	var d []float64
	for _, block := range slices.Sorted(maps.Keys(e.of[0].lengths)) {
		if sum := e.sumOf(func(s *series) stats.Logs { return s.lengths[block] }); sum.Rounds > 0 {
			d = append(d, sum.Log)
		}
	}
	return lengthBiasOf(d, e.contrast.logMargin()*shareOfMargin)
}

// describeLengthBias adds the length bias of a contrast, with a warning if it is too large.
func (e *entry) describeLengthBias() {
	c := &e.contrast
	if c.LengthBias = e.lengthBias(); c.LengthBias == nil || !c.LengthBias.Exceeds() {
		return
	}
	c.warn(Warning{Code: LengthBiased, Bias: c.LengthBias})
}

// EnvironmentLengthBias is the length bias of one environment, of which contrasts have
// the differences.
type EnvironmentLengthBias struct {
	Workload    string     `json:"workload"`
	Level       string     `json:"level,omitempty"`
	Metric      string     `json:"metric"`
	Environment string     `json:"environment"`
	LengthBias  LengthBias `json:"length_bias"`
}

// LengthBiases are those of the primary metrics, in the order of the plan.
func LengthBiases(plan *study.Plan, trials []rundir.Trial) (all []EnvironmentLengthBias) {
	b := emptyBook(plan)
	for _, t := range trials {
		b.Add(t)
	}
	limit := math.Log1p(float64(plan.Design.Margin)) * shareOfMargin
	for at, w := range places(plan) {
		for i, m := range b.metrics[w.Name] {
			for _, e := range plan.Environments {
				s := b.at(at.In(e.Name))[i]
				var d []float64
				for _, block := range slices.Sorted(maps.Keys(s.lengths)) {
					if sum := stats.SumOf([]stats.Term{{Weight: 1, Logs: s.lengths[block]}}); sum.Rounds > 0 {
						d = append(d, sum.Log)
					}
				}
				if found := lengthBiasOf(d, limit); found != nil {
					all = append(all, EnvironmentLengthBias{w.Name, at.Level, m.Name, e.Name, *found})
				}
			}
		}
	}
	return all
}
