package study

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tare/internal/base/lists"
)

// CountSeries is a series of levels of a workload that differ in one count alone: the
// number of copies that run at once, or of neighbours.
type CountSeries struct {
	By     string  // instances or neighbours
	Levels []Level // at least two, by rising count
}

// The counts that the levels of a series differ in.
const (
	ByInstances  = "instances"
	ByNeighbours = "neighbours"
)

// Count of a level in the series.
func (c CountSeries) Count(l Level) int {
	if c.By == ByNeighbours {
		return l.Neighbours
	}
	return max(l.Instances, 1)
}

// Rest is the part of the name that its levels have in common: "" where nothing
// else is swept.
func (c CountSeries) Rest() string {
	kept := lists.Filter(strings.Split(c.Levels[0].Name, ","), func(part string) bool { return !strings.HasPrefix(part, c.By+"=") })
	return strings.Join(kept, ",")
}

// CountSeries of a workload; those by neighbours are first.
func (w Workload) CountSeries() (series []CountSeries) {
	for _, by := range []string{ByNeighbours, ByInstances} {
		var taken []CountSeries
		for _, l := range w.Levels {
			i := slices.IndexFunc(taken, func(c CountSeries) bool { return c.takes(l) })
			if i < 0 {
				i, taken = len(taken), append(taken, CountSeries{By: by})
			}
			taken[i].Levels = append(taken[i].Levels, l)
		}
		for _, c := range taken {
			if len(c.Levels) > 1 {
				slices.SortStableFunc(c.Levels, func(a, b Level) int { return cmp.Compare(c.Count(a), c.Count(b)) })
				series = append(series, c)
			}
		}
	}
	return series
}

// takes says whether a level differs from the first one in its count alone.
func (c CountSeries) takes(l Level) bool {
	first := c.Levels[0]
	if c.Count(first) == c.Count(l) || first.Starting != l.Starting || !maps.Equal(first.Parameters, l.Parameters) {
		return false
	}
	if c.By == ByNeighbours {
		return first.Instances == l.Instances
	}
	return first.Neighbours == l.Neighbours
}
