package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/subject"
	"tare/internal/workload"
	"tare/internal/workload/capacity"
)

// capacities that were found, of each block. The searches of later blocks start from the
// last one, and the rate at a share of the capacity is one of their median.
type capacities map[subject.Cell][]float64

// learn keeps the capacity of a trial.
func (c capacities) learn(t rundir.Trial) {
	if rate := t.Metrics[workload.Capacity]; t.Status == rundir.OK && rate > 0 {
		c[t.Cell()] = append(c[t.Cell()], rate)
	}
}

// setLoad sets the rate of a workload that runs at a share of the baseline's capacity:
// the same in all environments of a block.
func (p *participant) setLoad() error {
	load, baseline := p.spec.level.Load, p.run.plan.Baseline
	if load == nil {
		return nil
	}
	found := p.run.capacities[subject.Cell{Environment: baseline, Workload: load.Workload, Level: load.Level}]
	if len(found) == 0 {
		return fmt.Errorf("load=%s: the capacity of %s is not known: no search of %s has found it", load.Share, baseline, load.Workload)
	}
	p.trial.Rate = capacity.AtShare(float64(load.Share), found)
	return p.session.SetRate(p.trial.Rate)
}

// checkSent looks whether the driver kept the rate of a share of the capacity: if it did
// not in most samples, the trial has no figures.
func (p *participant) checkSent() error {
	if p.trial.Rate == 0 || len(p.trial.Rounds) == 0 {
		return nil
	}
	sent := lists.Map(p.rounds, func(f figures) float64 { return f.Metrics[p.pack().OpenLoop.Sent] })
	late := len(lists.Filter(sent, func(rate float64) bool { return !capacity.Kept(rate, p.trial.Rate) }))
	text := fmt.Sprintf("the driver could not keep its rate of %.0f/s in %d of %d samples: it sent %.0f/s", p.trial.Rate, late, len(sent), slices.Min(sent))
	switch {
	case 2*late > len(sent):
		return errors.New(text)
	case late > 0:
		p.record.Warn(text + " in one of them")
	}
	return nil
}

// startSearch begins the search of the block: at the capacity of the last block, or
// where a first, coarse search ends. That begins at what was found in another
// environment, or at the rate of the parameters.
func (p *participant) startSearch(ctx context.Context) error {
	from, most := p.pack().Rates(p.spec.level.Parameters)
	if known := p.run.capacities[p.spec.key.Cell]; len(known) > 0 {
		p.search = capacity.NewBlock(known[len(known)-1], most)
		return nil
	}
	for _, name := range p.run.ranked() {
		if known := p.run.starting[p.spec.key.In(name)]; len(known) > 0 {
			from = known[0]
			break
		}
	}
	meters := newMeters(ctx, p) // its probes count for nothing else
	defer meters.stop(ctx)
	bracket := capacity.Bracket{From: from, Most: most}
	rate, found := bracket.Next()
	for ; !found; rate, found = bracket.Next() {
		if err := p.session.SetRate(rate); err != nil {
			return err
		}
		meters.begin()
		s, err := p.session.Try(ctx)
		took := meters.end(ctx)
		if err != nil {
			return fmt.Errorf("finding a first rate, with %.0f/s: %w", rate, err)
		}
		o, err := copyFigures(s.Copies[0], p.group.Starts[0])
		var probe capacity.Probe
		if err == nil {
			probe, err = p.judge(rate, o.Metrics, took.CPU)
		}
		if err != nil {
			return fmt.Errorf("finding a first rate: %w", err)
		}
		bracket.Add(probe)
	}
	p.run.starting[p.spec.key.Cell] = []float64{rate}
	p.search = capacity.NewBlock(rate, most)
	return nil
}

// endSearch makes the trial's metrics of its probes: what was measured at several
// rates has no value but the capacity, and what operations cost.
func (p *participant) endSearch() error {
	operations := p.pack().Operations
	maps.DeleteFunc(p.trial.Metrics, func(name string, _ float64) bool {
		return name != operations && p.pack().Metric(name) == nil
	})
	p.trial.Missing = nil
	rate, err := capacity.Estimate(p.search.Probes())
	if err != nil {
		return err
	}
	p.trial.Metrics[workload.Capacity] = rate
	return nil
}
