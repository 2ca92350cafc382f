package metrics

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tare/internal/environment"
	"tare/internal/run/schedule"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/usage"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// Phase is the state of a run.
type Phase string

// The phases.
const (
	Preparing Phase = "preparing"
	Waiting   Phase = "waiting" // until the machine is idle
	Running   Phase = "running"
	Done      Phase = "done"
)

var phases = []string{string(Preparing), string(Waiting), string(Running), string(Done)}

// undecided is the verdict on a contrast that more blocks can still decide.
const undecided = "open"

var verdicts = []string{string(verdict.Slower), string(verdict.Faster), string(verdict.Equivalent), string(verdict.Inconclusive), string(verdict.None), undecided}

// Run is the current metrics of one run: it is updated by the events of the run,
// and Prometheus collects it. It is safe for concurrent use.
type Run struct {
	now       func() time.Time
	described map[*Family]*prometheus.Desc
	starts    *prometheus.HistogramVec
	metrics   map[string][]workload.Metric // by the workload's name in the plan

	mu     sync.Mutex
	values values
	uses   map[cell]*use
	// before is the time that trials of earlier sessions took; began is the start
	// of this session's first trial, zero before it.
	before time.Duration
	began  time.Time
}

// New returns the metrics of a run that was just opened. earlier are the trials of
// earlier sessions, if the run is resumed.
func New(m rundir.Manifest, plan *study.Plan, earlier []rundir.Trial, now func() time.Time) *Run {
	r := opened(m, plan, now)
	for _, t := range earlier {
		r.Tried(t, nil)
	}
	r.before = rundir.Elapsed(earlier)
	return r
}

func opened(m rundir.Manifest, plan *study.Plan, now func() time.Time) *Run {
	constant := prometheus.Labels{RunLabel: m.Run}
	r := &Run{now: now, described: map[*Family]*prometheus.Desc{}, uses: map[cell]*use{}, metrics: map[string][]workload.Metric{}}
	for _, w := range plan.Workloads {
		r.metrics[w.Name] = w.Pack.Metrics
	}
	for _, f := range families {
		r.described[f] = prometheus.NewDesc(f.Name, f.Help, f.Labels, constant)
	}
	r.starts = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: Starts.Name, Help: Starts.Help, ConstLabels: constant,
		// From a process to a virtual machine under software emulation.
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120},
	}, Starts.Labels)
	r.values.set(RunInfo, 1, plan.Study, plan.Baseline, m.Tare)
	r.values.set(Began, stamp(m.Created))
	return r
}

func stamp(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// Enter sets the state of the run.
func (r *Run) Enter(p Phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values.one(State, phases, string(p))
	if p == Done {
		r.values.drop(Trying)
		r.values.drop(TryingSince)
		r.values.drop(End)
	}
}

// Progress sets the progress of the run.
func (r *Run) Progress(p schedule.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if r.began.IsZero() {
		r.began = now
	}
	r.values.set(BlockNow, float64(p.Block))
	r.values.known(BlockLimit, float64(p.MaxBlock), p.MaxBlock > 0)
	r.values.known(NextLook, float64(p.NextLook), p.NextLook > 0)
	r.values.set(Left, float64(p.Left))
	r.values.set(GivenUp, float64(len(p.GivenUp)))
	r.values.known(End, stamp(now.Add(p.Remaining)), p.Remaining > 0)
}

// Trying records the start of a trial, or of those whose samples alternate.
func (r *Run) Trying(slots ...schedule.Slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values.drop(Trying, slots[0].Node)
	for _, s := range slots {
		r.values.set(Trying, 1, s.Node, s.Environment, s.Workload, s.Level, strconv.Itoa(s.Block))
	}
	r.values.set(TryingSince, stamp(r.now()), slots[0].Node)
}

// Tried records the end of a trial, and the contrasts after it.
func (r *Run) Tried(t rundir.Trial, contrasts []verdict.Contrast) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := &r.values
	v.drop(Trying, t.Node)
	v.drop(TryingSince, t.Node)
	v.add(Trials, 1, t.Node, t.Environment, string(t.Status))
	if t.Node == "" || float64(t.Block) > v.at(BlockNow, nil).value { // a slow node ends an earlier one
		v.set(BlockNow, float64(t.Block))
	}
	if len(t.Phases) > 0 {
		took := environment.StartTime(t.Phases).Seconds()
		r.starts.WithLabelValues(t.Environment).Observe(took)
		v.set(LastStart, took, t.Node, t.Environment)
	}
	if !t.Traced { // tracing distorts its metrics
		r.measured(t)
	}
	r.settle(t)
	r.judge(contrasts)
}

// measured sets the metrics that a trial measured.
func (r *Run) measured(t rundir.Trial) {
	v := &r.values
	if t.Status == rundir.OK {
		for _, m := range r.metrics[t.Workload] {
			value, ok := t.Metrics[m.Name]
			v.known(Metric, value, ok, t.Node, t.Environment, t.Workload, t.Level, m.Name, m.Unit, m.Better)
		}
		v.known(Duration, t.HostSeconds, t.HostSeconds > 0, t.Node, t.Environment, t.Workload, t.Level)
	}
	if p := t.Pressure; p != nil {
		for resource, share := range map[string]*float64{"cpu": p.CPU, "io": p.IO, "memory": p.Memory} {
			v.optional(Pressure, share, resource)
		}
		v.optional(Canary, p.CanarySeconds)
	}
}

// judge sets the metrics of the contrasts.
func (r *Run) judge(contrasts []verdict.Contrast) {
	if len(contrasts) == 0 {
		return
	}
	v := &r.values
	count := map[string]float64{}
	for _, c := range contrasts {
		is := string(c.Verdict)
		if c.Open {
			is = undecided
		}
		if c.Primary {
			count[is]++
		}
		if c.N == 0 {
			continue
		}
		labels := []string{c.Environment, c.Baseline, c.Workload, c.Level, c.Metric, strconv.FormatBool(c.Primary), c.Part}
		ratio := c.Ratio()
		v.known(Ratio, ratio.Estimate, finite(ratio.Estimate), labels...)
		v.known(Low, ratio.Low, c.IntervalN > 0 && finite(c.Low), labels...)
		v.known(High, ratio.High, c.IntervalN > 0 && finite(c.High), labels...)
		v.set(Margin, c.Margin, labels...)
		v.set(Pairs, float64(c.N), labels...)
		v.set(Confounded, map[bool]float64{true: 1}[c.Confounded()], labels...)
		v.one(Verdict, verdicts, is, labels...)
	}
	for _, name := range verdicts {
		v.set(Verdicts, count[name], name)
	}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Describe and Collect implement prometheus.Collector.
func (r *Run) Describe(out chan<- *prometheus.Desc) {
	for f, d := range r.described {
		if f != Starts {
			out <- d
		}
	}
	r.starts.Describe(out)
}

// Collect sends the current values.
func (r *Run) Collect(out chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.began.IsZero() {
		r.values.set(Elapsed, (r.before + r.now().Sub(r.began)).Seconds())
	}
	for c, u := range r.uses {
		r.show(c, u)
	}
	host := usage.ReadHost()
	for _, resource := range []string{"cpu", "io", "memory"} {
		seconds, known := host.Stall[resource]
		r.values.known(Stall, seconds, known, resource)
	}
	r.values.optional(Steal, host.Steal)
	r.values.collect(r.described, out)
	r.starts.Collect(out)
}

// String is the state of the run in one line.
func (r *Run) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	phase, block := "opened", ""
	for _, s := range r.values.of[State] {
		if s.value == 1 {
			phase = s.labels[0]
		}
	}
	for _, s := range r.values.of[BlockNow] {
		block = fmt.Sprintf(", block %g", s.value)
	}
	var trying []string
	for _, s := range r.values.of[Trying] {
		text := fmt.Sprintf(", %s in %s", strings.TrimSpace(s.labels[2]+" "+s.labels[3]), s.labels[1])
		if s.labels[0] != "" {
			text += " on " + s.labels[0]
		}
		trying = append(trying, text)
	}
	slices.Sort(trying)
	return phase + block + strings.Join(trying, "")
}
