package anomaly

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/workload"
)

const (
	// widerBy is the least ratio of the interquartile range to that of the
	// baseline for a finding. Two normal samples of ten with one standard deviation
	// reach it in less than 0.5%.
	widerBy = 6
	// agree is the largest distance of best results that count as equal.
	agree = .001
	// constantWithin is the largest range of all results that counts as a constant.
	constantWithin = .001
	// fasterBy is the factor from which a CPU-bound value cannot be better than the
	// baseline because of the environment.
	fasterBy = 1.4
	// daysApart is the distance in time from which the machine may have changed.
	daysApart = 24 * time.Hour
)

// spread finds environments whose results vary far more than those of the
// baseline.
func (c *place) spread(samples []sample, base sample) Remark {
	other := stats.Spread(base.logs)
	var wide []Spreading
	for _, s := range samples {
		own := stats.Spread(s.logs)
		if min(len(s.values), len(base.values)) >= 8 && own >= c.margin() && own >= widerBy*other {
			wide = append(wide, Spreading{s.environment, math.Expm1(own)})
		}
	}
	if len(wide) == 0 {
		return nil
	}
	return Spreads{wide, Spreading{base.environment, math.Expm1(other)}}
}

// best is the logarithm of the best result.
func best(s sample, m workload.Metric) float64 {
	if m.Better == "higher" {
		return slices.Max(s.logs)
	}
	return slices.Min(s.logs)
}

// sameBest finds a difference that is not always present: the overhead of an
// environment is in every result.
func (c *place) sameBest(s, base sample, m workload.Metric) Remark {
	if min(len(s.values), len(base.values)) < 6 {
		return nil
	}
	gap := math.Abs(best(s, m) - best(base, m))
	middle := stats.Median(s.logs) - stats.Median(base.logs)
	shift := stats.Shift(s.logs, base.logs, .10)
	if gap > c.margin()/4 || math.Abs(middle) < c.margin() || !shift.Bounded() || !shift.ExcludesZero() {
		return nil
	}
	return Bests{base.environment, math.Exp(best(s, m)), math.Exp(best(base, m)), math.Expm1(middle)}
}

// sharedLimit finds environments whose best results share a bound.
func (c *place) sharedLimit(samples []sample, m workload.Metric) Remark {
	if m.Better != "higher" {
		return nil
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
		return nil
	}
	return Limit{names, math.Exp(top)}
}

func (c *place) constant(samples []sample) Remark {
	var all []float64
	for _, s := range samples {
		all = append(all, s.logs...)
	}
	if len(samples) < 2 || len(all) < 12 || slices.Max(all)-slices.Min(all) > constantWithin {
		return nil
	}
	return Same{len(all), math.Expm1(slices.Max(all) - slices.Min(all))}
}

// cores finds CPU-bound values that are better than an environment can explain.
func (c *place) cores(s, base sample, m workload.Metric) Remark {
	if c.stresses != "cpu" {
		return nil
	}
	ratio := math.Exp(stats.Median(s.logs) - stats.Median(base.logs))
	if m.Better == "lower" {
		ratio = 1 / ratio
	}
	if ratio < fasterBy {
		return nil
	}
	return Factor{base.environment, ratio}
}

// settings compares the settings that the tool printed. Those that differ within one
// environment are results of different work in one heap: levels sort them.
func (c *place) settings() []Finding {
	byName := map[string]map[string]map[string][]int{} // setting → value → environment → results
	for _, t := range c.trials {
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
	var mixed Work
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		values := byName[name]
		if len(values) < 2 {
			continue
		}
		setting := Setting{name, lists.Map(numericOrder(slices.Collect(maps.Keys(values))), func(value string) Choice { return Choice{value, c.whose(values, value)} })}
		if within(values) {
			mixed = append(mixed, setting)
		} else {
			all = c.add(all, "", workload.Metric{}, Settings, setting)
		}
	}
	if len(mixed) > 0 {
		all = c.add(all, "", workload.Metric{}, Settings, mixed)
	}
	return all
}

// within is whether one environment has several values of a setting.
func within(values map[string]map[string][]int) bool {
	seen := map[string]bool{}
	for _, environments := range values {
		for name := range environments {
			if seen[name] {
				return true
			}
			seen[name] = true
		}
	}
	return false
}

// numericOrder sorts numbers by their values, and before other text.
func numericOrder(values []string) []string {
	slices.SortFunc(values, func(a, b string) int {
		x, wrongX := strconv.ParseFloat(a, 64)
		y, wrongY := strconv.ParseFloat(b, 64)
		switch {
		case wrongX == nil && wrongY == nil && x != y:
			return cmp.Compare(x, y)
		case wrongX == nil && wrongY != nil:
			return -1
		case wrongX != nil && wrongY == nil:
			return 1
		}
		return strings.Compare(a, b)
	})
	return values
}

// whose lists the environments with a value of a setting, with their results where others
// of the same environment have another value.
func (c *place) whose(values map[string]map[string][]int, value string) (all []Holder) {
	for _, e := range c.plan.Environments {
		blocks, ok := values[value][e.Name]
		if !ok {
			continue
		}
		holder := Holder{Environment: e.Name}
		for other := range values {
			if _, both := values[other][e.Name]; both && other != value {
				holder.Results = blocks
			}
		}
		all = append(all, holder)
	}
	return all
}

// apart finds environments that were measured days before or after the baseline.
func (c *place) apart(imported *rundir.Import) Remark {
	first := map[string]time.Time{}
	for _, f := range imported.Files {
		if f.Workload == c.Workload && c.has(f) && !f.Taken.IsZero() {
			if t, ok := first[f.Environment]; !ok || f.Taken.Before(t) {
				first[f.Environment] = f.Taken
			}
		}
	}
	base, ok := first[c.plan.Baseline]
	if !ok {
		return nil
	}
	far := Distances{Baseline: c.plan.Baseline}
	for _, e := range c.plan.Environments {
		t, ok := first[e.Name]
		if d := t.Sub(base); ok && d.Abs() >= daysApart {
			far.Each = append(far.Each, Distance{e.Name, d})
		}
	}
	if len(far.Each) == 0 {
		return nil
	}
	return far
}

// has is whether results of a file are in the cell: a file may have several levels.
func (c *place) has(f rundir.ImportedFile) bool {
	return slices.ContainsFunc(c.trials, func(t *rundir.Trial) bool {
		return t.Environment == f.Environment && t.Source != nil && t.Source.File == f.File
	})
}
