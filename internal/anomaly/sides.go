package anomaly

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/workload"
)

const (
	// widerBy is how many times as wide as the baseline's the middle half of the
	// results must be. Two normal samples of ten with one standard deviation
	// reach it in less than 0.5%.
	widerBy = 6
	// agree is how close best results must be to be called the same.
	agree = .001
	// constantWithin is the range of all results that leaves nothing to compare.
	constantWithin = .001
	// fasterBy is from where on a CPU-bound figure cannot be better than the
	// baseline's because of the environment.
	fasterBy = 1.4
	// daysApart is from when on two environments met another machine.
	daysApart = 24 * time.Hour
)

// spread finds environments whose results scatter far more than the
// baseline's.
func (p *place) spread(samples []sample, base sample) string {
	other := stats.Spread(base.logs)
	var wide []string
	for _, s := range samples {
		own := stats.Spread(s.logs)
		if min(len(s.values), len(base.values)) >= 8 && own >= p.margin() && own >= widerBy*other {
			wide = append(wide, share(math.Expm1(own))+" in "+s.environment)
		}
	}
	if len(wide) == 0 {
		return ""
	}
	return fmt.Sprintf("the middle half of the results spreads over %s, and over %s in %s: the environments differ in how steady they are, or the machine did",
		strings.Join(wide, ", "), share(math.Expm1(other)), base.environment)
}

// best is the best result as a log: what the machine can do there.
func best(s sample, m workload.Metric) float64 {
	if m.Better == "higher" {
		return slices.Max(s.logs)
	}
	return slices.Min(s.logs)
}

// sameBest finds a difference that is not always there: an environment that
// costs something costs it in every result.
func (p *place) sameBest(s, base sample, m workload.Metric) string {
	if min(len(s.values), len(base.values)) < 6 {
		return ""
	}
	gap := math.Abs(best(s, m) - best(base, m))
	middle := stats.Median(s.logs) - stats.Median(base.logs)
	shift := stats.Shift(s.logs, base.logs, .10)
	if gap > p.margin()/4 || math.Abs(middle) < p.margin() || !shift.Bounded() || !shift.ExcludesZero() {
		return ""
	}
	return fmt.Sprintf("its best result is that of %s (%s and %s), and its median lies %s away: what makes the difference is not always there, so it is hardly the environment alone",
		base.environment, p.figure(math.Exp(best(s, m)), m.Unit), p.figure(math.Exp(best(base, m)), m.Unit), percent(math.Expm1(middle)))
}

// sharedLimit finds that several environments meet at one bound.
func (p *place) sharedLimit(samples []sample, m workload.Metric) string {
	if m.Better != "higher" {
		return ""
	}
	top := math.Inf(-1)
	for _, s := range samples {
		top = math.Max(top, best(s, m))
	}
	var names []string
	for _, s := range samples {
		if len(s.values) >= 6 && top-best(s, m) < agree/2 {
			names = append(names, s.environment)
		}
	}
	if len(names) < 3 {
		return ""
	}
	return fmt.Sprintf("the best results of %s agree to %s at %s: a limit that they share (a line, a set rate, a core at its full clock) holds them, and above it nothing shows which of them is better",
		strings.Join(names, ", "), share(agree/2), p.figure(math.Exp(top), m.Unit))
}

func (p *place) constant(samples []sample) string {
	var all []float64
	for _, s := range samples {
		all = append(all, s.logs...)
	}
	if len(samples) < 2 || len(all) < 12 || slices.Max(all)-slices.Min(all) > constantWithin {
		return ""
	}
	return fmt.Sprintf("all %d results of all environments lie within %s: such a figure was set (a rate, a duration) and not measured, and no environment can show in it",
		len(all), share(math.Max(math.Expm1(slices.Max(all)-slices.Min(all)), 1e-6)))
}

// cores finds a CPU-bound figure that is better than an environment can make
// it.
func (p *place) cores(s, base sample, m workload.Metric) string {
	if p.stresses != "cpu" {
		return ""
	}
	ratio := math.Exp(stats.Median(s.logs) - stats.Median(base.logs))
	if m.Better == "lower" {
		ratio = 1 / ratio
	}
	if ratio < fasterBy {
		return ""
	}
	return fmt.Sprintf("%.2f times as fast as %s: no environment makes CPU-bound work so much faster; was the number of cores or threads the same, and the machine?", ratio, base.environment)
}

// settings compares what the tool printed about how it ran.
func (p *place) settings() []Finding {
	byName := map[string]map[string]map[string][]int{} // setting → value → environment → results
	for _, t := range p.trials {
		if t.Source == nil {
			continue
		}
		for name, value := range t.Source.Settings {
			if byName[name] == nil {
				byName[name] = map[string]map[string][]int{}
			}
			if byName[name][value] == nil {
				byName[name][value] = map[string][]int{}
			}
			byName[name][value][t.Environment] = append(byName[name][value][t.Environment], t.Block)
		}
	}
	var all []Finding
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		values := byName[name]
		if len(values) < 2 {
			continue
		}
		var parts []string
		for _, value := range slices.Sorted(maps.Keys(values)) {
			parts = append(parts, value+" in "+p.whose(values, value))
		}
		all = append(all, Finding{Settings, "", p.workload, p.level, "",
			fmt.Sprintf("%s differs: %s; the figures are of different work, not only of different environments", name, strings.Join(parts, ", "))})
	}
	return all
}

// whose are the environments that had a value, with the results where others of
// the same environment had another one.
func (p *place) whose(values map[string]map[string][]int, value string) string {
	var names []string
	for _, e := range p.plan.Environments {
		blocks, ok := values[value][e.Name]
		if !ok {
			continue
		}
		text := e.Name
		for other := range values {
			if _, both := values[other][e.Name]; both && other != value {
				text = fmt.Sprintf("%s (results %s)", e.Name, list(blocks))
			}
		}
		names = append(names, text)
	}
	return strings.Join(names, " and ")
}

// apart finds environments whose results were taken days from the baseline's.
func (p *place) apart(imported *rundir.Import) string {
	first := map[string]time.Time{}
	for _, f := range imported.Files {
		if f.Workload == p.workload && f.Level == p.level && !f.Taken.IsZero() {
			if t, ok := first[f.Environment]; !ok || f.Taken.Before(t) {
				first[f.Environment] = f.Taken
			}
		}
	}
	base, ok := first[p.plan.Baseline]
	if !ok {
		return ""
	}
	var far []string
	for _, e := range p.plan.Environments {
		t, ok := first[e.Name]
		if d := t.Sub(base); ok && d.Abs() >= daysApart {
			far = append(far, fmt.Sprintf("%s %.1f days %s", e.Name, d.Abs().Hours()/24, map[bool]string{true: "before", false: "after"}[d < 0]))
		}
	}
	if len(far) == 0 {
		return ""
	}
	return fmt.Sprintf("taken days apart, %s %s: whether machine, kernel and software were the same then, the results do not say", strings.Join(far, ", "), p.plan.Baseline)
}
