package trial

import (
	"context"
	"fmt"
	"maps"

	"tare/internal/capacity"
	"tare/internal/rundir"
	"tare/internal/workload"
)

// capacities that were found, from which the searches of later blocks start.
type capacities map[cell]float64

// learn keeps the capacity of a trial.
func (c capacities) learn(t rundir.Trial) {
	if rate := t.Metrics[workload.Capacity]; t.Status == rundir.OK && rate > 0 {
		c[cell{t.Environment, t.Workload, t.Level, true}] = rate
	}
}

// startSearch begins the search of the block: at the capacity of the last block, or
// where a first, coarse search ends. That begins at what was found in another
// environment, or at the rate of the parameters.
func (p *participant) startSearch(ctx context.Context) error {
	from, most := p.job.workload.Pack.Rates(p.job.level.Parameters)
	if known := p.capacities[p.job.cell]; known > 0 {
		p.search = capacity.NewBlock(known, most)
		return nil
	}
	for _, name := range p.ranked() {
		like := p.job.cell
		like.environment = name
		if known := p.starting[like]; known > 0 {
			from = known
			break
		}
	}
	bracket := capacity.Bracket{From: from, Most: most}
	rate, found := bracket.Next()
	for ; !found; rate, found = bracket.Next() {
		if err := p.workload.SetRate(rate); err != nil {
			return err
		}
		s, err := p.workload.Try(ctx)
		if err != nil {
			return fmt.Errorf("finding a first rate, with %.0f/s: %w", rate, err)
		}
		o, err := copyFigures(s.Copies[0], p.group.Starts[0])
		var probe capacity.Probe
		if err == nil {
			probe, err = p.job.workload.Find.Criteria.Judge(rate, o.Metrics)
		}
		if err != nil {
			return fmt.Errorf("finding a first rate: %w", err)
		}
		bracket.Add(probe)
	}
	p.starting[p.job.cell] = rate
	p.search = capacity.NewBlock(rate, most)
	return nil
}

// endSearch makes the trial's metrics of its probes: what was measured at several
// rates has no value but the capacity, and what operations cost.
func (p *participant) endSearch() error {
	operations := p.job.workload.Pack.Operations
	maps.DeleteFunc(p.trial.Metrics, func(name string, _ float64) bool {
		return name != operations && p.job.workload.Pack.Metric(name) == nil
	})
	p.trial.Missing = nil
	rate, err := capacity.Estimate(p.search.Probes())
	if err != nil {
		return err
	}
	p.trial.Metrics[workload.Capacity] = rate
	return nil
}
