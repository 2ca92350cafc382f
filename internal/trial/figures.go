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

// addFigures puts what a sample gave into a trial: its times, the metrics of
// each copy and of all together, and what the environment used.
func addFigures(t *rundir.Trial, metrics []workload.Metric, s lifecycle.Sample, starts []instances.Start, used usage.Usage) (warnings []string, err error) {
	t.HostSeconds = s.Elapsed.Seconds()
	var copies []rundir.Copy
	for n, c := range s.Copies {
		t.GuestSeconds = max(t.GuestSeconds, c.Exit.Elapsed().Seconds())
		one, err := copyFigures(c, starts[n])
		if err != nil {
			return nil, err
		}
		copies = append(copies, one)
	}
	if len(s.Copies) == 1 {
		t.HostSeconds = s.Copies[0].Elapsed.Seconds()
		warnings = addSeries(t, s.Copies[0])
	}
	combine(t, metrics, copies)
	addProcessorTime(t, metrics, used)
	return warnings, nil
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

// combine makes the trial's metrics of its copies'.
func combine(t *rundir.Trial, metrics []workload.Metric, copies []rundir.Copy) {
	if len(copies) == 1 {
		t.Metrics, t.Missing = maps.Clone(copies[0].Metrics), copies[0].Missing
	} else {
		t.Copies, t.Metrics = copies, map[string]float64{}
	}
	for _, metric := range metrics {
		var figures []float64
		for i, c := range copies {
			if v, ok := c.Metrics[metric.Name]; ok {
				figures = append(figures, v)
			} else if why := c.Missing[metric.Name]; why != "" {
				setMissing(t, metric.Name, fmt.Sprintf("copy %d: %s", i+1, why))
			} else if v, ok := c.Metrics[metric.FieldName()]; ok {
				figures = append(figures, v) // several metrics of one field
			}
		}
		if len(figures) == len(copies) {
			t.Metrics[metric.Name] = metric.Combine(figures)
		}
	}
}

// setMissing gives the reason why a metric has no value. The first one stays.
func setMissing(t *rundir.Trial, metric, reason string) {
	if t.Missing == nil {
		t.Missing = map[string]string{}
	}
	if t.Missing[metric] == "" {
		t.Missing[metric] = reason
	}
}

// addProcessorTime adds what the whole environment used, where the pack counts
// no operations: where it does, it is part of their cost.
func addProcessorTime(t *rundir.Trial, metrics []workload.Metric, used usage.Usage) {
	if !slices.ContainsFunc(metrics, func(m workload.Metric) bool { return m.Name == workload.CPUSeconds }) {
		return
	}
	if cpu := used.CPU(); cpu.Missing != "" {
		setMissing(t, workload.CPUSeconds, cpu.Missing)
	} else {
		t.Metrics[workload.CPUSeconds] = cpu.Value
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
