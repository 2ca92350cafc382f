package rundir

import (
	"tare/internal/cost"
	"tare/internal/workload"
)

// Charge computes the cost metrics of the pack: the cost of a thousand operations
// of the trial. It is a function of the rest of the trial, so it is repeated
// whenever a run is read.
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
