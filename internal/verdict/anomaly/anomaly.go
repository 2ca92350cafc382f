// Package anomaly searches the values of a run for what a mean or a median
// hides: two modes, drift, an outlier, a constant; and imported results for what
// differs between the sides other than the environment. Findings are shown with
// the verdicts and change none.
//
// It must not know how values were measured, nor how a report looks: the function
// that formats a value is an argument of the words.
package anomaly

import (
	"math"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/workload"
)

// Finding is one remark about the values.
type Finding struct {
	subject.Figure // without an environment or a metric it is about all of them
	Code           string
	Unit           string // of the metric
	// Against is the baseline whose ratios the values are, block by block; "" for the values
	// themselves. Imported: they are results, and not blocks.
	Against  string
	Imported bool
	Remark
}

// Remark is what was found, as numbers and names: a type for each code.
type Remark interface{ words(in terms) string }

// The codes of findings.
const (
	TwoModes    = "two-modes"
	Drift       = "drift"
	Alone       = "alone"
	Spread      = "spread"       // far wider than that of the baseline
	SameBest    = "same-best"    // the best results agree, the medians do not
	SharedLimit = "shared-limit" // the best results of several environments agree
	Constant    = "constant"     // all results of all environments agree
	Cores       = "cores"        // better by a factor that more cores explain
	Settings    = "settings"     // the tool ran with other settings
	Apart       = "apart"        // measured days apart
)

// The significance levels of the test for drift (Mann 1945, Kendall 1975). A run
// that tare made has many comparisons and is interleaved, so its level is stricter.
const (
	driftLevel    = .01
	ownDriftLevel = .001
)

// Run returns the findings on all primary metrics of a run.
func Run(plan *study.Plan, trials []rundir.Trial, imported *rundir.Import) []Finding {
	var all []Finding
	for _, w := range plan.Workloads {
		for _, l := range w.Levels {
			c := &place{Place: subject.Place{Workload: w.Name, Level: l.Name}, plan: plan, stresses: w.Pack.Stresses, imported: imported != nil}
			for i := range trials {
				if t := &trials[i]; t.Cell().Place() == c.Place {
					c.trials = append(c.trials, t)
				}
			}
			for _, m := range primary(w.Pack) {
				all = append(all, c.metric(m)...)
			}
			if imported != nil {
				all = append(all, c.settings()...)
				all = c.add(all, "", workload.Metric{}, Apart, c.apart(imported))
			}
		}
	}
	return all
}

func primary(p workload.Pack) []workload.Metric {
	kept := lists.Filter(p.Metrics, func(m workload.Metric) bool { return m.Primary })
	if len(kept) == 0 {
		return p.Metrics
	}
	return kept
}

// place is the trials of one workload at one level.
type place struct {
	subject.Place
	plan     *study.Plan
	stresses string
	imported bool
	trials   []*rundir.Trial
}

// add adds a finding on an environment and a metric, "" for all; nil is none.
func (c *place) add(all []Finding, environment string, m workload.Metric, code string, found Remark) []Finding {
	if found == nil {
		return all
	}
	return append(all, Finding{Figure: c.In(environment).Of(m.Name), Code: code, Unit: m.Unit, Imported: c.imported, Remark: found})
}

// sample is the values of one metric in one environment, in the order of the
// blocks; for an import, of the results.
type sample struct {
	environment string
	values      []float64
	logs        []float64
	rounds      []stats.Logs // of the rounds alone
	blocks      []int
}

func (s sample) at(i int) stats.Logs {
	logs := s.rounds[i]
	logs.Trial = s.logs[i]
	return logs
}

func (c *place) samples(metric string) []sample {
	var all []sample
	for _, e := range c.plan.Environments {
		s := sample{environment: e.Name}
		for _, t := range c.trials {
			if v, ok := t.Metrics[metric]; ok && t.Environment == e.Name && t.Status == rundir.OK && v > 0 {
				s.values, s.blocks = append(s.values, v), append(s.blocks, t.Block)
				s.logs, s.rounds = append(s.logs, math.Log(v)), append(s.rounds, t.RoundLogs(metric))
			}
		}
		if len(s.values) > 0 {
			all = append(all, s)
		}
	}
	return all
}

func (c *place) metric(m workload.Metric) []Finding {
	samples := c.samples(m.Name)
	if !c.imported {
		return c.ratios(m, samples)
	}
	if found := c.constant(samples); found != nil {
		return c.add(nil, "", m, Constant, found)
	}
	var all []Finding
	for _, s := range samples {
		modes := c.modes(s)
		all = c.add(all, s.environment, m, TwoModes, modes)
		all = c.add(all, s.environment, m, Drift, c.drift(s))
		if modes == nil {
			all = c.add(all, s.environment, m, Alone, c.alone(s))
		}
	}
	base := slices.IndexFunc(samples, func(s sample) bool { return s.environment == c.plan.Baseline })
	if base >= 0 {
		all = c.add(all, "", m, Spread, c.spread(samples, samples[base]))
	}
	for _, s := range samples {
		if base >= 0 && s.environment != c.plan.Baseline {
			all = c.add(all, s.environment, m, SameBest, c.sameBest(s, samples[base], m))
			all = c.add(all, s.environment, m, Cores, c.cores(s, samples[base], m))
		}
	}
	return c.add(all, "", m, SharedLimit, c.sharedLimit(samples, m))
}

// ratios returns the findings on a run that tare made: on the ratios to the
// baseline, block by block, since a change of the machine affects both sides.
func (c *place) ratios(m workload.Metric, samples []sample) []Finding {
	base := slices.IndexFunc(samples, func(s sample) bool { return s.environment == c.plan.Baseline })
	if base < 0 {
		return nil
	}
	at := map[int]int{} // the baseline's values, by block
	for i, block := range slices.Backward(samples[base].blocks) {
		at[block] = i
	}
	var all []Finding
	for _, s := range samples {
		if s.environment == c.plan.Baseline {
			continue
		}
		r := sample{environment: s.environment}
		for i, block := range s.blocks {
			j, paired := at[block]
			if !paired {
				continue
			}
			sum := stats.SumOf(stats.Difference(1, s.at(i), samples[base].at(j)))
			if d := sum.Log; !sum.Sparse() {
				r.logs, r.values, r.blocks = append(r.logs, d), append(r.values, math.Exp(d)), append(r.blocks, block)
			}
		}
		found := c.add(c.add(nil, s.environment, m, TwoModes, c.modes(r)), s.environment, m, Drift, c.drift(r))
		for i := range found {
			found[i].Against = c.plan.Baseline
		}
		all = append(all, found...)
	}
	return all
}

// margin is the margin of equivalence as a log ratio.
func (c *place) margin() float64 { return math.Log1p(float64(c.plan.Design.Margin)) }

// rangeOf is the range of some of the values, and the blocks that they are of.
func rangeOf(values []float64, blocks []int) Range {
	return Range{len(values), slices.Min(values), slices.Max(values), blocks}
}

func (c *place) modes(s sample) Remark {
	boundary, two := stats.TwoModes(s.logs)
	if !two {
		return nil
	}
	var low, high []float64
	var lows, highs []int
	for i, v := range s.logs {
		if v < boundary {
			low, lows = append(low, s.values[i]), append(lows, s.blocks[i])
		} else {
			high, highs = append(high, s.values[i]), append(highs, s.blocks[i])
		}
	}
	ratio := stats.Median(high) / stats.Median(low)
	if math.Log(ratio) < c.margin() {
		return nil
	}
	return Modes{rangeOf(low, lows), rangeOf(high, highs), ratio}
}

func (c *place) drift(s sample) Remark {
	t, level := stats.TrendOf(s.logs), driftLevel
	if !c.imported {
		level = ownDriftLevel
	}
	if t.P >= level || math.Abs(t.Total) < c.margin() {
		return nil
	}
	return Trend{len(s.values), t}
}

func (c *place) alone(s sample) Remark {
	i := stats.Alone(s.logs)
	if i < 0 {
		return nil
	}
	rest := slices.Delete(slices.Clone(s.values), i, i+1)
	far := math.Abs(s.logs[i] - math.Log(stats.Median(rest)))
	if far < c.margin() {
		return nil
	}
	return Outlier{s.blocks[i], i == 0, s.values[i], rangeOf(rest, nil)}
}
