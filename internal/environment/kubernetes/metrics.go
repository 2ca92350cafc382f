package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/base/crash"
	"tare/internal/usage"
)

const (
	metricsGroup = "metrics.k8s.io"
	metricsPath  = "/apis/" + metricsGroup + "/v1beta1"
	// metricsPace is how often the metrics API is asked. Its values change every 15
	// seconds by default, so none is missed.
	metricsPace = 5 * time.Second
	// clockSlack is by how much a node's clock may differ: times of the API have whole
	// seconds.
	clockSlack = 2 * time.Second
	// leastCover is the least share of a trial that the windows have to cover.
	leastCover = 0.5
)

// window is what the metrics API says about a pod: the mean CPU use over a window of
// time, and the memory at its end.
type window struct {
	end        time.Time // by the clock of the node
	length     time.Duration
	cores      float64
	workingSet float64
}

// windowOf asks for the latest window of a pod.
func (c *cluster) windowOf(ctx context.Context, pod string) (window, error) {
	text, err := c.wire.Get().AbsPath(metricsPath, "namespaces", c.Namespace, "pods", pod).Do(ctx).Raw()
	if err != nil {
		return window{}, err
	}
	return readWindow(text)
}

// readWindow reads a PodMetrics.
func readWindow(text []byte) (w window, err error) {
	var answer struct {
		Timestamp  metav1.Time     `json:"timestamp"`
		Window     metav1.Duration `json:"window"`
		Containers []struct {
			Usage map[string]resource.Quantity `json:"usage"`
		} `json:"containers"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return w, fmt.Errorf("the answer of the metrics API: %w", err)
	}
	w = window{end: answer.Timestamp.Time, length: answer.Window.Duration}
	if w.end.IsZero() || w.length <= 0 || len(answer.Containers) == 0 {
		return w, errors.New("the answer of the metrics API has no window")
	}
	for _, c := range answer.Containers {
		cpu, memory := c.Usage["cpu"], c.Usage["memory"]
		w.cores += cpu.AsApproximateFloat64()
		w.workingSet += memory.AsApproximateFloat64()
	}
	return w, nil
}

// averaged reads the usage of an instance from the metrics API.
type averaged struct{ *instance }

// Meter asks the metrics API until it is stopped.
func (a averaged) Meter(usage.Options) usage.Meter {
	if why := a.clockDiffers(); why != "" {
		return unmeasured{why}
	}
	asking, end := context.WithCancel(context.Background())
	m := &windows{began: time.Now(), end: end, ended: make(chan struct{})}
	crash.Go(func() {
		defer close(m.ended)
		m.follow(asking, func(ctx context.Context) (window, error) { return a.cluster.windowOf(ctx, a.name) })
	})
	return m
}

// UsageOfStart is not known: a start is shorter than a window.
func (a averaged) UsageOfStart() usage.Usage {
	return usage.Unknown("the metrics API has averages over windows of seconds, and a start is shorter")
}

// clockDiffers is why windows, which have the times of the node's clock, cannot be
// told to be within a trial; "" where they can. The start of the pod's container is
// known by both clocks.
func (a averaged) clockDiffers() string {
	status := a.pod.Status.ContainerStatuses[0].State.Running
	if status == nil {
		return "whether the clock of the node agrees is not known: the pod's container does not run"
	}
	return clocksDiffer(status.StartedAt.Time, a.ran[0], a.ran[1])
}

func clocksDiffer(there, after, before time.Time) string {
	off := max(after.Sub(there), there.Sub(before))
	if off <= clockSlack {
		return ""
	}
	return fmt.Sprintf("the clock of the node differs from this machine's by %v or more, and the windows of the metrics API have its times", (off - time.Second).Round(time.Second))
}

// windows meters a pod by the windows of the metrics API.
type windows struct {
	began time.Time
	end   context.CancelFunc
	ended chan struct{}
	once  sync.Once
	used  usage.Usage
	seen  []window
	err   error // of the last request
}

// follow collects windows until the context ends.
func (m *windows) follow(ctx context.Context, ask func(context.Context) (window, error)) {
	turn := time.NewTicker(metricsPace)
	defer turn.Stop()
	for {
		m.look(ctx, ask)
		select {
		case <-turn.C:
		case <-ctx.Done():
			m.look(context.WithoutCancel(ctx), ask)
			return
		}
	}
}

func (m *windows) look(ctx context.Context, ask func(context.Context) (window, error)) {
	within, cancel := context.WithTimeout(ctx, metricsPace)
	defer cancel()
	w, err := ask(within)
	if ctx.Err() != nil {
		return
	}
	m.err = err
	if err == nil && !slices.ContainsFunc(m.seen, func(one window) bool { return one.end.Equal(w.end) }) {
		m.seen = append(m.seen, w)
	}
}

// Stop ends the meter.
func (m *windows) Stop() usage.Usage {
	m.once.Do(func() {
		stopped := time.Now()
		m.end()
		<-m.ended
		m.used = ofWindows(m.seen, m.began, stopped, m.err)
	})
	return m.used
}

// Series has no readings: windows are not samples.
func (m *windows) Series() *usage.Series { return &usage.Series{Began: m.began} }

// ofWindows is the usage between two moments by the windows that lie in between.
func ofWindows(seen []window, from, to time.Time, failed error) usage.Usage {
	used := usage.Unknown("the metrics API has only the CPU time and the working set of a pod")
	took := to.Sub(from)
	var covered time.Duration
	var busy, memory float64 // CPU time; working set times the length of the window
	n, longest := 0, time.Duration(0)
	for _, w := range seen {
		longest = max(longest, w.length)
		if w.end.Add(-w.length).Before(from.Add(-time.Second)) || w.end.After(to.Add(time.Second)) {
			continue
		}
		n, covered = n+1, covered+w.length
		busy += w.cores * w.length.Seconds()
		memory += w.workingSet * w.length.Seconds()
	}
	why := ""
	switch {
	case len(seen) == 0 && apierrors.IsNotFound(failed):
		why = "the metrics API had nothing about the pod yet: its first window takes up to a minute"
	case len(seen) == 0 && failed != nil:
		why = "asking the metrics API: " + failed.Error()
	case covered.Seconds() < leastCover*took.Seconds() || n == 0:
		why = fmt.Sprintf("the metrics API has averages over windows of up to %v, and those within the %v that were measured cover %v of it: make samples longer, or read the node's counters with usage: node",
			longest.Round(time.Second), took.Round(time.Second), covered.Round(time.Second))
	}
	cpu, working := usage.Absent("%s", why), usage.Absent("%s", why)
	if why == "" {
		cpu = usage.Known(busy / covered.Seconds() * took.Seconds())
		working = usage.Known(memory / covered.Seconds())
		used.Notes = []string{fmt.Sprintf("CPU time and working set are means of %d windows of the metrics API, which cover %.0f of %.0f s", n, covered.Seconds(), took.Seconds())}
	}
	used.CPUTime, used.WorkingSet = &cpu, &working
	return used
}
