package prices

import (
	"math"
	"slices"
	"strconv"

	"tare/internal/rundir"
	"tare/internal/study"
)

// Offered is at what rate requests came, and how long they took: of an open loop, whose rate does
// not depend on the answers.
type Offered struct {
	Rate      float64   `json:"rate"`  // requests per second
	Cores     float64   `json:"cores"` // that the environment had
	Latencies []Latency `json:"latencies"`
}

// Latency is one metric of how long requests take.
type Latency struct {
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	Value  Amount `json:"value"`
}

// LoadThere is a load in another environment, by prediction.
type LoadThere struct {
	// Use of the cores by all requests, natively and there; from 1 on the environment does not
	// hold the rate, and there are no latencies.
	NativeUse float64 `json:"native_use"`
	Use       Amount  `json:"use"`
	// Stretch is how many times as long the mean request takes.
	Stretch   *Amount   `json:"stretch,omitempty"`
	Latencies []Latency `json:"latencies,omitempty"`
}

// loadOf a workload that sends at a given rate; nil of any other.
func loadOf(r *rundir.Run, w study.Workload) *Offered {
	if w.Pack.OpenLoop == nil {
		return nil
	}
	made := &Offered{Cores: coresOf(r)}
	made.Rate, _ = strconv.ParseFloat(parameterOf(w, w.Pack.OpenLoop.Rate), 64)
	if made.Latencies = latenciesIn(r.Trials, w, r.Plan.Baseline); !(made.Rate > 0) || len(made.Latencies) == 0 {
		return nil
	}
	return made
}

func parameterOf(w study.Workload, name string) string {
	if v, there := w.Levels[0].Parameters[name]; there {
		return v
	}
	return w.Pack.Parameters[name].Default
}

// coresOf the baseline.
func coresOf(r *rundir.Run) float64 {
	cores := float64(r.Manifest.Machine.Cores)
	if e := r.Plan.Environment(r.Plan.Baseline); e != nil {
		if n := len(e.Limits.Cores); n > 0 {
			cores = float64(n)
		}
		if e.Limits.CPUs > 0 {
			cores = min(cores, e.Limits.CPUs)
		}
	}
	return cores
}

// meanLatency is the metric of an open loop that the others are stretched by.
const meanLatency = "latency_mean"

// latenciesIn an environment: the mean, and percentiles of the distribution that the objective of
// the pack is of, but for the extremes, which are of single requests.
func latenciesIn(trials []rundir.Trial, w study.Workload, environment string) (all []Latency) {
	main := w.Pack.Metric(w.Pack.OpenLoop.Latency)
	for _, m := range w.Pack.Metrics {
		if m.Name != meanLatency && (main == nil || m.Of != main.Of || m.Percentile == nil || *m.Percentile > 99) {
			continue
		}
		var values []float64
		for _, t := range trials {
			if v, there := t.Metrics[m.Name]; there && t.Environment == environment && t.Workload == w.Name && t.Level == w.Levels[0].Name && t.Status == rundir.OK {
				values = append(values, v)
			}
		}
		if a := positive(values); a != nil {
			all = append(all, Latency{m.Name, m.Unit, *a})
		}
	}
	if at := slices.IndexFunc(all, func(l Latency) bool { return l.Metric == meanLatency }); at > 0 {
		all[0], all[at] = all[at], all[0]
	}
	return all
}

// positive is the amount of values that vary by factors, as latencies do: that of their logarithms.
func positive(values []float64) *Amount {
	var logs []float64
	for _, v := range values {
		if v > 0 {
			logs = append(logs, math.Log(v))
		}
	}
	a := amount(logs)
	if a == nil {
		return nil
	}
	made := a.by(math.Exp)
	return &made
}

// sojourn is how long a request stays that waits for so many seconds of work, where requests use
// a share of a number of cores: the work, and Sakasegawa's approximation of the wait in a queue
// with random arrivals (An approximation formula Lq ≈ αρ^β/(1-ρ), Annals of the Institute of
// Statistical Mathematics 29, 1977), which for one core is work/(1-use), as of a processor that
// its requests share. Infinite where the cores do not suffice.
func sojourn(work, use, cores float64) float64 {
	if !(use < 1) {
		return math.Inf(1)
	}
	return work * (1 + math.Pow(use, math.Sqrt(2*(cores+1))-1)/(cores*(1-use)))
}

// waited is the share of what an environment adds that a request waits for: not the timers, and the
// threads and programs that are started, which go on beside it.
func waited(items []Share) float64 {
	var all, there float64
	for _, s := range items {
		all += max(s.CPU, 0)
		if !slices.Contains([]string{timers, programs, processes, startedThreads}, s.Name) {
			there += max(s.CPU, 0)
		}
	}
	if all == 0 {
		return 1
	}
	return there / all
}

// loadThere stretches the latencies that were measured natively. The mean grows by as much as a
// request stays longer, by the share of what an operation adds to the CPU time there that it waits
// for; the distribution keeps its shape. The interval carries that of the CPU time, and the noise
// of the native latency twice: natively, and in a measurement there.
func (p Profile) loadThere(more Amount, waited float64) *LoadThere {
	if p.Load == nil || len(p.Load.Latencies) == 0 {
		return nil
	}
	const second = 1e9
	rate, cores := p.Load.Rate, p.Load.Cores
	use := func(more float64) float64 { return max(0, p.CPU.Estimate+more) / second * rate / cores }
	made := &LoadThere{NativeUse: use(0), Use: more.by(use)}
	native := p.Load.Latencies[0]
	mean := native.Value.Estimate / perSecond(native.Unit)
	stay := sojourn(p.CPU.Estimate/second, use(0), cores)
	if !(made.Use.Estimate < 1) || !(mean > 0) || math.IsInf(stay, 1) {
		return made
	}
	stretch := more.by(func(more float64) float64 {
		return max(0, 1+(sojourn(max(0, p.CPU.Estimate+waited*more)/second, use(more), cores)-stay)/mean)
	})
	made.Stretch = &stretch
	if stretch.bounded() && math.IsInf(*stretch.High, 1) { // the upper end of the CPU time does not hold the rate
		stretch.Low, stretch.High = nil, nil
	}
	for _, l := range p.Load.Latencies {
		v := Amount{Estimate: l.Value.Estimate * stretch.Estimate}
		if stretch.bounded() && l.Value.bounded() {
			below, above := v.Estimate*(1-*l.Value.Low/l.Value.Estimate), v.Estimate*(*l.Value.High/l.Value.Estimate-1)
			low := max(0, v.Estimate-norm(v.Estimate-l.Value.Estimate**stretch.Low, below, below))
			high := v.Estimate + norm(l.Value.Estimate**stretch.High-v.Estimate, above, above)
			v.Low, v.High = &low, &high
		}
		made.Latencies = append(made.Latencies, Latency{l.Metric, l.Unit, v})
	}
	return made
}

// by is a rising function of an amount.
func (a Amount) by(f func(float64) float64) Amount {
	made := Amount{Estimate: f(a.Estimate)}
	if a.bounded() {
		low, high := f(*a.Low), f(*a.High)
		made.Low, made.High = &low, &high
	}
	return made
}

// perSecond is how many of a unit are a second.
func perSecond(unit string) float64 {
	if n, known := map[string]float64{"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit]; known {
		return n
	}
	return math.NaN()
}
