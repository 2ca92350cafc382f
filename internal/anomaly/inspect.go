// Package anomaly looks at the figures of a run for what a mean or a median
// hides: two modes, a drift, a result that lies apart, a figure that cannot
// vary; and, of imported results, for what differs between the sides besides
// the environment. What it finds is said beside the verdicts and changes none.
//
// It must not know how figures were made, nor how a report looks: it is handed
// the function that writes a figure.
package anomaly

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/workload"
)

// Finding is one remark about the figures.
type Finding struct {
	Code        string `json:"code"`
	Environment string `json:"environment,omitempty"` // "" is about all of them
	Workload    string `json:"workload"`
	Level       string `json:"level,omitempty"`
	Metric      string `json:"metric,omitempty"` // "" is about all of them
	Text        string `json:"text"`
}

// The codes of findings.
const (
	TwoModes    = "two-modes"
	Drift       = "drift"
	Alone       = "alone"
	Spread      = "spread"       // far wider than the baseline's
	SameBest    = "same-best"    // the best results agree, the middle does not
	SharedLimit = "shared-limit" // the best results of several environments agree
	Constant    = "constant"     // all results of all environments agree
	Cores       = "cores"        // better by a factor that more cores would give
	Settings    = "settings"     // the tool says that it ran in another way
	Apart       = "apart"        // taken days apart
)

// The levels of the test for a drift. A run of tare's own has many comparisons
// and is interleaved besides, so only what is plain is said of it.
const (
	driftLevel    = .01
	ownDriftLevel = .001
)

// Run looks at all primary metrics of a run. figure writes a figure with its
// unit.
func Run(plan *study.Plan, trials []rundir.Trial, imported *rundir.Import, figure func(v float64, unit string) string) []Finding {
	var all []Finding
	for _, w := range plan.Workloads {
		for _, l := range w.Levels {
			p := &place{plan: plan, workload: w.Name, level: l.Name, stresses: w.Pack.Stresses, imported: imported != nil, figure: figure}
			for _, t := range trials {
				if t.Workload == w.Name && t.Level == l.Name {
					p.trials = append(p.trials, t)
				}
			}
			for _, m := range primary(w.Pack) {
				all = append(all, p.metric(m)...)
			}
			if imported != nil {
				all = append(all, p.settings()...)
				if text := p.apart(imported); text != "" {
					all = append(all, Finding{Apart, "", w.Name, l.Name, "", text})
				}
			}
		}
	}
	return all
}

func primary(p workload.Pack) []workload.Metric {
	var kept []workload.Metric
	for _, m := range p.Metrics {
		if m.Primary {
			kept = append(kept, m)
		}
	}
	if len(kept) == 0 {
		return p.Metrics
	}
	return kept
}

// place is a workload at a level.
type place struct {
	plan            *study.Plan
	workload, level string
	stresses        string
	imported        bool
	trials          []rundir.Trial
	figure          func(float64, string) string
}

// sample is one metric in one environment, in the order of the blocks; of an
// import the blocks are the results.
type sample struct {
	environment string
	values      []float64
	logs        []float64
	blocks      []int
}

func (p *place) samples(metric string) []sample {
	var all []sample
	for _, e := range p.plan.Environments {
		s := sample{environment: e.Name}
		for _, t := range p.trials {
			if v, ok := t.Metrics[metric]; ok && t.Environment == e.Name && t.Status == rundir.OK && v > 0 {
				s.values, s.blocks = append(s.values, v), append(s.blocks, t.Block)
				s.logs = append(s.logs, math.Log(v))
			}
		}
		if len(s.values) > 0 {
			all = append(all, s)
		}
	}
	return all
}

func (p *place) metric(m workload.Metric) []Finding {
	samples := p.samples(m.Name)
	if !p.imported {
		return p.ratios(m, samples)
	}
	add := func(all []Finding, environment, code, text string) []Finding {
		if text == "" {
			return all
		}
		return append(all, Finding{code, environment, p.workload, p.level, m.Name, text})
	}
	if text := p.constant(samples); text != "" {
		return add(nil, "", Constant, text)
	}
	var all []Finding
	for _, s := range samples {
		modes := p.modes(s, m.Unit)
		all = add(all, s.environment, TwoModes, modes)
		all = add(all, s.environment, Drift, p.drift(s))
		if modes == "" {
			all = add(all, s.environment, Alone, p.alone(s, m.Unit))
		}
	}
	base := slices.IndexFunc(samples, func(s sample) bool { return s.environment == p.plan.Baseline })
	if base >= 0 {
		all = add(all, "", Spread, p.spread(samples, samples[base]))
	}
	for _, s := range samples {
		if base >= 0 && s.environment != p.plan.Baseline {
			all = add(all, s.environment, SameBest, p.sameBest(s, samples[base], m))
			all = add(all, s.environment, Cores, p.cores(s, samples[base], m))
		}
	}
	return add(all, "", SharedLimit, p.sharedLimit(samples, m))
}

// ratios looks at a run of tare's own: at the ratios to the baseline, block by
// block, since what happens to the machine happens to both sides and is no
// remark about either.
func (p *place) ratios(m workload.Metric, samples []sample) []Finding {
	base := slices.IndexFunc(samples, func(s sample) bool { return s.environment == p.plan.Baseline })
	if base < 0 {
		return nil
	}
	var all []Finding
	for _, s := range samples {
		if s.environment == p.plan.Baseline {
			continue
		}
		r := sample{environment: s.environment}
		for i, block := range s.blocks {
			if j := slices.Index(samples[base].blocks, block); j >= 0 {
				d := s.logs[i] - samples[base].logs[j]
				r.logs, r.values, r.blocks = append(r.logs, d), append(r.values, math.Exp(d)), append(r.blocks, block)
			}
		}
		change := *p
		change.figure = func(ratio float64, _ string) string { return percent(ratio - 1) }
		for _, f := range []Finding{{Code: TwoModes, Text: change.modes(r, "")}, {Code: Drift, Text: change.drift(r)}} {
			if f.Text != "" {
				f.Environment, f.Workload, f.Level, f.Metric = s.environment, p.workload, p.level, m.Name
				f.Text = "the difference from " + p.plan.Baseline + " has " + f.Text
				all = append(all, f)
			}
		}
	}
	return all
}

// margin is what does not matter, as a log ratio.
func (p *place) margin() float64 { return math.Log1p(float64(p.plan.Design.Margin)) }

// noun is what blocks are called here.
func (p *place) noun() string {
	if p.imported {
		return "result"
	}
	return "block"
}

func (p *place) modes(s sample, unit string) string {
	boundary, two := stats.TwoModes(s.logs)
	if !two {
		return ""
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
	if math.Log(ratio) < p.margin() {
		return ""
	}
	text := fmt.Sprintf("two modes with nothing between them: %s at %s (%s) and %d at %s (%s), %.2f times as much; no mean and no median describes both",
		p.count(len(low)), p.span(low, unit), list(lows), len(high), p.span(high, unit), list(highs), ratio)
	if n := math.Round(ratio); n >= 2 && math.Abs(ratio/n-1) < .05 && p.imported {
		text += fmt.Sprintf("; was the number of cores or threads changed, which would give %.0f times?", n)
	}
	return text
}

func (p *place) count(n int) string {
	if n == 1 {
		return "1 " + p.noun()
	}
	return fmt.Sprintf("%d %ss", n, p.noun())
}

// span is from the least to the most; one figure where both look the same.
func (p *place) span(values []float64, unit string) string {
	least, most := p.figure(slices.Min(values), unit), p.figure(slices.Max(values), unit)
	if least == most {
		return least
	}
	return least + " to " + most
}

func (p *place) drift(s sample) string {
	t, level := stats.TrendOf(s.logs), driftLevel
	if !p.imported {
		level = ownDriftLevel
	}
	if t.P >= level || math.Abs(t.Total) < p.margin() {
		return ""
	}
	return fmt.Sprintf("a drift along the %ss: %s from the first of %d to the last (Mann-Kendall, p %s); the figures depend on when they were taken",
		p.noun(), percent(math.Expm1(t.Total)), len(s.values), probability(t.P))
}

func (p *place) alone(s sample, unit string) string {
	i := stats.Alone(s.logs)
	if i < 0 {
		return ""
	}
	rest := slices.Delete(slices.Clone(s.values), i, i+1)
	far := math.Abs(s.logs[i] - math.Log(stats.Median(rest)))
	if far < p.margin() {
		return ""
	}
	which := fmt.Sprintf("%s %d", p.noun(), s.blocks[i])
	if i == 0 && p.imported {
		which = "the first result"
	}
	text := fmt.Sprintf("%s lies apart from the other %d: %s against %s", which, len(rest), p.figure(s.values[i], unit), p.span(rest, unit))
	if i == 0 && p.imported {
		text += ", as after a cold start"
	}
	return text
}

// list prints 1, 2, 3, 7 as "1-3, 7".
func list(numbers []int) string {
	numbers = slices.Sorted(slices.Values(numbers))
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] <= numbers[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, strconv.Itoa(numbers[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", numbers[i], numbers[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

func percent(x float64) string { return fmt.Sprintf("%+.1f%%", 100*x) }

// share prints a share with two digits that say something.
func share(x float64) string {
	return strconv.FormatFloat(100*x, 'g', 2, 64) + "%"
}

func probability(p float64) string {
	if p < .001 {
		return "< 0.1%"
	}
	return "= " + share(p)
}
