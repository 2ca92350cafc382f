package model

import (
	"cmp"
	"math"
	"slices"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/usage"
)

// timeWindows is how many points a level has at most in a chart over time.
const timeWindows = 30

// span is a value that held for a while.
type span struct{ from, to, value float64 }

// overTime adds what an environment used over the time of the samples, one level after the
// other, as the sources measured; or the course of a series that the driver printed, over the
// time of one sample: medians over the blocks, and of a course over all samples. It says why
// there is nothing to add.
func (out *SourcePanel) overTime(in Input, line SourceLine, places []place, quantity string) (why string) {
	var used *usage.Quantity
	if i := slices.IndexFunc(usage.Quantities, func(q usage.Quantity) bool { return q.Name == quantity }); i >= 0 {
		used = &usage.Quantities[i]
	}
	out.Metric, out.Unit, out.Better, out.OneSample = quantity, "", "neither", used == nil
	switch {
	case quantity == "cpu":
		out.Unit = "% of a core"
	case used != nil && used.Kind == usage.Counter:
		out.Unit = used.Unit + "/s"
	case used != nil:
		out.Unit = used.Unit
	case quantity == "response_time":
		out.Unit = "ms"
	}
	if len(out.X) == 0 { // where each level begins, the same for all environments
		begin := 0.0
		for _, at := range places {
			out.X = append(out.X, begin)
			var lengths []float64
			for i := range in.Trials {
				t := &in.Trials[i]
				if t.Workload == at.w.Name && t.Level == at.l.Name && t.Status == rundir.OK {
					lengths = append(lengths, out.lasts(t))
				}
			}
			if len(lengths) > 0 {
				begin += stats.Median(lengths)
			}
		}
		out.X = append(out.X, begin)
	}
	why = "no trial of it ended well"
	some := false
	for i, at := range places {
		var courses [][]span
		blocks := 0
		for _, t := range in.Trials {
			if t.Workload != at.w.Name || t.Level != at.l.Name || t.Environment != line.Environment || t.Status != rundir.OK {
				continue
			}
			var found [][]span
			if used != nil {
				found, why = in.usedIn(t, used)
			} else {
				found, why = coursesOf(&t, quantity, out.lasts(&t))
			}
			if len(found) == 0 {
				continue
			}
			courses, blocks = append(courses, found...), blocks+1
		}
		for _, p := range windowed(courses, out.X[i+1]-out.X[i]) {
			line.Points, some = append(line.Points, SourcePoint{At: i, X: out.X[i] + p.Second, N: blocks, Mean: p.Value}), true
		}
	}
	if some {
		out.Lines, why = append(out.Lines, line), ""
	}
	return why
}

// lasts is how long what is drawn of a trial took: one of its samples, or all together.
func (out *SourcePanel) lasts(t *rundir.Trial) float64 {
	if len(t.Rounds) == 0 {
		return t.HostSeconds
	}
	var each []float64
	sum := 0.0
	for _, r := range t.Rounds {
		each, sum = append(each, r.HostSeconds), sum+r.HostSeconds
	}
	if out.OneSample {
		return stats.Median(each)
	}
	return sum
}

// coursesOf are a series of the driver in the samples of a trial, or why there are none.
func coursesOf(t *rundir.Trial, series string, length float64) (all [][]span, why string) {
	for _, points := range t.Courses(series) {
		all = append(all, spansOf(points, length))
	}
	switch {
	case len(all) > 0:
		return all, ""
	case len(t.Copies) > 0:
		return nil, "several copies ran at once, of which no values over time are kept"
	}
	return nil, "the run has no " + series + " over time: the driver printed fewer than two values, or the run is of an older tare, which kept none of samples that alternate"
}

// spansOf are the values of a series until the next.
func spansOf(points []rundir.Point, end float64) (all []span) {
	for i, p := range points {
		to := math.Max(end, p.Second)
		if i+1 < len(points) {
			to = points[i+1].Second
		}
		all = append(all, span{p.Second, to, p.Value})
	}
	return all
}

// usedIn is a quantity between the readings of the samples of a trial, with all its
// instances together, or why there is none. In between, an environment waits for the others.
func (in Input) usedIn(t rundir.Trial, q *usage.Quantity) (all [][]span, why string) {
	if in.Readings == nil {
		return nil, "the run kept no readings of what its instances used"
	}
	series, err := in.Readings(t)
	if err != nil {
		return nil, err.Error()
	}
	why = "the run kept no readings of what its instances used"
	for _, one := range series {
		why = cmp.Or(one.Missing(q.Name), "no two readings lie at the edges of a sample")
		spans := within(one.Series, t, q)
		switch {
		case len(spans) == 0:
		case all == nil:
			all = [][]span{spans}
		default:
			for j := range min(len(all[0]), len(spans)) { // read at about the same time
				all[0][j].value += spans[j].value
			}
		}
	}
	return all, why
}

// within leaves out what is not in a sample: each begins and ends with a reading.
func within(s *usage.Series, t rundir.Trial, q *usage.Quantity) (all []span) {
	next, at := 0, 0.0
	rounds := []float64{t.HostSeconds}
	if len(t.Rounds) > 0 {
		rounds = nil
		for _, r := range t.Rounds {
			rounds = append(rounds, r.HostSeconds)
		}
	}
	for _, length := range rounds {
		first, last := sample(s, next, length)
		for i := first; i < last; i++ {
			a, b := s.At(i), s.At(i+1)
			x, y, took := q.Of(&a), q.Of(&b), b.Seconds-a.Seconds
			if x.Missing != "" || y.Missing != "" || !(took > 0) {
				continue
			}
			value := (x.Value + y.Value) / 2
			if q.Kind == usage.Counter {
				if value = (y.Value - x.Value) / took; q.Name == "cpu" {
					value *= 100
				}
			}
			from := at + a.Seconds - s.At(first).Seconds
			all = append(all, span{from, from + took, value})
		}
		if last > first {
			next = last
		}
		at += length
	}
	return all
}

// sample finds the readings between which a sample of a length lies, from one on. They are
// some milliseconds before and after it.
func sample(s *usage.Series, from int, length float64) (first, last int) {
	for i := from; i < s.Len(); i++ {
		for j := i + 1; j < s.Len(); j++ {
			off := s.At(j).Seconds - s.At(i).Seconds - length
			if off > .02+.01*length {
				break
			}
			if off > -.001 {
				return i, j
			}
		}
	}
	return from, from
}

// windowed are the medians over blocks, or their samples, of the means in windows of the time.
func windowed(courses [][]span, length float64) (points []rundir.Point) {
	most := 0
	for _, spans := range courses {
		most = max(most, len(spans))
	}
	n := min(most, timeWindows)
	width := length / float64(n)
	for i := range n {
		from, to := float64(i)*width, float64(i+1)*width
		var values []float64
		for _, spans := range courses {
			sum, time := 0.0, 0.0
			for _, s := range spans {
				if common := math.Min(s.to, to) - math.Max(s.from, from); common > 0 {
					sum, time = sum+s.value*common, time+common
				}
			}
			if time > 0 {
				values = append(values, sum/time)
			}
		}
		if 2*len(values) >= len(courses) { // not the few that took longest alone
			points = append(points, rundir.Point{Second: (from + to) / 2, Value: stats.Median(values)})
		}
	}
	return points
}
