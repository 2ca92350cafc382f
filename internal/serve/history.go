package serve

import (
	"fmt"
	"net/http"

	"tare/internal/serve/index"
	"tare/internal/stats"
	"tare/internal/verdict"
)

// changes are the settings of the search for change points. A history is read again after
// each run, and every reading can find what is only chance: at this level of a reading, at
// most one of a hundred histories in which nothing changes has shown a change point by 60
// runs (TestAHistoryThatIsReadAfterEachRunKeepsTheLevel).
var changes = stats.Divisive{Exponent: 1, Least: 3, Level: 0.0005, Permutations: 3999}

// fewest is how many runs a change takes at that level: 2 of the 3432 ways to divide 14
// values into halves are as clear as the clearest change, and 2 of the 6435 ways to divide 15.
const fewest = 15

// longest is how many runs a history has at most: the time of a search grows with its
// square.
const longest = 300

// mostSeries is how many contrasts the list of histories has.
const mostSeries = 1000

// histories lists the contrasts that several runs have.
func (s *Server) histories(*http.Request) (view, error) {
	list := s.runs.Series(mostSeries)
	type listed struct {
		index.Counted
		Newest index.Value
		Points string // of a line through the newest values
	}
	type study struct {
		Name   string
		Series []listed
	}
	var studies []study
	for _, c := range list {
		if n := len(studies); n == 0 || studies[n-1].Name != c.Study {
			studies = append(studies, study{Name: c.Study})
		}
		last := &studies[len(studies)-1]
		last.Series = append(last.Series, listed{c, c.Last[len(c.Last)-1], sparkline(c.Last)})
	}
	return view{Title: "History", Name: "histories", Data: map[string]any{"Studies": studies, "Cut": len(list) == mostSeries}}, nil
}

// segment are runs between two change points.
type segment struct {
	First, Last int // of the runs
	Centre      float64
	P           float64 // of the change it begins with; 0 for the first
}

// past is the history of a contrast.
type past struct {
	Series   index.Series
	Points   []row
	Segments []segment
	Changes  []string
	Few      bool
	Most     int
	Charts   []chart // for wide and for narrow windows
}

// row is a run in the table.
type row struct {
	index.Point
	Changed bool   // a change point is before it
	Other   string // facts that differ from the run before
}

func (s *Server) history(r *http.Request) (view, error) {
	series := index.SeriesIn(r.URL.Query())
	points := s.runs.History(series, longest)
	if len(points) == 0 {
		return view{}, notFound("no run that has ended has this contrast: %s", series)
	}
	p := past{Series: series, Few: len(points) < fewest, Most: longest}
	var values []float64
	for i, point := range points {
		values = append(values, point.Estimate)
		r := row{Point: point}
		if i > 0 {
			before := points[i-1]
			if before.Machine != point.Machine {
				r.Other = "another machine or kernel: " + point.Machine
			}
			if before.Tare != point.Tare {
				r.Other = joined(r.Other, "tare "+point.Tare)
			}
		}
		p.Points = append(p.Points, r)
	}
	first, p0 := 0, 0.0
	for _, c := range append(changes.ChangePoints(values, 1), stats.ChangePoint{At: len(points)}) {
		p.Segments = append(p.Segments, segment{First: first, Last: c.At - 1, Centre: stats.Median(values[first:c.At]), P: p0})
		first, p0 = c.At, c.P
	}
	for i, here := range p.Segments[1:] {
		p.Points[here.First].Changed = true
		p.Changes = append(p.Changes, fmt.Sprintf("From %s on: %s, before it %s (p = %.4f).", points[here.First].Name,
			minus(verdict.Change(here.Centre)), minus(verdict.Change(p.Segments[i].Centre)), here.P))
	}
	p.Charts = []chart{newChart(p, false), newChart(p, true)}
	return view{Title: "History of " + series.String(), Name: "history", Data: p}, nil
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
