package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/sample"
	"tare/internal/study"
	"tare/internal/workload"
)

// instancesUp is the series of how many instances were up, over the time since
// the first was called for.
const instancesUp = "instances_up"

// measureStart makes the metrics of a workload that measures starts: of each
// instance from its phases, and of all together.
func measureStart(ctx context.Context, t *rundir.Trial, w *study.Workload, level study.Level, h *held) error {
	if !h.fresh {
		return fmt.Errorf("the instance %s was started for an earlier trial, so its start is not measured again", h.members[0].name)
	}
	var usages []sample.Usage
	var copies []rundir.Copy
	for i, c := range h.copies {
		metrics := map[string]float64{workload.StartSeconds: h.starts[i].Seconds()}
		for _, p := range c.together.Phases() {
			metrics[p.Name] = p.Duration.Seconds()
		}
		copies = append(copies, rundir.Copy{Metrics: metrics})
		usages = append(usages, environment.UsageOfStart(c.together.Instance))
	}
	together(t, w.Pack.Metrics, copies)
	n := len(copies)
	starts := h.startSpans()
	all := underWay(starts, starts[n-1].to)
	t.HostSeconds = h.starts[0].Seconds()
	if n > 1 {
		t.HostSeconds = all.Seconds()
		t.Metrics[workload.StartAll] = all.Seconds()
		for i, s := range starts {
			addPoint(t, instancesUp, rundir.Point{Second: underWay(starts, s.to).Seconds(), Value: float64(i + 1)})
		}
	}
	usage := sample.Sum(usages...)
	t.Usage = &usage
	whole := map[string]sample.Figure{
		workload.CPUSeconds: usage.CPU(),
		workload.StartCPU:   share(usage.CPU(), n),
		workload.StartRate:  sample.Known(float64(n) / all.Seconds()),
	}
	rest, err := restOf(ctx, w.Pack, level, h)
	if err != nil {
		return err
	}
	maps.Copy(whole, rest)
	for _, metric := range w.Pack.Metrics {
		figure, known := whole[metric.FieldName()]
		switch {
		case !known:
		case figure.Missing != "":
			missing(t, metric.Name, figure.Missing)
		default:
			t.Metrics[metric.Name] = figure.Value
		}
	}
	return nil
}

// startSpan is when an instance's start was under way.
type startSpan struct{ from, to time.Time }

// startSpans are those of the copies, in the order in which they came up.
func (h *held) startSpans() (spans []startSpan) {
	for i, c := range h.copies {
		up := c.together.up
		spans = append(spans, startSpan{up.Add(-h.starts[i]), up})
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

// restOf watches the instances while nothing runs in them, for as long as the
// pack says, and gives the figures of all together by their fields.
func restOf(ctx context.Context, w workload.Pack, level study.Level, h *held) (map[string]sample.Figure, error) {
	pack, err := w.With(level.Parameters, workload.InstanceVars{})
	if err != nil {
		return nil, err
	}
	span, err := pack.RestTime()
	if err != nil || span == 0 {
		return nil, err
	}
	var instances []environment.Instance
	for _, m := range h.measured() {
		instances = append(instances, m.Instance)
	}
	// A few looks are enough at rest, and many instances take long to look at.
	meters := environment.Meters(instances, max(span/4, 100*time.Millisecond), func(int) func(sample.Reading) { return nil })
	began := time.Now()
	err = h.wait(ctx, span)
	room := sample.AvailableMemory()
	elapsed := time.Since(began)
	usages := make([]sample.Usage, len(meters))
	for i, m := range meters {
		usages[i] = m.Stop()
	}
	if err != nil {
		return nil, err
	}
	usage := sample.Sum(usages...)
	return map[string]sample.Figure{
		workload.IdleMemory: usage.MemoryMean,
		workload.HostMemory: h.room.Plus(negative(room)),
		workload.IdleCPU:    over(usage.CPU(), elapsed),
	}, nil
}

// wait lets time pass with the instances at rest; one that ends is an error.
func (h *held) wait(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d, errRested)
	defer cancel()
	err := each(h.members, func(m *member) error {
		select {
		case <-m.Agent().Done():
			return fmt.Errorf("instance %s ended at rest: %w", m.name, m.Agent().Err())
		case <-ctx.Done():
			return nil
		}
	})
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, errRested) {
		return cause
	}
	return err
}

var errRested = errors.New("the time at rest is over")

func share(f sample.Figure, n int) sample.Figure {
	f.Value /= float64(n)
	return f
}

func over(f sample.Figure, d time.Duration) sample.Figure {
	f.Value /= d.Seconds()
	return f
}

func negative(f sample.Figure) sample.Figure {
	f.Value = -f.Value
	return f
}

func addPoint(t *rundir.Trial, series string, p rundir.Point) {
	if t.Series == nil {
		t.Series = map[string][]rundir.Point{}
	}
	t.Series[series] = append(t.Series[series], p)
}
