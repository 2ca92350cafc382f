package verdict

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/workload"
)

// Within compares each environment with itself: every level with more neighbours
// or copies with the level that has the fewest, by the same procedure and from the
// same blocks as all contrasts. The contrasts of one metric of one workload share
// an error rate. Metrics that add up over copies are left out, since they grow with
// the number of copies. Environments leave a run by their verdicts against its baseline.
func Within(plan *study.Plan, trials []rundir.Trial, facts rundir.Manifest) []Contrast {
	if !comparesCounts(plan) {
		return nil
	}
	b, environments := emptyBook(plan), usable(plan, facts.Environments)
	b.turns, b.leaves = plan.Turns(environments), whole(plan, trials, facts)
	for _, w := range plan.Workloads {
		for _, series := range w.CountSeries() {
			for i, m := range b.metrics[w.Name] {
				if series.By == study.ByInstances && m.Additive() {
					continue
				}
				for _, l := range series.Levels[1:] {
					for _, name := range environments {
						at := subject.Cell{Environment: name, Workload: w.Name, Level: l.Name}
						e := newEntry(b.blank(at, m), w.Fresh)
						e.contrast.Baseline, e.contrast.BaseLevel = name, series.Levels[0].Name
						e.contrast.Family = (len(series.Levels) - 1) * len(environments)
						b.enter(e, i, at, subject.Cell{Environment: name, Workload: w.Name, Level: series.Levels[0].Name})
						b.join(e, withinKey{w.Name, m.Name, series.Rest(), fmt.Sprint(series.By)})
					}
				}
			}
		}
	}
	return b.judged(trials, facts)
}

// comparesCounts says whether a plan has levels with several numbers of neighbours or copies.
func comparesCounts(plan *study.Plan) bool {
	return plan.Design.Order != OrderUnpaired && slices.ContainsFunc(plan.Workloads, func(w study.Workload) bool { return len(w.CountSeries()) > 0 })
}

// withinKey is a metric of a workload at the levels of a series of counts.
type withinKey struct{ workload, metric, rest, by string }

// Growth is the increase of a total over all copies with each additional copy,
// such as the memory of an additional instance. Each block gives one Theil-Sen
// slope over its levels.
type Growth struct {
	Workload    string `json:"workload"`
	Level       string `json:"level,omitempty"` // of the other swept parameters
	Metric      string `json:"metric"`
	Unit        string `json:"unit"`
	Better      string `json:"better"`
	Environment string `json:"environment"`
	Label       string `json:"label,omitempty"`
	Baseline    string `json:"baseline"`
	N           int    `json:"n"` // blocks with a slope
	Confidence  float64
	// Each is the increase per copy, in the unit of the metric; Least and Most are
	// the range over the blocks.
	Each        stats.Interval
	Least, Most float64
	// Ratio is Each over the baseline's, from the Paired blocks in which both
	// grew; NaN for the baseline itself.
	Ratio  stats.Interval
	Paired int
}

// Growths returns the growth of all metrics that add up over copies and are
// primary, or are measured at a start.
func Growths(plan *study.Plan, trials []rundir.Trial, facts map[string]rundir.EnvironmentFacts) (all []Growth) {
	if !comparesCounts(plan) {
		return nil
	}
	for _, w := range plan.Workloads {
		for _, series := range w.CountSeries() {
			for _, m := range metricsOf(w.Pack) {
				if series.By != study.ByInstances || !m.Additive() || !m.Primary && !w.Pack.Startup {
					continue
				}
				base := slopes(w, series, m, plan.Baseline, trials)
				for _, name := range usable(plan, facts) {
					own := slopes(w, series, m, name, trials)
					if len(own) == 0 {
						continue
					}
					g := Growth{Workload: w.Name, Level: series.Rest(), Metric: m.Name, Unit: m.Unit, Better: m.Better,
						Environment: name, Label: facts[name].Label, Baseline: plan.Baseline, Confidence: float64(plan.Design.Confidence)}
					g.fill(own, base)
					all = append(all, g)
				}
			}
		}
	}
	return all
}

// slopes returns, per block, the slope of one metric in one environment by the
// estimator of Theil (1950) and Sen (1968).
func slopes(w study.Workload, series study.CountSeries, m workload.Metric, environment string, trials []rundir.Trial) map[int]float64 {
	counts, figures := map[int][]float64{}, map[int][]float64{}
	for _, t := range trials {
		if t.Workload != w.Name || t.Environment != environment {
			continue
		}
		at := slices.IndexFunc(series.Levels, func(l study.Level) bool { return l.Name == t.Level })
		if v, ok, _ := valueOf(t, m.Name); ok && at >= 0 {
			counts[t.Block] = append(counts[t.Block], float64(series.Count(series.Levels[at])))
			figures[t.Block] = append(figures[t.Block], v)
		}
	}
	found := map[int]float64{}
	for block := range counts {
		if slope := stats.Slope(counts[block], figures[block]); !math.IsNaN(slope) {
			found[block] = slope
		}
	}
	return found
}

func (g *Growth) fill(own, base map[int]float64) {
	var values, ratios []float64
	for _, block := range slices.Sorted(maps.Keys(own)) {
		slope := own[block]
		values = append(values, slope)
		if other := base[block]; slope > 0 && other > 0 {
			ratios = append(ratios, math.Log(slope/other))
		}
	}
	alpha := 1 - g.Confidence
	g.N, g.Each = len(values), ofValues(values, alpha)
	g.Least, g.Most = slices.Min(values), slices.Max(values)
	g.Ratio = stats.Interval{Estimate: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}
	if g.Environment != g.Baseline {
		g.Paired, g.Ratio = len(ratios), hodgesLehmann(ratios, alpha)
	}
	g.Ratio = stats.Interval{Estimate: math.Exp(g.Ratio.Estimate), Low: math.Exp(g.Ratio.Low), High: math.Exp(g.Ratio.High)}
}

// hodgesLehmann is the estimate of Hodges and Lehmann (1963) with its interval,
// which is unbounded below stats.LeastBlocks.
func hodgesLehmann(values []float64, alpha float64) stats.Interval {
	if len(values) < stats.LeastBlocks {
		return stats.Interval{Estimate: stats.Median(values), Low: math.Inf(-1), High: math.Inf(1)}
	}
	return stats.HodgesLehmann(values, alpha)
}

// ofValues is the same for the values of successive blocks, in their order.
func ofValues(values []float64, alpha float64) stats.Interval {
	if len(values) < stats.LeastBlocks {
		return hodgesLehmann(values, alpha)
	}
	return stats.Value(values, alpha)
}

// Bounded says whether there is an interval to show.
func (g Growth) Bounded() bool { return g.Each.Bounded() }

// MarshalJSON writes an end without a bound as null, as a contrast does.
func (g Growth) MarshalJSON() ([]byte, error) {
	ratio := span{finite(g.Ratio.Estimate), finite(g.Ratio.Low), finite(g.Ratio.High)}
	if ratio.High == nil {
		ratio.Low = nil // exp(-∞) is 0, and would look like a bound
	}
	return json.Marshal(struct {
		Workload    string  `json:"workload"`
		Level       string  `json:"level,omitempty"`
		Metric      string  `json:"metric"`
		Unit        string  `json:"unit"`
		Better      string  `json:"better"`
		Environment string  `json:"environment"`
		Label       string  `json:"label,omitempty"`
		Baseline    string  `json:"baseline"`
		N           int     `json:"n"`
		Confidence  float64 `json:"confidence"`
		Each        span    `json:"each"`
		Least       float64 `json:"least"`
		Most        float64 `json:"most"`
		Ratio       span    `json:"ratio"`
		Paired      int     `json:"paired"`
	}{g.Workload, g.Level, g.Metric, g.Unit, g.Better, g.Environment, g.Label, g.Baseline, g.N, g.Confidence,
		span{finite(g.Each.Estimate), finite(g.Each.Low), finite(g.Each.High)}, g.Least, g.Most, ratio, g.Paired})
}
