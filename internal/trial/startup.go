package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tare/internal/environment"
	"tare/internal/lists"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/trial/instances"
	"tare/internal/usage"
	"tare/internal/workload"
)

// instancesUp is the series of how many instances were up, over the time since
// the first was called for.
const instancesUp = "instances_up"

// measureStart makes the metrics of a workload that measures starts: of each
// instance from its phases, and of all together.
func measureStart(ctx context.Context, t *rundir.Trial, pack workload.Pack, level study.Level, group *instances.Group) error {
	var usages []usage.Usage
	var copies []rundir.Copy
	for n, roles := range group.Copies {
		started := roles.Together()
		metrics := map[string]float64{workload.StartSeconds: group.Starts[n].Took.Seconds()}
		for _, p := range started.Phases() {
			metrics[p.Name] = p.Duration.Seconds()
		}
		copies = append(copies, rundir.Copy{Metrics: metrics})
		usages = append(usages, environment.UsageOfStart(started.Instance))
	}
	together := combine(pack.Metrics, copies)
	if t.Metrics, t.Missing = together.Metrics, together.Missing; len(copies) > 1 {
		t.Copies = copies
	}
	used := usage.Sum(usages...)
	t.Usage = &used
	all := addStartTimes(t, group.Starts)
	n := len(copies)
	figures := map[string]usage.Figure{
		workload.CPUSeconds: used.CPU(),
		workload.StartCPU:   share(used.CPU(), n),
		workload.StartRate:  usage.Known(float64(n) / all.Seconds()),
	}
	idle, err := measureIdle(ctx, pack, level, group)
	if err != nil {
		return err
	}
	maps.Copy(figures, idle)
	for _, metric := range pack.Metrics {
		figure, known := figures[metric.FieldName()]
		switch {
		case !known:
		case figure.Missing != "":
			setMissing(&t.Missing, metric.Name, figure.Missing)
		default:
			t.Metrics[metric.Name] = figure.Value
		}
	}
	return nil
}

// addStartTimes writes down how long the starts took, and for several of them
// when each was up. It returns how long starts were under way.
func addStartTimes(t *rundir.Trial, starts []instances.Start) time.Duration {
	spans := startSpans(starts)
	all := underWay(spans, spans[len(spans)-1].to)
	t.HostSeconds = starts[0].Took.Seconds()
	if len(starts) > 1 {
		t.HostSeconds = all.Seconds()
		t.Metrics[workload.StartAll] = all.Seconds()
		for n, s := range spans {
			addPoint(t, instancesUp, rundir.Point{Second: underWay(spans, s.to).Seconds(), Value: float64(n + 1)})
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
// moment: tare's own work before, between and after them is no part of it. The
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

// measureIdle meters the instances while nothing runs in them, for as long as
// the pack says. The figures are of all together, by their fields.
func measureIdle(ctx context.Context, pack workload.Pack, level study.Level, group *instances.Group) (map[string]usage.Figure, error) {
	pack, err := pack.With(level.Parameters, workload.InstanceVars{})
	if err != nil {
		return nil, err
	}
	span, err := pack.RestTime()
	if err != nil || span == 0 {
		return nil, err
	}
	measured := lists.Map(group.Measured(), func(i *instances.Instance) environment.Instance { return i.Instance })
	// Idle instances change little, and reading many of them takes long.
	every := max(span/4, 100*time.Millisecond)
	meters := environment.Meters(measured, every, func(int) func(usage.Reading) { return nil })
	began := time.Now()
	err = stayIdle(ctx, group.Instances(), span)
	available := usage.AvailableMemory()
	elapsed := time.Since(began)
	usages := make([]usage.Usage, len(meters))
	for i, m := range meters {
		usages[i] = m.Stop()
	}
	if err != nil {
		return nil, err
	}
	used := usage.Sum(usages...)
	return map[string]usage.Figure{
		workload.IdleMemory: used.MemoryMean,
		workload.HostMemory: group.HostMemory.Plus(negative(available)),
		workload.IdleCPU:    over(used.CPU(), elapsed),
	}, nil
}

// stayIdle lets time pass; an instance that exits meanwhile is an error.
func stayIdle(ctx context.Context, all []*instances.Instance, span time.Duration) error {
	waiting, cancel := context.WithTimeoutCause(ctx, span, errIdleOver)
	defer cancel()
	exited := make(chan *instances.Instance, len(all))
	for _, i := range all {
		go func() {
			select {
			case <-i.Agent().Done():
				exited <- i
			case <-waiting.Done():
			}
		}()
	}
	select {
	case i := <-exited:
		return fmt.Errorf("instance %s exited while it was idle: %w", i.Name, i.Agent().Err())
	case <-waiting.Done():
	}
	if cause := context.Cause(waiting); !errors.Is(cause, errIdleOver) {
		return cause
	}
	return nil
}

var errIdleOver = errors.New("the idle time is over")

func share(f usage.Figure, n int) usage.Figure {
	f.Value /= float64(n)
	return f
}

func over(f usage.Figure, d time.Duration) usage.Figure {
	f.Value /= d.Seconds()
	return f
}

func negative(f usage.Figure) usage.Figure {
	f.Value = -f.Value
	return f
}
