package trial

import (
	"fmt"
	"maps"
	"slices"

	"tare/internal/rundir"
	"tare/internal/trial/instances"
	"tare/internal/trial/lifecycle"
	"tare/internal/usage"
	"tare/internal/workload"
)

// figures are what one sample gave.
type figures struct {
	rundir.Copy               // of all copies together
	copies      []rundir.Copy // of each of several
	host, guest float64       // duration of the driver by each clock
}

// addFigures puts what a sample gave into a trial: its times, the metrics of
// each copy and of all together, and what the environment used.
func addFigures(t *rundir.Trial, metrics []workload.Metric, s lifecycle.Sample, starts []instances.Start, used usage.Usage) (warnings []string, err error) {
	f, err := figuresOf(metrics, s, starts, used.CPU())
	t.HostSeconds, t.GuestSeconds = f.host, f.guest
	if err != nil {
		return nil, err
	}
	t.Metrics, t.Missing, t.Copies = f.Metrics, f.Missing, f.copies
	if len(s.Copies) == 1 {
		warnings = addSeries(t, s.Copies[0])
	}
	return warnings, nil
}

// figuresOf a sample in which the environment used so much CPU time.
func figuresOf(metrics []workload.Metric, s lifecycle.Sample, starts []instances.Start, cpu usage.Figure) (f figures, err error) {
	f.host = s.Elapsed.Seconds()
	if len(s.Copies) == 1 {
		f.host = s.Copies[0].Elapsed.Seconds()
	}
	var copies []rundir.Copy
	for n, c := range s.Copies {
		f.guest = max(f.guest, c.Exit.Elapsed().Seconds())
		one, err := copyFigures(c, starts[n])
		if err != nil {
			return f, err
		}
		copies = append(copies, one)
	}
	if f.Copy = combine(metrics, copies); len(copies) > 1 {
		f.copies = copies
	}
	f.addProcessorTime(metrics, cpu)
	return f, nil
}

// copyFigures are the metrics of one copy: from its driver's output, and from
// what tare measured itself.
func copyFigures(s lifecycle.CopySample, start instances.Start) (rundir.Copy, error) {
	metrics, missing, err := s.Pack.ParseMetrics(s.Stdout)
	if err != nil {
		return rundir.Copy{}, err
	}
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
	return rundir.Copy{Metrics: metrics, Missing: missing}, nil
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
func addSeries(t *rundir.Trial, s lifecycle.CopySample) (warnings []string) {
	found, err := s.Pack.Series(s.Stdout)
	if err != nil {
		return []string{"no values over time: " + err.Error()}
	}
	for name, points := range found {
		for _, point := range points {
			addPoint(t, name, rundir.Point(point))
		}
	}
	return nil
}

func addPoint(t *rundir.Trial, series string, p rundir.Point) {
	if t.Series == nil {
		t.Series = map[string][]rundir.Point{}
	}
	t.Series[series] = append(t.Series[series], p)
}
