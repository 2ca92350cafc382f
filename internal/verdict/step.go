package verdict

import (
	"math"
	"slices"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/workload"
)

// comparison is one pair of environments, or several pairs whose mean is compared.
type comparison struct {
	part, name string
	stepped    bool
	pairs      []pair
}

type pair struct{ environment, base string }

// comparisons returns the comparisons of a plan among its usable environments:
// those of its steps or, without steps, every environment with the baseline. The
// steps of one part are one comparison.
func comparisons(plan *study.Plan, usable []string) (all []comparison) {
	if len(plan.Steps) == 0 {
		for _, e := range plan.Environments {
			if slices.Contains(usable, e.Name) && e.Name != plan.Baseline {
				all = append(all, comparison{pairs: []pair{{e.Name, plan.Baseline}}})
			}
		}
		return all
	}
	for _, s := range plan.Steps {
		if !slices.Contains(usable, s.Environment) || !slices.Contains(usable, s.Base) {
			continue
		}
		i := slices.IndexFunc(all, func(k comparison) bool { return k.part == s.Part })
		if i < 0 {
			i, all = len(all), append(all, comparison{part: s.Part, name: s.Name, stepped: true})
		}
		all[i].pairs = append(all[i].pairs, pair{s.Environment, s.Base})
	}
	return all
}

// family is the number of comparisons that share an error rate with this one: all
// environments, or all parts. The total of a ladder has an error rate of its own,
// as it would have without rungs in between.
func (k comparison) family(all []comparison) (m int) {
	for _, other := range all {
		if other.whole() == k.whole() {
			m++
		}
	}
	return m
}

// whole reports whether this is the total of a ladder.
func (k comparison) whole() bool { return k.stepped && k.part == "" }

// byStep reports whether steps are compared, and not environments with the
// baseline.
func (b *Book) byStep() bool { return len(b.plan.Steps) > 0 }

// mark records in a contrast what it compares.
func (k comparison) mark(c *Contrast) {
	c.Baseline = k.pairs[0].base
	if k.stepped {
		c.Part, c.Name, c.Orders = k.part, k.name, len(k.pairs)
	}
}

// joined merges series: the geometric mean in the blocks that all of them have. It
// has no rounds; differences are made of those of the series.
func joined(all []*series) *series {
	if len(all) == 1 {
		return all[0]
	}
	one := &series{blocks: slices.Clone(all[0].blocks), attempts: slices.Clone(all[0].attempts)}
	for _, s := range all[1:] {
		lacks := func(blocks []int) func(int) bool {
			return func(b int) bool { _, has := slices.BinarySearch(blocks, b); return !has }
		}
		one.blocks = slices.DeleteFunc(one.blocks, lacks(s.blocks))
		one.attempts = slices.DeleteFunc(one.attempts, lacks(s.attempts))
	}
	for _, s := range all {
		if s.nonPositive > 0 && (one.nonPositive == 0 || s.nonPositive < one.nonPositive) {
			one.nonPositive, one.nonPositiveValue = s.nonPositive, s.nonPositiveValue
		}
		if s.gaveUp > 0 && (one.gaveUp == 0 || s.gaveUp < one.gaveUp) {
			one.gaveUp, one.reason = s.gaveUp, s.reason
		}
	}
	for _, b := range one.blocks {
		sum := 0.0
		for _, s := range all {
			at, _ := slices.BinarySearch(s.blocks, b)
			sum += s.logs[at]
		}
		one.logs = append(one.logs, sum/float64(len(all)))
		one.means = append(one.means, math.Exp(sum/float64(len(all))))
		one.counts = append(one.counts, 1)
	}
	return one
}

// LogsOf returns a metric of a place, by environment and block: what
// the differences of contrasts are made of, by SumOf.
func LogsOf(plan *study.Plan, trials []rundir.Trial, of subject.Figure) map[string]map[int]stats.Logs {
	b := emptyBook(plan)
	number := slices.IndexFunc(b.metrics[of.Workload], func(m workload.Metric) bool { return m.Name == of.Metric })
	if number < 0 {
		return nil
	}
	for _, t := range trials {
		if t.Cell().Place() == of.Place() {
			b.Add(t)
		}
	}
	logs := map[string]map[int]stats.Logs{}
	for at, all := range b.series {
		s := all[number]
		byBlock := make(map[int]stats.Logs, len(s.blocks))
		for _, block := range s.blocks {
			byBlock[block] = s.in(block)
		}
		logs[at.Environment] = byBlock
	}
	return logs
}
