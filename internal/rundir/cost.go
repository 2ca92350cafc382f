package rundir

import (
	"tare/internal/usage"
	"tare/internal/usage/cost"
	"tare/internal/workload"
)

// Charge computes the metrics that come from the resource use of the trial: the mean
// memory, and the cost of a thousand operations. It is a function of the rest of the
// trial, so it is repeated whenever a run is read.
func (t *Trial) Charge(pack workload.Pack, price *cost.Price) {
	if t.Status != OK {
		return
	}
	for _, m := range pack.Metrics {
		if m.FieldName() == workload.MemoryMean {
			figure := usage.Absent("the resource use of the environment is unknown")
			if t.Usage != nil {
				figure = t.Usage.MemoryMean
			}
			t.set(m.Name, figure)
		}
	}
	spent := cost.Spent{Usage: t.Usage, Evidence: t.Evidence, Seconds: t.sampled(), Operations: t.Metrics[pack.Operations], Counted: pack.Operations}
	for _, m := range pack.Metrics {
		if c, known := cost.Lookup(m.Name); known && (c.Whole || pack.Operations != "") {
			t.set(m.Name, c.Of(spent, price))
		}
	}
	for name := range t.Metrics {
		if cost.Earlier(name) {
			delete(t.Metrics, name)
		}
	}
}

// sampled is how long the samples of the trial took.
func (t *Trial) sampled() float64 {
	if len(t.Rounds) == 0 {
		return t.HostSeconds
	}
	seconds := 0.
	for _, r := range t.Rounds {
		seconds += r.HostSeconds
	}
	return seconds
}

// set gives a metric a value, or the reason why it has none.
func (t *Trial) set(metric string, figure usage.Figure) {
	delete(t.Metrics, metric)
	delete(t.Missing, metric)
	switch {
	case figure.Missing == "" && t.Metrics != nil:
		t.Metrics[metric] = figure.Value
	case figure.Missing != "" && t.Missing == nil:
		t.Missing = map[string]string{metric: figure.Missing}
	case figure.Missing != "":
		t.Missing[metric] = figure.Missing
	}
}
