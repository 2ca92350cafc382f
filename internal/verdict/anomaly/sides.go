package anomaly

import (
	"cmp"
	"fmt"
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
func (c *place) spread(samples []sample, base sample) string {
	other := stats.Spread(base.logs)
	var wide []string
	for _, s := range samples {
		own := stats.Spread(s.logs)
		if min(len(s.values), len(base.values)) >= 8 && own >= c.margin() && own >= widerBy*other {
			wide = append(wide, share(math.Expm1(own))+" in "+s.environment)
		}
	}
	if len(wide) == 0 {
		return ""
	}
	return fmt.Sprintf("the interquartile range of the results is %s, and %s in %s: the environments differ in their variation, or the machine did",
		strings.Join(wide, ", "), share(math.Expm1(other)), base.environment)
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
func (c *place) sameBest(s, base sample, m workload.Metric) string {
	if min(len(s.values), len(base.values)) < 6 {
		return ""
	}
	gap := math.Abs(best(s, m) - best(base, m))
	middle := stats.Median(s.logs) - stats.Median(base.logs)
	shift := stats.Shift(s.logs, base.logs, .10)
	if gap > c.margin()/4 || math.Abs(middle) < c.margin() || !shift.Bounded() || !shift.ExcludesZero() {
		return ""
	}
	return fmt.Sprintf("its best result equals that of %s (%s and %s), but its median is %s away: the difference is not always present, so the environment alone hardly causes it",
		base.environment, c.figure(math.Exp(best(s, m)), m.Unit), c.figure(math.Exp(best(base, m)), m.Unit), percent(math.Expm1(middle)))
}

// sharedLimit finds environments whose best results share a bound.
func (c *place) sharedLimit(samples []sample, m workload.Metric) string {
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
	return fmt.Sprintf("the best results of %s agree to %s at %s: a shared limit (a network line, a set rate, a core at its full clock) bounds them, and hides which of them is better",
		strings.Join(names, ", "), share(agree/2), c.figure(math.Exp(top), m.Unit))
}

func (c *place) constant(samples []sample) string {
	var all []float64
	for _, s := range samples {
		all = append(all, s.logs...)
	}
	if len(samples) < 2 || len(all) < 12 || slices.Max(all)-slices.Min(all) > constantWithin {
		return ""
	}
	return fmt.Sprintf("all %d results of all environments lie within %s: such a value was set (a rate, a duration) and not measured, so it shows no difference between environments",
		len(all), share(math.Max(math.Expm1(slices.Max(all)-slices.Min(all)), 1e-6)))
}

// cores finds CPU-bound values that are better than an environment can explain.
func (c *place) cores(s, base sample, m workload.Metric) string {
	if c.stresses != "cpu" {
		return ""
	}
	ratio := math.Exp(stats.Median(s.logs) - stats.Median(base.logs))
	if m.Better == "lower" {
		ratio = 1 / ratio
	}
	if ratio < fasterBy {
		return ""
	}
	return fmt.Sprintf("%.2f times as fast as %s: no environment makes CPU-bound work so much faster; check that the machine and the number of cores or threads were the same", ratio, base.environment)
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
	var swept, mixed []string
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		values := byName[name]
		if len(values) < 2 {
			continue
		}
		texts := numericOrder(slices.Collect(maps.Keys(values)))
		text := name + " differs: " + strings.Join(lists.Map(texts, func(value string) string { return value + " in " + c.whose(values, value) }), ", ")
		switch {
		case !within(values):
			all = append(all, c.finding(Settings, "", "", text+"; the values measure different work, not only different environments"))
			continue
		case len(values) > 2:
			text = name + " is " + orList(texts)
		}
		swept, mixed = append(swept, name), append(mixed, text)
	}
	if len(swept) > 0 {
		all = append(all, c.finding(Settings, "", "", fmt.Sprintf("results of one environment measure different work: %s. Import them with --level %s (in a manifest, levels: [%s]), which makes a level of each combination",
			strings.Join(mixed, "; "), strings.Join(swept, ","), strings.Join(swept, ", "))))
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

// orList lists values, of many only the first ones.
func orList(values []string) string {
	if len(values) > 8 {
		return fmt.Sprintf("%s or one of %d more", strings.Join(values[:8], ", "), len(values)-8)
	}
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// whose lists the environments with a value of a setting, and their results where
// others of the same environment have another value.
func (c *place) whose(values map[string]map[string][]int, value string) string {
	var names []string
	for _, e := range c.plan.Environments {
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

// apart finds environments that were measured days before or after the baseline.
func (c *place) apart(imported *rundir.Import) string {
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
		return ""
	}
	var far []string
	for _, e := range c.plan.Environments {
		t, ok := first[e.Name]
		if d := t.Sub(base); ok && d.Abs() >= daysApart {
			far = append(far, fmt.Sprintf("%s %.1f days %s", e.Name, d.Abs().Hours()/24, map[bool]string{true: "before", false: "after"}[d < 0]))
		}
	}
	if len(far) == 0 {
		return ""
	}
	return fmt.Sprintf("measured days apart, %s %s: the results do not tell whether machine, kernel and software were the same", strings.Join(far, ", "), c.plan.Baseline)
}

// has is whether results of a file are in the cell: a file may have several levels.
func (c *place) has(f rundir.ImportedFile) bool {
	return slices.ContainsFunc(c.trials, func(t *rundir.Trial) bool {
		return t.Environment == f.Environment && t.Source != nil && t.Source.File == f.File
	})
}
