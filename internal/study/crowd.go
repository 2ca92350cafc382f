package study

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tare/internal/lists"
)

// Crowd is a series of levels of a workload that differ in one count alone: the
// number of copies that run at once, or of neighbours.
type Crowd struct {
	By     string  // instances or neighbours
	Levels []Level // at least two, by rising count
}

// The counts that the levels of a series differ in.
const (
	ByInstances  = "instances"
	ByNeighbours = "neighbours"
)

// Count of a level in the series.
func (c Crowd) Count(l Level) int {
	if c.By == ByNeighbours {
		return l.Neighbours
	}
	return max(l.Instances, 1)
}

// Rest is the part of the name that its levels have in common: "" where nothing
// else is swept.
func (c Crowd) Rest() string {
	kept := lists.Filter(strings.Split(c.Levels[0].Name, ","), func(part string) bool { return !strings.HasPrefix(part, c.By+"=") })
	return strings.Join(kept, ",")
}

// Crowds of a workload; those by neighbours are first.
func (w Workload) Crowds() (crowds []Crowd) {
	for _, by := range []string{ByNeighbours, ByInstances} {
		var taken []Crowd
		for _, l := range w.Levels {
			i := slices.IndexFunc(taken, func(c Crowd) bool { return c.takes(l) })
			if i < 0 {
				i, taken = len(taken), append(taken, Crowd{By: by})
			}
			taken[i].Levels = append(taken[i].Levels, l)
		}
		for _, c := range taken {
			if len(c.Levels) > 1 {
				slices.SortStableFunc(c.Levels, func(a, b Level) int { return cmp.Compare(c.Count(a), c.Count(b)) })
				crowds = append(crowds, c)
			}
		}
	}
	return crowds
}

// takes says whether a level differs from the first one in its count alone.
func (c Crowd) takes(l Level) bool {
	first := c.Levels[0]
	if c.Count(first) == c.Count(l) || first.Starting != l.Starting || !maps.Equal(first.Parameters, l.Parameters) {
		return false
	}
	if c.By == ByNeighbours {
		return first.Instances == l.Instances
	}
	return first.Neighbours == l.Neighbours
}
