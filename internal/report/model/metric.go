package model

import (
	"cmp"
	"math"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/stats"
	"tare/internal/verdict"

	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/usage/cost"
	"tare/internal/workload"
)

// Ran leaves out the cells of environments that were skipped as a whole.
func (m Metric) Ran() []Cell {
	return lists.Filter(m.Cells, func(c Cell) bool { return c.Environment.Ran() })
}

// Swept reports whether the workload has more than one level.
func (w Workload) Swept() bool { return len(w.Levels) > 1 }

// AllMetrics of a workload at any level, in the order in which charts number them.
func (w Workload) AllMetrics() []Metric {
	var all []Metric
	seen := map[string]bool{}
	for _, l := range w.Levels {
		for _, m := range l.Metrics {
			if !seen[m.Name] {
				seen[m.Name] = true
				all = append(all, m)
			}
		}
	}
	return all
}

// Cell is that of an environment; nil where there is none.
func (m Metric) Cell(environment string) *Cell {
	return lists.Find(m.Cells, func(c *Cell) bool { return c.Environment.Name == environment })
}

// At is the median in an environment, NaN without one, and its comparison with the baseline.
func (m *Metric) At(e *Environment) (float64, *verdict.Contrast) {
	if m != nil && e.Baseline {
		return m.Reference, nil
	}
	if m != nil {
		if c := m.Cell(e.Name); c != nil {
			return c.Median, c.Contrast
		}
	}
	return math.NaN(), nil
}

// Metric is one of the level by its name; nil where there is none.
func (l Level) Metric(name string) *Metric {
	return lists.Find(l.Metrics, func(m *Metric) bool { return m.Name == name })
}

// Row is a metric of a workload at a level.
type Row struct {
	Workload Workload
	Level    Level
	Metric   Metric
}

// Title is the workload with the level.
func (r Row) Title() string { return LevelTitle(r.Workload.Name, r.Level.Name) }

// Place of the row in the study.
func (r Row) Place() subject.Place { return r.Level.Place(r.Workload) }

// Rows are the metrics of the run, in the order of the study.
func (v *Report) Rows() (rows []Row) {
	for _, w := range v.Workloads {
		for _, l := range w.Levels {
			for _, m := range l.Metrics {
				rows = append(rows, Row{w, l, m})
			}
		}
	}
	return rows
}

// Primary are the rows of primary metrics.
func (v *Report) Primary() []Row {
	return lists.Filter(v.Rows(), func(r Row) bool { return r.Metric.Primary })
}

// Metric is one metric of one workload at one level: a row of the verdict
// matrix.
type Metric struct {
	workload.Metric
	Companion bool // CPU time per thousand operations
	// Failures: the share of the operations that failed, of which some did.
	Failures bool
	// Reference is the median at the baseline; NaN where it has no figure.
	Reference float64
	Cells     []Cell // an environment each, in the study's order, without the baseline
}

// Cell is one environment's contrast, or the reason why there is none.
type Cell struct {
	Environment *Environment
	Contrast    *verdict.Contrast
	Median      float64
	Reason      string
	NoRatio     bool // given up since a side has 0, or fails more
	Failing     bool // the latter
}

// nowhere reports whether a metric that is not primary has no value in any
// environment.
func (m Metric) nowhere() bool {
	return !m.Primary && math.IsNaN(m.Reference) && !slices.ContainsFunc(m.Cells, func(c Cell) bool { return !math.IsNaN(c.Median) })
}

// worked reports whether any trial of a place succeeded.
func (v *Report) worked(at subject.Place) bool {
	return slices.ContainsFunc(v.Trials, func(t rundir.Trial) bool { return t.Cell().Place() == at && t.Status == rundir.OK })
}

// metricsOf returns the metrics of the pack, followed by derived ones in the order of
// the contrasts. Contrasts, if there are any, decide which metrics are primary.
func metricsOf(w study.Workload, l study.Level, contrasts []verdict.Contrast) []workload.Metric {
	metrics := append([]workload.Metric(nil), w.Pack.Metrics...)
	index := map[string]int{}
	for i, m := range metrics {
		index[m.Name] = i
	}
	for _, c := range contrasts {
		if c.Workload != w.Name || c.Level != l.Name {
			continue
		}
		i, known := index[c.Metric]
		if !known {
			i = len(metrics)
			index[c.Metric] = i
			metrics = append(metrics, workload.Metric{Name: c.Metric, Unit: c.Unit, Better: c.Better})
		}
		metrics[i].Primary = c.Primary
	}
	return metrics
}

func (v *Report) metric(w study.Workload, l study.Level, m workload.Metric, contrasts map[subject.Figure]*verdict.Contrast, values map[subject.Figure][]float64) Metric {
	at := subject.Place{Workload: w.Name, Level: l.Name}.Of(m.Name)
	middle := stats.Median
	if m.Name == workload.ErrorRatio {
		middle = meanOf // failures come in clusters: half of the trials may have none
	}
	mv := Metric{Metric: m, Companion: m.Name == companion, Reference: middle(values[at.In(v.Plan.Baseline)])}
	for i := range v.Environments {
		e := &v.Environments[i]
		if e.Baseline || e.Rung {
			continue
		}
		at := at.In(e.Name)
		c := Cell{Environment: e, Contrast: contrasts[at], Median: middle(values[at])}
		switch {
		case c.Contrast == nil:
			c.Reason = v.cellReason(at, e)
		case c.Contrast.NoRatio():
			c.Failing = c.Contrast.Reason.Code == verdict.Failing
			c.Contrast, c.Reason, c.NoRatio = nil, NoRatioReason(c.Contrast), true
		case c.Contrast.N == 0:
			c.Contrast, c.Reason = nil, v.cellReason(at, e)
		}
		mv.Cells = append(mv.Cells, c)
	}
	mv.Failures = m.Name == workload.ErrorRatio && (mv.Reference > 0 || slices.ContainsFunc(mv.Cells, func(c Cell) bool { return c.Median > 0 }))
	return mv
}

// meanOf is the mean of the values; NaN of none.
func meanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// cellReason is why an environment has no value of a metric.
func (v *Report) cellReason(at subject.Figure, e *Environment) string {
	if !e.Ran() {
		return "skipped: the environment is not usable here"
	}
	reasons := map[string]int{}
	for _, t := range v.Trials {
		if t.Cell() != at.Cell {
			continue
		}
		switch {
		case t.Status == rundir.Failed:
			reasons["failed: "+t.Reason]++
		case t.Status == rundir.Skipped:
			reasons["skipped: "+t.Reason]++
		case t.Missing[at.Metric] != "":
			reasons[t.Missing[at.Metric]]++
		}
	}
	return cmp.Or(MostFrequent(reasons), "no block has values for both this environment and the baseline")
}

// MissingReason is why a metric has no value in the trials of an environment.
func (v *Report) MissingReason(of subject.Figure) string {
	reasons := map[string]int{}
	for _, t := range v.Trials {
		if t.Cell() == of.Cell && t.Status == rundir.OK && t.Missing[of.Metric] != "" {
			reasons[t.Missing[of.Metric]]++
		}
	}
	return cmp.Or(MostFrequent(reasons), "no trial has a value")
}

// Title is what a metric is called in headings.
func (m Metric) Title() string { return metricTitle(m.Name) }

// metricTitle is a metric's name; what operations cost has one in words.
func metricTitle(metric string) string {
	if c, known := cost.Lookup(metric); known {
		return c.InWords()
	}
	return metric
}

// Heading is the title with the unit and the direction.
func (m Metric) Heading() string {
	text := m.Title()
	if ShortUnit(m.Unit) != m.Unit && !cost.Named(m.Name) {
		text += ", " + m.Unit // other units are printed with every value
	}
	return text + ", " + m.Better + " is better"
}

// Values are those of a metric in all trials that succeeded.
func (v *Report) Values(of subject.Figure) []float64 {
	return v.values[of]
}

// valuesOf collects every figure of the run.
func valuesOf(v *Report) map[subject.Figure][]float64 {
	workloads := map[string]*study.Workload{}
	for i := range v.Plan.Workloads {
		workloads[v.Plan.Workloads[i].Name] = &v.Plan.Workloads[i]
	}
	values := map[subject.Figure][]float64{}
	for i := range v.Trials {
		t := &v.Trials[i]
		w := workloads[t.Workload]
		if w == nil || t.Status != rundir.OK {
			continue
		}
		for m, x := range t.Metrics {
			at := t.Cell().Of(m)
			values[at] = append(values[at], x)
		}
	}
	return values
}
