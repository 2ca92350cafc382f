// Package analysis computes from the verdicts of a run over a ladder what each part of
// the isolation layer costs, and what no part explains.
//
// It must not know how a ladder is built, or any kind of environment.
package analysis

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/usage/cost"
	"tare/internal/verdict"
)

// RestPart is the part that no named part explains.
const RestPart = "rest"

// Attribution is the decomposition of the difference between the two ends of a ladder,
// for one metric of one workload at one level.
type Attribution struct {
	Workload string `json:"workload"`
	Level    string `json:"level,omitempty"`
	Metric   string `json:"metric"`
	Unit     string `json:"unit"`
	Better   string `json:"better"`
	Primary  bool   `json:"primary"`
	From     string `json:"from"`
	To       string `json:"to"`
	// Orders is how many orders of the parts there were; 1 for a ladder.
	Orders int   `json:"orders"`
	Total  Share `json:"total"`
	// Parts in the order in which the ladder switches them on.
	Parts []Share `json:"parts"`
	// Unexplained is the total without all named parts.
	Unexplained Unexplained `json:"unexplained"`
	// Sentences say what each material part costs.
	Sentences []string `json:"sentences,omitempty"`
}

// Share is what one part does to the metric, or all of them together.
type Share struct {
	Part  string `json:"part"` // "" for the total
	Name  string `json:"name"`
	About string `json:"about,omitempty"`
	// Contrast is the part's estimate and verdict. The intervals of the parts hold
	// simultaneously; the interval of the total is separate.
	Contrast verdict.Contrast `json:"contrast"`
	// Of is the estimate divided by the total's, both as log ratios; nil if the interval
	// of the total includes zero, or if the part has no verdict or an inconclusive one.
	Of *float64 `json:"share"`
	// Material: the interval excludes zero and does not lie within the margin, and
	// the verdict is not that the part is equivalent to nothing.
	Material bool `json:"material"`
	// Before is the sum of the estimates of the parts before this one: where it
	// begins in a waterfall.
	Before float64 `json:"-"`
	// Least and Most are the range of the estimates of single orders, as log
	// ratios; nil where there is one order, or all orders compare the same two
	// environments, as of a part that stands first in each.
	Least *float64 `json:"least,omitempty"`
	Most  *float64 `json:"most,omitempty"`

	step study.Step // the first that switches it
}

// Rest reports whether it is the part that no named part explains.
func (s Share) Rest() bool { return s.Part == RestPart }

// Decided reports whether the part has a verdict that the blocks decide.
func (s Share) Decided() bool {
	return s.Contrast.Verdict != verdict.Inconclusive && s.Contrast.Verdict != verdict.None
}

// Unexplained is the total without the parts that have a name, block by block,
// over the blocks in which every rung has a value.
type Unexplained struct {
	N int // complete blocks
	// Estimate, Low and High are log ratios; an end without a bound is infinite.
	Estimate, Low, High float64
	// Exact: the named parts add up to the total in every block, since no part is the
	// rest.
	Exact bool
}

// Bounded reports whether there is an interval.
func (u Unexplained) Bounded() bool { return !math.IsInf(u.Low, 0) && !math.IsInf(u.High, 0) }

// MarshalJSON writes an end without a bound as null.
func (u Unexplained) MarshalJSON() ([]byte, error) {
	finite := func(x float64) *float64 {
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return nil
		}
		return &x
	}
	return json.Marshal(map[string]any{"n": u.N, "exact": u.Exact, "estimate": finite(u.Estimate), "low": finite(u.Low), "high": finite(u.High)})
}

// Of makes the attributions of a run whose plan has steps, of the metrics
// that the workloads are judged by and of what operations cost. What else was
// seen gives causes to its sentences, and no figure. It is a pure function of
// what the run directory has.
func Of(plan *study.Plan, trials []rundir.Trial, contrasts []verdict.Contrast, seen Seen) []Attribution {
	if len(plan.Steps) == 0 {
		return nil
	}
	var all []Attribution
	at := map[subject.Figure]int{}
	for _, c := range contrasts {
		if !c.Primary && !cost.Named(c.Metric) || c.Orders == 0 {
			continue
		}
		key := c.Figure().In("") // the rungs are parts of one
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, Attribution{Workload: c.Workload, Level: c.Level, Metric: c.Metric, Unit: c.Unit, Better: c.Better, Primary: c.Primary, Orders: 1})
		}
		step := stepOf(plan, c.Part)
		a, share := &all[i], Share{Part: c.Part, Name: c.Name, About: step.About, Contrast: c, Material: material(c), step: step}
		if c.Part == "" {
			a.Total, a.From, a.To = share, c.Baseline, c.Environment
			continue
		}
		a.Orders = max(a.Orders, c.Orders)
		a.Parts = append(a.Parts, share)
	}
	all = slices.DeleteFunc(all, func(a Attribution) bool { return a.To == "" })
	for i := range all {
		all[i].fill(plan, trials, seen)
	}
	return all
}

func (a *Attribution) place() subject.Place {
	return subject.Place{Workload: a.Workload, Level: a.Level}
}

func stepOf(plan *study.Plan, part string) study.Step {
	i := slices.IndexFunc(plan.Steps, func(s study.Step) bool { return s.Part == part })
	if i < 0 {
		return study.Step{}
	}
	return plan.Steps[i]
}

// material reports whether a part has a relevant effect; see Share.Material.
func material(c verdict.Contrast) bool {
	v := stats.Interval{Estimate: c.Estimate, Low: c.Low, High: c.High}
	return c.Bounded() && (c.Verdict == verdict.Slower || c.Verdict == verdict.Faster) && v.ExcludesZero() && !v.Inside(math.Log1p(c.Margin))
}

// fill adds the values that depend on all parts.
func (a *Attribution) fill(plan *study.Plan, trials []rundir.Trial, seen Seen) {
	logs := verdict.LogsOf(plan, trials, a.place().Of(a.Metric))
	sum := 0.0
	for i := range a.Parts {
		s := &a.Parts[i]
		s.Before = sum
		if e := s.Contrast.Estimate; !math.IsNaN(e) {
			sum += e
			if s.Decided() {
				s.Of = shareOf(e, a.Total.Contrast)
			}
		}
		s.spread(plan.Steps, logs)
	}
	a.unexplained(plan, logs)
	for _, s := range a.Parts {
		if s.Material {
			a.Sentences = append(a.Sentences, s.sentence(a, seen.cause(plan, a, s.Part)))
		}
	}
}

// shareOf is the share of the total, nil if the interval of the total includes zero.
func shareOf(estimate float64, total verdict.Contrast) *float64 {
	if !total.Bounded() || total.Low <= 0 && total.High >= 0 {
		return nil
	}
	share := estimate / total.Estimate
	return &share
}

// spread sets the range of a part's estimates by single orders. Each is a Hodges-Lehmann
// estimate: the median of the Walsh averages of the differences in blocks (Hodges and
// Lehmann 1963, "Estimates of location based on rank tests", Annals of Mathematical
// Statistics 34).
func (s *Share) spread(steps []study.Step, logs map[string]map[int]stats.Logs) {
	if s.Contrast.Orders < 2 {
		return
	}
	type pair struct{ environment, base string }
	pairs := map[pair]bool{}
	for _, step := range steps {
		if step.Part == s.Part {
			pairs[pair{step.Environment, step.Base}] = true
		}
	}
	if len(pairs) < 2 {
		return
	}
	for _, step := range steps {
		if step.Part != s.Part {
			continue
		}
		var d []float64
		for block, with := range logs[step.Environment] {
			without, both := logs[step.Base][block]
			if !both {
				continue
			}
			if sum := stats.SumOf(stats.Difference(1, with, without)); !sum.Sparse() {
				d = append(d, sum.Log)
			}
		}
		if len(d) == 0 {
			continue
		}
		e := stats.NewWalsh(d).Median()
		if s.Least == nil || e < *s.Least {
			s.Least = &e
		}
		if s.Most == nil || e > *s.Most {
			s.Most = &e
		}
	}
}

// rounding is the largest log ratio that counts as a rounding error.
const rounding = 1e-9

// unexplained computes the remainder of each block, its Hodges-Lehmann estimate and
// interval. The interval uses the interim analyses and the level of the parts: where the
// last part is the rest, it equals the rest's interval over the complete blocks, and
// needs no separate share of the error probability.
func (a *Attribution) unexplained(plan *study.Plan, logs map[string]map[int]stats.Logs) {
	u := &a.Unexplained
	*u = Unexplained{Estimate: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}
	orders := map[string]float64{}
	for _, s := range a.Parts {
		orders[s.Part] = float64(s.Contrast.Orders)
	}
	var d []float64
	for _, block := range slices.Sorted(maps.Keys(logs[a.From])) {
		if left, complete := remainder(plan.Steps, orders, logs, block); complete {
			d = append(d, left)
		}
	}
	if u.N = len(d); u.N == 0 {
		return
	}
	u.Exact = !slices.ContainsFunc(d, func(x float64) bool { return math.Abs(x) > rounding })
	if u.Exact {
		u.Estimate, u.Low, u.High = 0, 0, 0
		return
	}
	u.Estimate = stats.NewWalsh(d).Median()
	n := len(d)
	alpha := 0.0
	if len(a.Parts) > 0 {
		if alpha = a.Parts[0].Contrast.Alpha; !plan.Design.Blocks.Open {
			n = min(n, a.Parts[0].Contrast.IntervalN)
		}
	}
	switch {
	case n < stats.LeastBlocks || alpha <= 0:
	case plan.Design.Blocks.Open:
		v := stats.OpenInterval(d, alpha)
		u.Estimate, u.Low, u.High = v.Estimate, v.Low, v.High
	default:
		v := stats.HodgesLehmann(d[:n], alpha)
		u.Estimate, u.Low, u.High = v.Estimate, v.Low, v.High
	}
}

// remainder of a block is its total without the named parts. Each part is the mean over
// its orders: with random orders the sampling estimator of its Shapley value (see
// attribution.Orders). If the environments alternated, the remainder is that of each
// round, and the block's is their location: a location is not additive, so the
// difference between the locations of the total and of the parts would not be 0 where
// nothing remains.
func remainder(steps []study.Step, orders map[string]float64, logs map[string]map[int]stats.Logs, block int) (left float64, complete bool) {
	var terms []stats.Term
	for _, s := range steps {
		with, there := logs[s.Environment][block]
		without, also := logs[s.Base][block]
		weight := 0.0
		switch {
		case !there || !also:
			return 0, false
		case s.Part == "":
			weight = 1
		case s.Part != RestPart && orders[s.Part] > 0:
			weight = -1 / orders[s.Part]
		default:
			continue
		}
		terms = append(terms, stats.Difference(weight, with, without)...)
	}
	sum := stats.SumOf(terms)
	return sum.Log, !sum.Sparse()
}
