// Package openmetrics writes the metrics of a run with their times, for a
// Prometheus that imports them later.
package openmetrics

import (
	"io"

	"tare/internal/metrics"
	"tare/internal/report/model"
	"tare/internal/rundir"
)

// Write writes what the run's live metrics were, with the times at which
// they were so, for a Prometheus that takes it up later.
func Write(w io.Writer, in model.Input, _ model.Options) error {
	p := metrics.Past{Manifest: in.Manifest, Plan: in.Plan, Trials: in.Trials, Contrasts: in.Contrasts, Mark: in.Mark}
	if in.Readings != nil {
		p.Readings = func(t rundir.Trial) ([]metrics.Watching, error) { return readings(in, t) }
	}
	return metrics.Text(w, p)
}

// readings returns the recorded readings of a trial.
func readings(in model.Input, t rundir.Trial) (all []metrics.Watching, err error) {
	watched, err := in.Readings(t)
	for _, one := range watched {
		w := metrics.Watching{Began: one.Began}
		for n := range one.Len() {
			w.Readings = append(w.Readings, one.At(n))
		}
		all = append(all, w)
	}
	return all, err
}
