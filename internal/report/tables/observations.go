package tables

import (
	"slices"

	"tare/internal/report/model"
	"tare/internal/rundir"
)

// observation is one metric of one trial.
type observation struct {
	place
	trial *rundir.Trial
}

func (b *base) observations() Table {
	var rows []observation
	for i := range b.Trials {
		t := &b.Trials[i]
		for _, m := range b.at(t.Cell().Place()) {
			rows = append(rows, observation{place{t.Cell(), m}, t})
		}
	}
	trial := func(o observation) *rundir.Trial { return o.trial }
	columns := placeColumns(b, func(o observation) place { return o.place })
	columns = append(columns,
		column[observation]{Column{Name: "baseline", Type: Boolean, About: "whether the environment is the baseline"}, func(o observation) any { return o.Environment == b.Plan.Baseline }})
	columns = append(columns, whereColumns(b, trial)...)
	columns = append(columns, []column[observation]{
		{Column{Name: "value", Type: Number, Unit: "unit", About: "the metric in this trial: the median of its samples where they alternated"}, func(o observation) any {
			if x, has := model.Value(o.trial, o.metric.Name); has {
				return number(x)
			}
			return nil
		}},
		{Column{Name: "samples", Type: Integer, About: "samples that the trial gave alternately with those of other environments; missing for a trial of one sample"}, func(o observation) any { return count(len(o.trial.Rounds)) }},
		{Column{Name: "status", Type: Text, About: "status of the trial", Values: statuses}, func(o observation) any { return string(o.trial.Status) }},
		{Column{Name: "reason", Type: Text, About: "why there is no value"}, func(o observation) any { return text(whyNot(o)) }},
		{Column{Name: "duration", Type: Number, Unit: "s", About: "time that the load driver took, by the clock of the host"}, func(o observation) any { return positive(o.trial.HostSeconds) }},
		{Column{Name: "started", Type: Time, About: "begin of the trial, UTC"}, func(o observation) any { return moment(o.trial.Started) }},
		{Column{Name: "ended", Type: Time, About: "its end, UTC"}, func(o observation) any { return moment(o.trial.Ended) }},
		{Column{Name: "instance", Type: Text, About: "the instance that it ran in: trials of one instance have the same"}, func(o observation) any { return text(o.trial.Instance) }},
	}...)
	t := tableOf("observations", "One row for each metric of each trial, in the order in which trials ended. Trials that failed or were skipped have rows too. Traced trials, whose values tracing changes, have none.", columns, rows)
	t.Always = true
	return t
}

// whyNot is why a trial has no value of a metric; "" if it has one.
func whyNot(o observation) string {
	if _, has := model.Value(o.trial, o.metric.Name); has {
		return ""
	}
	switch why := o.trial.Missing[o.metric.Name]; {
	case o.trial.Status != rundir.OK:
		return o.trial.Reason
	case why != "":
		return why
	}
	return "the trial has no " + o.metric.Name
}

// positive is a duration that was measured.
func positive(seconds float64) any {
	if seconds <= 0 {
		return nil
	}
	return number(seconds)
}

// whereColumns say where and when in the run a trial was.
func whereColumns[R any](b *base, of func(R) *rundir.Trial) []column[R] {
	return []column[R]{
		{Column{Name: "block", Type: Integer, About: "number of the block, from 1, the same on all nodes together: what was measured close together in time. It pairs rows of different environments"}, func(r R) any { return int64(of(r).Block) }},
		{Column{Name: "position", Type: Integer, About: "position in the random order of the block, from 1"}, func(r R) any { return count(of(r).Position) }},
		{Column{Name: "node", Type: Text, About: "the node that the block ran on, or a pair `A+B`; missing in a run on one machine"}, func(r R) any { return text(of(r).Node) }},
		{Column{Name: "lane", Type: Integer, About: "number of the node among those of the run, from 1; missing in a run on one machine"}, func(r R) any { return count(b.lanes[of(r).Node]) }},
	}
}

// sample is one metric of one of the alternating samples of a trial.
type sample struct {
	place
	trial *rundir.Trial
	round *rundir.Round
}

func (b *base) samples() Table {
	var rows []sample
	for i := range b.Trials {
		t := &b.Trials[i]
		if t.Status != rundir.OK {
			continue
		}
		for _, m := range b.at(t.Cell().Place()) {
			in := func(r rundir.Round) bool { _, has := r.Metrics[m.Name]; return has || r.Missing[m.Name] != "" }
			if !slices.ContainsFunc(t.Rounds, in) {
				continue // of the whole trial alone
			}
			for j := range t.Rounds {
				rows = append(rows, sample{place{t.Cell(), m}, t, &t.Rounds[j]})
			}
		}
	}
	columns := placeColumns(b, func(s sample) place { return s.place })
	columns = append(columns, whereColumns(b, func(s sample) *rundir.Trial { return s.trial })...)
	columns = append(columns, []column[sample]{
		{Column{Name: "round", Type: Integer, About: "number of the round in the block, from 1. Samples with the same block and round were next to each other in time"}, func(s sample) any { return int64(s.round.Number) }},
		{Column{Name: "round_position", Type: Integer, About: "position in the random order of the round, from 1"}, func(s sample) any { return count(s.round.Position) }},
		{Column{Name: "value", Type: Number, Unit: "unit", About: "the metric in this sample"}, func(s sample) any {
			if x, has := s.round.Metrics[s.metric.Name]; has {
				return number(x)
			}
			return nil
		}},
		{Column{Name: "reason", Type: Text, About: "why there is no value"}, func(s sample) any {
			if _, has := s.round.Metrics[s.metric.Name]; has {
				return nil
			}
			if why := s.round.Missing[s.metric.Name]; why != "" {
				return why
			}
			return "the sample has no " + s.metric.Name
		}},
		{Column{Name: "duration", Type: Number, Unit: "s", About: "time that the load driver took, by the clock of the host"}, func(s sample) any { return positive(s.round.HostSeconds) }},
		{Column{Name: "steal", Type: Number, Unit: "s", About: "time that the hypervisor took from the cores of the environment during the sample; missing where the kernel does not say"}, func(s sample) any {
			if s.round.StealSeconds == nil {
				return nil
			}
			return number(*s.round.StealSeconds)
		}},
	}...)
	return tableOf("samples", "One row for each metric of each sample, of trials whose samples alternated. The value of the trial in `observations` summarises them, and a contrast compares samples of the same block and round.", columns, rows)
}
