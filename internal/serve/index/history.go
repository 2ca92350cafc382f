package index

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	"tare/internal/verdict"
)

// Series names a contrast over runs.
type Series struct {
	Study, Workload, Level, Metric, Environment, Baseline string
}

// SeriesOf is the series of a contrast of a study.
func SeriesOf(study string, c verdict.Contrast) Series {
	return Series{study, c.Workload, c.Level, c.Metric, c.Environment, c.Baseline}
}

// Query is the series as the query of an address.
func (s Series) Query() string {
	q := url.Values{}
	for name, value := range map[string]string{"study": s.Study, "workload": s.Workload, "level": s.Level, "metric": s.Metric, "environment": s.Environment, "baseline": s.Baseline} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q.Encode()
}

// SeriesIn is the series that the query of an address names.
func SeriesIn(q url.Values) Series {
	return Series{q.Get("study"), q.Get("workload"), q.Get("level"), q.Get("metric"), q.Get("environment"), q.Get("baseline")}
}

func (s Series) String() string {
	place := s.Workload
	if s.Level != "" {
		place += ", " + s.Level
	}
	return fmt.Sprintf("%s of %s: %s against %s", s.Metric, place, s.Environment, s.Baseline)
}

// Counted is a series with the number of its runs, and what the newest of them have, the
// oldest first.
type Counted struct {
	Series
	Runs int
	Last []Value
}

// lastValues is how many of the newest values a list has.
const lastValues = 40

type contrast struct {
	Series
	Value
	Primary bool
}

// Value is what a contrast has in one run.
type Value struct {
	Unit, Better string
	N            int
	Estimate     float64 // log ratio
	Low, High    *float64
	Verdict      verdict.Verdict
	Mark         string // of a confound; "" for none
}

// Point is a contrast in one run.
type Point struct {
	Run
	Value
}

// Series returns the primary contrasts that at least two runs have.
func (x *Index) Series(limit int) (list []Counted) {
	all := map[Series]*Counted{}
	for _, e := range x.newest(func(entry) bool { return true }) {
		for _, c := range e.Contrasts {
			if !c.Primary {
				continue
			}
			if all[c.Series] == nil {
				all[c.Series] = &Counted{Series: c.Series}
			}
			of := all[c.Series]
			if of.Runs++; len(of.Last) < lastValues {
				of.Last = append(of.Last, c.Value)
			}
		}
	}
	for _, of := range all {
		if of.Runs > 1 {
			slices.Reverse(of.Last)
			list = append(list, *of)
		}
	}
	slices.SortFunc(list, func(a, b Counted) int {
		return cmp.Or(cmp.Compare(a.Study, b.Study), cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Level, b.Level),
			cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.Environment, b.Environment), cmp.Compare(a.Baseline, b.Baseline))
	})
	return list[:min(limit, len(list))]
}

// Counts returns how many runs have each contrast of a study.
func (x *Index) Counts(study string) map[Series]int {
	counts := map[Series]int{}
	for _, e := range x.newest(func(entry) bool { return true }) {
		for _, c := range e.Contrasts {
			if c.Study == study {
				counts[c.Series]++
			}
		}
	}
	return counts
}

// History returns the last points of a series, oldest first.
func (x *Index) History(s Series, limit int) (list []Point) {
	for _, e := range x.newest(func(entry) bool { return true }) {
		for _, c := range e.Contrasts {
			if c.Series == s && len(list) < limit {
				list = append(list, Point{e.Run, c.Value})
			}
		}
	}
	slices.Reverse(list)
	return list
}
