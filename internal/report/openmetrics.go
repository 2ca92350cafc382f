package report

import (
	"io"

	"tare/internal/metrics"
	"tare/internal/rundir"
)

// OpenMetrics writes what the run's live metrics were, with the times at which
// they were so, for a Prometheus that takes it up later.
func OpenMetrics(w io.Writer, in Input) error {
	p := metrics.Past{Manifest: in.Manifest, Plan: in.Plan, Trials: in.Trials, Contrasts: in.Contrasts}
	if in.Samples != nil {
		p.Readings = in.looks
	}
	return metrics.Text(w, p)
}

// looks are the samples of a trial, as they were heard.
func (in Input) looks(t rundir.Trial) (all []metrics.Watching, err error) {
	watched, err := in.Samples(t)
	for _, one := range watched {
		w := metrics.Watching{Began: one.Began}
		for n := range one.Len() {
			w.Readings = append(w.Readings, one.At(n))
		}
		all = append(all, w)
	}
	return all, err
}
