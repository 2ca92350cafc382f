// Package anomaly searches the values of a run for what a mean or a median
// hides: two modes, drift, an outlier, a constant; and imported results for what
// differs between the sides other than the environment. Findings are shown with
// the verdicts and change none.
//
// It must not know how values were measured, nor how a report looks: the function
// that formats a value is an argument.
package anomaly

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/workload"
)

// Finding is one remark about the values.
type Finding struct {
	Code        string `json:"code"`
	Environment string `json:"environment,omitempty"` // "" means all of them
	Workload    string `json:"workload"`
	Level       string `json:"level,omitempty"`
	Metric      string `json:"metric,omitempty"` // "" means all of them
	Text        string `json:"text"`
}

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

// Run returns the findings on all primary metrics of a run. figure formats a value
// with its unit.
func Run(plan *study.Plan, trials []rundir.Trial, imported *rundir.Import, figure func(v float64, unit string) string) []Finding {
	var all []Finding
	for _, w := range plan.Workloads {
		for _, l := range w.Levels {
			c := &place{Place: subject.Place{Workload: w.Name, Level: l.Name}, plan: plan, stresses: w.Pack.Stresses, imported: imported != nil, figure: figure}
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
				if text := c.apart(imported); text != "" {
					all = append(all, c.finding(Apart, "", "", text))
				}
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
	figure   func(float64, string) string
}

func (c *place) finding(code, environment, metric, text string) Finding {
	return Finding{code, environment, c.Workload, c.Level, metric, text}
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
	add := func(all []Finding, environment, code, text string) []Finding {
		if text == "" {
			return all
		}
		return append(all, c.finding(code, environment, m.Name, text))
	}
	if text := c.constant(samples); text != "" {
		return add(nil, "", Constant, text)
	}
	var all []Finding
	for _, s := range samples {
		modes := c.modes(s, m.Unit)
		all = add(all, s.environment, TwoModes, modes)
		all = add(all, s.environment, Drift, c.drift(s))
		if modes == "" {
			all = add(all, s.environment, Alone, c.alone(s, m.Unit))
		}
	}
	base := slices.IndexFunc(samples, func(s sample) bool { return s.environment == c.plan.Baseline })
	if base >= 0 {
		all = add(all, "", Spread, c.spread(samples, samples[base]))
	}
	for _, s := range samples {
		if base >= 0 && s.environment != c.plan.Baseline {
			all = add(all, s.environment, SameBest, c.sameBest(s, samples[base], m))
			all = add(all, s.environment, Cores, c.cores(s, samples[base], m))
		}
	}
	return add(all, "", SharedLimit, c.sharedLimit(samples, m))
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
		change := *c
		change.figure = func(ratio float64, _ string) string { return percent(ratio - 1) }
		for _, f := range []struct{ code, text string }{{TwoModes, change.modes(r, "")}, {Drift, change.drift(r)}} {
			if f.text != "" {
				all = append(all, c.finding(f.code, s.environment, m.Name, "difference from "+c.plan.Baseline+": "+f.text))
			}
		}
	}
	return all
}

// margin is the margin of equivalence as a log ratio.
func (c *place) margin() float64 { return math.Log1p(float64(c.plan.Design.Margin)) }

// noun is the word for a block: the blocks of an import are its results.
func (c *place) noun() string {
	if c.imported {
		return "result"
	}
	return "block"
}

func (c *place) modes(s sample, unit string) string {
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
	if math.Log(ratio) < c.margin() {
		return ""
	}
	text := fmt.Sprintf("two modes without values in between: %s at %s (%s) and %d at %s (%s), a factor of %.2f apart; neither mean nor median describes both",
		c.count(len(low)), c.span(low, unit), list(lows), len(high), c.span(high, unit), list(highs), ratio)
	if n := math.Round(ratio); n >= 2 && math.Abs(ratio/n-1) < .05 && c.imported {
		text += fmt.Sprintf("; check whether the number of cores or threads changed, which would give a factor of %.0f", n)
	}
	return text
}

func (c *place) count(n int) string {
	if n == 1 {
		return "1 " + c.noun()
	}
	return fmt.Sprintf("%d %ss", n, c.noun())
}

// span formats the range of the values; one value if both ends look the same.
func (c *place) span(values []float64, unit string) string {
	least, most := c.figure(slices.Min(values), unit), c.figure(slices.Max(values), unit)
	if least == most {
		return least
	}
	return least + " to " + most
}

func (c *place) drift(s sample) string {
	t, level := stats.TrendOf(s.logs), driftLevel
	if !c.imported {
		level = ownDriftLevel
	}
	if t.P >= level || math.Abs(t.Total) < c.margin() {
		return ""
	}
	return fmt.Sprintf("drift over the %ss: %s from the first of %d to the last (Mann-Kendall, p %s); the values depend on the time of measurement",
		c.noun(), percent(math.Expm1(t.Total)), len(s.values), probability(t.P))
}

func (c *place) alone(s sample, unit string) string {
	i := stats.Alone(s.logs)
	if i < 0 {
		return ""
	}
	rest := slices.Delete(slices.Clone(s.values), i, i+1)
	far := math.Abs(s.logs[i] - math.Log(stats.Median(rest)))
	if far < c.margin() {
		return ""
	}
	which := fmt.Sprintf("%s %d", c.noun(), s.blocks[i])
	if i == 0 && c.imported {
		which = "the first result"
	}
	text := fmt.Sprintf("%s is far from the other %d: %s vs %s", which, len(rest), c.figure(s.values[i], unit), c.span(rest, unit))
	if i == 0 && c.imported {
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

// share formats a share with two significant digits.
func share(x float64) string {
	return strconv.FormatFloat(100*x, 'g', 2, 64) + "%"
}

func probability(p float64) string {
	if p < .001 {
		return "< 0.1%"
	}
	return "= " + share(p)
}
