package model

import (
	"math"
	"slices"

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
	absent map[cellKey]bool
	Phases []PhaseRow
	Paths  []PathRow
	Stolen []Stolen
	// Of workloads whose copies or neighbours are swept.
	within []verdict.Contrast
	// Why is the attribution of a run over a ladder.
	Why     []analysis.Attribution
	growths []verdict.Growth
	usages  map[cellKey][]*usage.Usage // metric is left empty
	values  map[cellKey][]float64
	Ranges  map[[2]string][2]float64 // workload and metric: the least and the largest figure
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

type cellKey struct{ workload, level, metric, environment string }

// New arranges a run for reading.
func New(in Input) *Report {
	v := &Report{Input: in, absent: map[cellKey]bool{}}
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
	v.within = verdict.Within(v.Plan, v.Trials, v.Manifest.Environments)
	v.growths = verdict.Growths(v.Plan, v.Trials, v.Manifest.Environments)
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

func (v *Report) gatherWorkloads(values map[cellKey][]float64) {
	contrasts := map[cellKey]*verdict.Contrast{}
	for i := range v.Contrasts {
		c := &v.Contrasts[i]
		contrasts[cellKey{c.Workload, c.Level, c.Metric, c.Environment}] = c
	}
	for i, w := range v.Plan.Workloads {
		wv := Workload{Workload: w, Index: i}
		for j, l := range w.Levels {
			lv := Level{Level: l, Index: j}
			for _, m := range metricsOf(w, l, v.Contrasts) {
				mv := v.metric(w, l, m, contrasts, values)
				if mv.nowhere() && v.worked(w.Name, l.Name) {
					v.absent[cellKey{workload: w.Name, level: l.Name, metric: m.Name}] = true
					continue
				}
				lv.Metrics = append(lv.Metrics, mv)
			}
			wv.Levels = append(wv.Levels, lv)
		}
		v.Workloads = append(v.Workloads, wv)
	}
}

func (v *Report) gatherUsages() {
	v.usages = map[cellKey][]*usage.Usage{}
	for i := range v.Trials {
		if t := &v.Trials[i]; t.Status == rundir.OK && t.Usage != nil {
			at := cellKey{workload: t.Workload, level: t.Level, environment: t.Environment}
			v.usages[at] = append(v.usages[at], t.Usage)
		}
	}
}

// gatherRanges finds the range of each metric of a workload over all environments
// and levels, which charts scale their axes by.
func (v *Report) gatherRanges(values map[cellKey][]float64) {
	v.Ranges = map[[2]string][2]float64{}
	for at, list := range values {
		for _, x := range list {
			k := [2]string{at.workload, at.metric}
			span, seen := v.Ranges[k]
			if !seen {
				span = [2]float64{x, x}
			}
			v.Ranges[k] = [2]float64{math.Min(span[0], x), math.Max(span[1], x)}
		}
	}
}
