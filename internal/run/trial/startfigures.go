package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/run/trial/instances"
	"tare/internal/rundir"
	"tare/internal/usage"
	"tare/internal/workload"
)

// start are the figures of starts that were under way together, and of what follows in
// the instances until their end.
type start struct {
	figures
	each     []rundir.Copy // of each instance
	noJob    []string      // why one has no value of the job
	together map[string]usage.Figure
	used     usage.Usage
	up       []rundir.Point // how many instances were up
}

// startFigures makes what is known of a workload that measures starts before its
// instances are stopped: of each from its phases, and of all together.
func (p *participant) startFigures(ctx context.Context) (*start, error) {
	s, err, group := &start{}, error(nil), p.group
	var usages []usage.Usage
	for n, roles := range group.Copies {
		started := roles.Together()
		metrics := map[string]float64{workload.StartSeconds: group.Starts[n].Took.Seconds()}
		for _, phase := range started.Phases() {
			metrics[phase.Name] = phase.Duration.Seconds()
		}
		s.each = append(s.each, rundir.Copy{Metrics: metrics})
		usages = append(usages, environment.UsageOfStart(started.Instance))
	}
	s.used, s.noJob = usage.Sum(usages...), make([]string, len(s.each))
	if s.together, err = measureIdle(ctx, *p.pack(), p.spec.level, group); err != nil {
		return s, err
	}
	all, n := s.addTimes(group.Starts), len(s.each)
	s.together[workload.CPUSeconds] = s.used.CPU()
	s.together[workload.StartCPU] = s.used.CPU().Over(float64(n))
	s.together[workload.StartRate] = usage.Known(float64(n) / all.Seconds())
	if p.pack().Asks(workload.JobSeconds, workload.LifeSeconds) {
		err = p.runJobs(ctx, s)
	}
	return s, err
}

// runJobs runs the shortest job in each instance, as a user sees it from outside.
func (p *participant) runJobs(ctx context.Context, s *start) error {
	env := p.run.Instances.ImageOf(p.spec.request.Shape.Image).Env
	for n, roles := range p.group.Copies {
		began := time.Now()
		exit, err := roles.Together().Agent().Run(ctx, agent.Command{Argv: []string{"true"}, Env: env, Timeout: time.Minute})
		took := time.Since(began)
		switch {
		case ctx.Err() != nil || errors.Is(err, agent.ErrGone):
			return err
		case err == nil && !exit.OK():
			err = fmt.Errorf("true exited with status %d", exit.Code)
		}
		if err == nil {
			s.each[n].Metrics[workload.JobSeconds] = took.Seconds()
		} else {
			s.noJob[n] = "no job was run: " + err.Error()
		}
	}
	return nil
}

// end adds how the instances were stopped, if they were, and makes the metrics.
func (s *start) end(pack workload.Pack, stops []instances.Stop) {
	for n := range s.each {
		c, why := &s.each[n], s.noJob[n]
		job, ran := c.Metrics[workload.JobSeconds]
		switch {
		case len(stops) == 0:
			why = "the instance was used further, and not stopped"
		case stops[n].Exit <= 0:
			why = "the instance did not say when it had exited"
		default:
			exit, remove := stops[n].Exit.Seconds(), stops[n].Remove.Seconds()
			c.Metrics[workload.StopSeconds], c.Metrics[workload.RemoveSeconds] = exit, remove
			if ran {
				c.Metrics[workload.LifeSeconds] = c.Metrics[workload.StartSeconds] + job + exit + remove
			}
		}
		for _, m := range pack.Metrics {
			if _, known := c.Metrics[m.FieldName()]; !known && slices.Contains(workload.EndFields, m.FieldName()) {
				setMissing(&c.Missing, m.Name, why)
			}
		}
	}
	if s.Copy = combine(pack.Metrics, s.each); len(s.each) > 1 {
		s.copies, s.Metrics[workload.StartAll] = s.each, s.host
	}
	for _, metric := range pack.Metrics {
		figure, known := s.together[metric.FieldName()]
		switch {
		case !known:
		case figure.Missing != "":
			setMissing(&s.Missing, metric.Name, figure.Missing)
		default:
			s.Metrics[metric.Name] = figure.Value
		}
	}
}

// addTimes writes down how long the starts took, and for several of them when each
// was up. It returns how long starts were under way.
func (s *start) addTimes(starts []instances.Start) time.Duration {
	spans := startSpans(starts)
	all := underWay(spans, spans[len(spans)-1].to)
	s.host = starts[0].Took.Seconds()
	if len(starts) > 1 {
		s.host = all.Seconds()
		for n, span := range spans {
			s.up = append(s.up, rundir.Point{Second: underWay(spans, span.to).Seconds(), Value: float64(n + 1)})
		}
	}
	return all
}

// startSpan is when an instance's start was under way.
type startSpan struct{ from, to time.Time }

// startSpans are in the order in which the instances got ready.
func startSpans(starts []instances.Start) (spans []startSpan) {
	for _, s := range starts {
		spans = append(spans, startSpan{s.Ready.Add(-s.Took), s.Ready})
	}
	slices.SortFunc(spans, func(a, b startSpan) int { return a.to.Compare(b.to) })
	return spans
}

// underWay is for how long at least one of the starts was under way until a
// moment: tare's own work before, between and after them does not count. The
// spans are in the order of their ends.
func underWay(spans []startSpan, until time.Time) (total time.Duration) {
	for i, s := range spans {
		to := s.to
		if until.Before(to) {
			to = until
		}
		for _, later := range spans[i+1:] {
			if later.from.Before(to) {
				to = later.from // what follows is the later one's
			}
		}
		if to.After(s.from) {
			total += to.Sub(s.from)
		}
	}
	return total
}
