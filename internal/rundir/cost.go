package rundir

import (
	"tare/internal/cost"
	"tare/internal/workload"
)

// Charge works out what a thousand of the trial's operations cost, for those
// costs that are among the pack's metrics. It follows from the rest of the trial
// alone, so that it can be done again whenever a run is read.
func (t *Trial) Charge(pack workload.Pack, price *cost.Price) {
	if t.Status != OK || pack.Operations == "" {
		return
	}
	spent := cost.Spent{Usage: t.Usage, Evidence: t.Evidence, Operations: t.Metrics[pack.Operations], Counted: pack.Operations}
	for _, m := range pack.Metrics {
		c, known := cost.Lookup(m.Name)
		if !known {
			continue
		}
		delete(t.Metrics, m.Name)
		delete(t.Missing, m.Name)
		switch figure := c.Of(spent, price); {
		case figure.Missing == "" && t.Metrics != nil:
			t.Metrics[m.Name] = figure.Value
		case figure.Missing != "" && t.Missing == nil:
			t.Missing = map[string]string{m.Name: figure.Missing}
		case figure.Missing != "":
			t.Missing[m.Name] = figure.Missing
		}
	}
	for name := range t.Metrics {
		if cost.Earlier(name) {
			delete(t.Metrics, name)
		}
	}
}
