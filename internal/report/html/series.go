package html

import (
	"maps"
	"math"
	"slices"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/stats"
)

// mostWindows is how many points a curve over time has at most: more than a
// chart shows.
const mostWindows = 60

// chartSeries is a figure over the time of the driver: medians over the trials, and
// their rounds, of the same window. Points are [second, value].
type chartSeries struct {
	Workload    int         `json:"w"`
	Level       int         `json:"l"`
	Environment int         `json:"e"`
	Name        string      `json:"name"`
	Points      [][2]number `json:"points"`
}

// seriesNames are the figures over time of a workload.
func seriesNames(v *model.Report, workload string) []string {
	names := map[string]bool{}
	for _, t := range v.Trials {
		if t.Workload == workload && t.Status == rundir.OK {
			for name := range t.Series {
				names[name] = true
			}
			for _, r := range t.Rounds {
				for name := range r.Series {
					names[name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// seriesOf are the curves of a workload at a level.
func seriesOf(v *model.Report, w model.Workload, l model.Level) []chartSeries {
	var all []chartSeries
	for _, name := range seriesNames(v, w.Name) {
		for _, e := range v.Environments {
			var curves [][]rundir.Point
			for _, t := range v.Trials {
				if t.Status == rundir.OK && t.Workload == w.Name && t.Level == l.Name && t.Environment == e.Name {
					curves = append(curves, t.Courses(name)...)
				}
			}
			if len(curves) > 0 {
				all = append(all, chartSeries{w.Index, l.Index, e.Index, name, windows(curves)})
			}
		}
	}
	return all
}

// windows divides the time of the longest curve and takes the median of all
// points in each.
func windows(curves [][]rundir.Point) [][2]number {
	last, most := 0.0, 0
	for _, c := range curves {
		most = max(most, len(c))
		for _, p := range c {
			last = math.Max(last, p.Second)
		}
	}
	n := min(most, mostWindows)
	values := make([][]float64, n)
	width := last / float64(n)
	for _, c := range curves {
		for _, p := range c {
			i := n - 1
			if width > 0 {
				i = int(min(max(p.Second/width, 0), float64(n-1))) // a time before the first is one of an edited run
			}
			values[i] = append(values[i], p.Value)
		}
	}
	var points [][2]number
	for i, list := range values {
		if len(list) > 0 {
			points = append(points, [2]number{number((float64(i) + .5) * width), number(stats.Median(list))})
		}
	}
	return points
}
