package model

import (
	"math"
	"slices"

	"tare/internal/stats"
	"tare/internal/subject"

	"tare/internal/attribution/analysis"
	"tare/internal/base/lists"
	"tare/internal/parity"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/usage"
	"tare/internal/verdict"
)

// Compared are the environments that have a column in the matrix.
func (v *Report) Compared() []Environment {
	return lists.Filter(v.Environments, Environment.Compared)
}

// Report is a run arranged for reading, in the order of the study. Every format
// prints it.
type Report struct {
	Input
	Environments []Environment
	Workloads    []Workload
	Skipped      []Skipped
	Failed       []Failure // trials that failed, by reason
	Known        []Failure // trials that were skipped, by reason
	Notes        []Note
	Findings     []Finding // of imported results
	Fair         []parity.Summary
	Base         Environment // the baseline
	Blocks       int
	OK, Bad, Out int // trials that succeeded, failed, were skipped

	// absent are the metrics that no environment has a figure of, though trials
	// worked: those of a test that was not asked for, or of a direction.
	absent map[subject.Figure]bool
	Phases []PhaseRow
	Paths  []PathRow
	Stolen []Stolen
	// Why is the attribution of a run over a ladder.
	Why    []analysis.Attribution
	Usages map[subject.Cell][]*usage.Usage // of the trials that succeeded
	values map[subject.Figure][]float64
	// Ranges are the least and the largest figure of a metric in a workload, at whichever level.
	Ranges map[subject.Figure][2]float64
}

// Workload is a workload with its levels.
type Workload struct {
	study.Workload
	Index  int
	Levels []Level
}

// Level is a level of a workload with its metrics.
type Level struct {
	study.Level
	Index   int
	Metrics []Metric
}

// Place of a level in a workload.
func (l Level) Place(w Workload) subject.Place { return subject.Place{Workload: w.Name, Level: l.Name} }

// New arranges a run for reading.
func New(in Input) *Report {
	v := &Report{Input: in, absent: map[subject.Figure]bool{}}
	v.separateSteps()
	v.Fair = parity.Summarize(in.Parity)
	v.gatherEnvironments()
	v.count()
	v.values = valuesOf(v)
	v.gatherWorkloads(v.values)
	v.Stolen = StolenShares(v.Plan, v.Trials)
	v.gatherNotes()
	v.Paths = gatherPaths(v)
	v.Notes = slices.Concat(machinesDiffer(v), disksDiffer(v.Paths), v.Notes)
	v.gatherFindings()
	v.Phases = gatherPhases(v)
	v.gatherUsages()
	v.gatherRanges(v.values)
	return v
}

func (v *Report) gatherEnvironments() {
	for i, e := range v.Plan.Environments {
		facts := v.Manifest.Environments[e.Name]
		ev := Environment{Environment: e, Facts: facts, Shown: labelled(e.Name, facts.Label), On: hostOf(v.Plan, e),
			Baseline: e.Name == v.Plan.Baseline, Rung: v.Plan.Rung(e.Name), Index: i}
		v.Environments = append(v.Environments, ev)
		if ev.Baseline {
			v.Base = ev
		}
		if !ev.Ran() {
			v.Skipped = append(v.Skipped, Skipped{ev, NeedingFix(facts.Findings)})
		}
	}
}

func (v *Report) gatherWorkloads(values map[subject.Figure][]float64) {
	contrasts := map[subject.Figure]*verdict.Contrast{}
	for i := range v.Contrasts {
		c := &v.Contrasts[i]
		contrasts[c.Figure()] = c
	}
	for i, w := range v.Plan.Workloads {
		wv := Workload{Workload: w, Index: i}
		for j, l := range w.Levels {
			lv := Level{Level: l, Index: j}
			for _, m := range metricsOf(w, l, v.Contrasts) {
				mv := v.metric(w, l, m, contrasts, values)
				if mv.nowhere() && v.worked(lv.Place(wv)) {
					v.absent[lv.Place(wv).Of(m.Name)] = true
					continue
				}
				at := len(lv.Metrics)
				if mv.Failures {
					at = 0 // what follows is about what did not fail
				}
				lv.Metrics = slices.Insert(lv.Metrics, at, mv)
			}
			wv.Levels = append(wv.Levels, lv)
		}
		v.Workloads = append(v.Workloads, wv)
	}
}

func (v *Report) gatherUsages() {
	v.Usages = map[subject.Cell][]*usage.Usage{}
	for i := range v.Trials {
		if t := &v.Trials[i]; t.Status == rundir.OK && t.Usage != nil {
			v.Usages[t.Cell()] = append(v.Usages[t.Cell()], t.Usage)
		}
	}
}

// Use is the median of a figure of the resource use over the trials of a cell that have it;
// without one, the most frequent reason.
func (v *Report) Use(at subject.Cell, of func(*usage.Usage) usage.Figure) usage.Figure {
	var values []float64
	reasons := map[string]int{}
	for _, u := range v.Usages[at] {
		if f := of(u); f.Missing == "" {
			values = append(values, f.Value)
		} else {
			reasons[f.Missing]++
		}
	}
	if len(values) == 0 {
		return usage.Figure{Missing: MostFrequent(reasons)}
	}
	return usage.Known(stats.Median(values))
}

// RangeOf is the key of a range.
func RangeOf(workload, metric string) subject.Figure {
	return subject.Place{Workload: workload}.Of(metric)
}

// gatherRanges finds the range of each metric of a workload over all environments
// and levels, which charts scale their axes by.
func (v *Report) gatherRanges(values map[subject.Figure][]float64) {
	v.Ranges = map[subject.Figure][2]float64{}
	for at, list := range values {
		for _, x := range list {
			k := RangeOf(at.Workload, at.Metric)
			span, seen := v.Ranges[k]
			if !seen {
				span = [2]float64{x, x}
			}
			v.Ranges[k] = [2]float64{math.Min(span[0], x), math.Max(span[1], x)}
		}
	}
}
