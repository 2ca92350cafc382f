package trial

import (
	"fmt"
	"maps"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/run/trial/instances"
	"tare/internal/run/trial/lifecycle"
	"tare/internal/rundir"
	"tare/internal/usage"
	"tare/internal/workload"
	"tare/internal/workload/parse"
)

// figures are what one sample gave.
type figures struct {
	rundir.Copy                   // of all copies together
	copies      []rundir.Copy     // of each of several
	outputs     []workload.Output // of each copy; of starts none
	host, guest float64           // duration of the driver by each clock
}

func (f figures) outputOf(n int) []workload.Output {
	return f.outputs[min(n, len(f.outputs)):min(n+1, len(f.outputs))]
}

// figuresOf a sample in which the environment used so much CPU time.
func figuresOf(metrics []workload.Metric, s lifecycle.Sample, starts []instances.Start, cpu usage.Figure) (f figures, err error) {
	f.host = s.Elapsed.Seconds()
	if len(s.Copies) == 1 {
		f.host = s.Copies[0].Elapsed.Seconds()
	}
	for n, c := range s.Copies {
		f.guest = max(f.guest, c.Exit.Elapsed().Seconds())
		o, err := copyFigures(c, starts[n])
		if err != nil {
			return f, err
		}
		f.outputs = append(f.outputs, o)
	}
	copies := lists.Map(f.outputs, func(o workload.Output) rundir.Copy { return rundir.Copy{Metrics: o.Metrics, Missing: o.Missing} })
	if f.Copy = combine(metrics, copies); len(copies) > 1 {
		addPercentiles(&f.Copy, metrics, f.outputs, fmt.Sprintf("%d copies", len(copies)))
		f.copies = copies
	}
	f.addProcessorTime(metrics, cpu)
	return f, nil
}

// copyFigures are the metrics of one copy: from its driver's output, and from
// what tare measured itself.
func copyFigures(s lifecycle.CopySample, start instances.Start) (workload.Output, error) {
	o, err := s.Pack.Parse(s.Stdout)
	if err != nil {
		return o, err
	}
	metrics := o.Metrics
	wall, ready := s.Exit.Elapsed(), s.Ready
	if s.Pack.Cold {
		wall, ready = wall+start.Took, ready+start.Took
	}
	for _, metric := range s.Pack.Metrics {
		switch metric.FieldName() {
		case workload.ReadySeconds:
			metrics[metric.Name] = ready.Seconds()
		case workload.WallSeconds:
			metrics[metric.Name] = wall.Seconds()
		case workload.UserSeconds:
			metrics[metric.Name] = s.Exit.User.Seconds()
		case workload.SystemSeconds:
			metrics[metric.Name] = s.Exit.System.Seconds()
		case workload.MaxRSS:
			metrics[metric.Name] = float64(s.Exit.MaxRSS)
		}
	}
	return o, nil
}

// addPercentiles puts percentiles of what all outputs count into their figures.
func addPercentiles(c *rundir.Copy, metrics []workload.Metric, outputs []workload.Output, several string) {
	for _, m := range metrics {
		if m.Percentile == nil {
			continue
		}
		delete(c.Metrics, m.Name)
		delete(c.Missing, m.Name)
		if value, missing := m.Together(outputs, several); missing != "" {
			setMissing(&c.Missing, m.Name, missing)
		} else {
			c.Metrics[m.Name] = value
		}
	}
}

// withoutPercentiles are the figures of one of several samples.
func withoutPercentiles(c rundir.Copy, metrics []workload.Metric) rundir.Copy {
	c = rundir.Copy{Metrics: maps.Clone(c.Metrics), Missing: maps.Clone(c.Missing)}
	for _, m := range metrics {
		if m.Percentile != nil {
			delete(c.Metrics, m.Name)
			delete(c.Missing, m.Name)
		}
	}
	return c
}

// combine makes the metrics of all copies together of those of each.
func combine(metrics []workload.Metric, copies []rundir.Copy) rundir.Copy {
	all := rundir.Copy{Metrics: map[string]float64{}}
	if len(copies) == 1 {
		all = rundir.Copy{Metrics: maps.Clone(copies[0].Metrics), Missing: copies[0].Missing}
	}
	for _, metric := range metrics {
		var figures []float64
		for i, c := range copies {
			if v, ok := c.Metrics[metric.Name]; ok {
				figures = append(figures, v)
			} else if why := c.Missing[metric.Name]; why != "" {
				setMissing(&all.Missing, metric.Name, fmt.Sprintf("copy %d: %s", i+1, why))
			} else if v, ok := c.Metrics[metric.FieldName()]; ok {
				figures = append(figures, v) // several metrics of one field
			}
		}
		if len(figures) == len(copies) {
			all.Metrics[metric.Name] = metric.Combine(figures)
		}
	}
	return all
}

// setMissing gives the reason why a metric has no value. The first one stays.
func setMissing(missing *map[string]string, metric, reason string) {
	if *missing == nil {
		*missing = map[string]string{}
	}
	if (*missing)[metric] == "" {
		(*missing)[metric] = reason
	}
}

// addProcessorTime adds what the whole environment used, where the pack counts
// no operations: where it does, it is part of their cost.
func (f *figures) addProcessorTime(metrics []workload.Metric, cpu usage.Figure) {
	if !slices.ContainsFunc(metrics, func(m workload.Metric) bool { return m.Name == workload.CPUSeconds }) {
		return
	}
	if cpu.Missing != "" {
		setMissing(&f.Missing, workload.CPUSeconds, cpu.Missing)
	} else {
		f.Metrics[workload.CPUSeconds] = cpu.Value
	}
}

// addSeries takes values over time from what the only copy's driver printed.
func (p *participant) addSeries(s lifecycle.CopySample) {
	found, err := s.Pack.Series(s.Stdout)
	if err != nil {
		p.record.WarnOnce("no values over time: " + err.Error())
		return
	}
	t, series := &p.trial, map[string][]rundir.Point{}
	for name, points := range found {
		if len(points) > 1 || !p.alternates() { // one value is what the round has anyway
			series[name] = lists.Map(points, func(one parse.Point) rundir.Point { return rundir.Point(one) })
		}
	}
	switch {
	case len(series) == 0:
	case p.alternates():
		t.Rounds[len(t.Rounds)-1].Series = series
	default:
		t.Series = series
	}
}

func addPoint(t *rundir.Trial, series string, p rundir.Point) {
	if t.Series == nil {
		t.Series = map[string][]rundir.Point{}
	}
	t.Series[series] = append(t.Series[series], p)
}
