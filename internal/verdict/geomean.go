package verdict

import (
	"math"
	"slices"

	"tare/internal/subject"
)

// Geomean is the geometric mean of the ratios of one metric over the workloads and levels
// that have it: of means the one that does not depend on which side is the baseline
// (Fleming and Wallace, How not to lie with statistics: the correct way to summarize
// benchmark results, 1986). It has no interval and no verdict: how much each workload
// counts is the reader's to say, and this counts them alike.
type Geomean struct {
	Metric, Environment, Better string
	Primary                     bool
	Places                      int
	Log                         float64   // log ratio
	First, Second               float64   // of a change, the costs before and after
	logs                        []float64 // of the places
	costs                       [2][]float64
}

// geomeans are the means of those environments that have the metric wherever it is, in two
// places or more. A mean over fewer would be of something else than that of its neighbours.
func geomeans(n int, at func(i int) (of subject.Figure, g Geomean, has bool)) (means []Geomean) {
	type key struct{ metric, environment string }
	places, found := map[string]map[subject.Place]bool{}, map[key]int{}
	for i := range n {
		of, g, has := at(i)
		if places[of.Metric] == nil {
			places[of.Metric] = map[subject.Place]bool{}
		}
		places[of.Metric][of.Place()] = true
		if !has {
			continue
		}
		own := key{of.Metric, of.Environment}
		k, seen := found[own]
		if !seen {
			k = len(means)
			found[own], means = k, append(means, Geomean{Metric: of.Metric, Environment: of.Environment, Better: g.Better, Primary: g.Primary})
		}
		m := &means[k]
		m.logs = append(m.logs, g.Log)
		m.costs[0], m.costs[1] = append(m.costs[0], math.Log(g.First)), append(m.costs[1], math.Log(g.Second))
	}
	mean := func(x []float64) (sum float64) {
		for _, v := range x {
			sum += v / float64(len(x))
		}
		return sum
	}
	means = slices.DeleteFunc(means, func(m Geomean) bool { return len(m.logs) < 2 || len(m.logs) < len(places[m.Metric]) })
	for i := range means {
		m := &means[i]
		m.Places, m.Log = len(m.logs), mean(m.logs)
		m.First, m.Second = math.Exp(mean(m.costs[0])), math.Exp(mean(m.costs[1]))
	}
	return means
}

// Geomeans are those of contrasts.
func Geomeans(contrasts []Contrast) []Geomean {
	return geomeans(len(contrasts), func(i int) (subject.Figure, Geomean, bool) {
		c := &contrasts[i]
		return c.Figure(), Geomean{Better: c.Better, Primary: c.Primary, Log: c.Estimate}, c.N > 0 && !c.NoRatio() && finite(c.Estimate) != nil
	})
}

// GeomeansOfChanges are those of the changes between two runs.
func GeomeansOfChanges(changes []Moved) []Geomean {
	return geomeans(len(changes), func(i int) (subject.Figure, Geomean, bool) {
		c := &changes[i]
		of := subject.Place{Workload: c.Workload, Level: c.Level}.In(c.Environment).Of(c.Metric)
		return of, Geomean{Better: c.Better, Primary: c.Primary, Log: c.Shift.Estimate, First: c.FirstCost, Second: c.SecondCost}, finite(c.Shift.Estimate) != nil
	})
}
