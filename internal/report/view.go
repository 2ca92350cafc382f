package report

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"tare/internal/attribution/analysis"
	"tare/internal/cost"
	"tare/internal/environment"
	"tare/internal/parity"
	"tare/internal/rundir"
	"tare/internal/sample"
	"tare/internal/study"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// view is a run arranged for reading, in the order of the study: what every
// format prints.
type view struct {
	Input
	Environments []environmentView
	Workloads    []workloadView
	Skipped      []skipped
	Failed       []failure // trials that failed, by reason
	Known        []failure // trials that were skipped, by reason
	Notes        []note
	Findings     []finding // of imported results
	Fair         []parity.Summary
	Base         environmentView // the baseline
	Blocks       int
	OK, Bad, Out int // trials that succeeded, failed, were skipped

	// absent are the metrics that no environment has a figure of, though trials
	// worked: those of a test that was not asked for, or of a direction.
	absent map[where]bool
	starts []phaseRow
	Paths  []pathRow
	// Of workloads whose copies or neighbours are swept.
	within []contrast
	// Why is where the difference comes from, of a run over a ladder.
	Why     []analysis.Attribution
	growths []verdict.Growth
	usages  map[where][]*sample.Usage // metric is left empty
	ranges  map[[2]string][2]float64  // workload and metric: the least and the largest figure
}

type environmentView struct {
	study.Environment
	Facts    rundir.EnvironmentFacts
	Shown    string // with its label: "vm [tcg]"
	On       string // the host of the study that it runs on: "host far (ubuntu@10.0.0.2)"; "" is this machine
	Baseline bool
	Rung     bool // of a ladder, between its ends
	Index    int
}

// Ran says whether the environment was usable at all.
func (e environmentView) Ran() bool { return e.Facts.State != environment.Missing }

type workloadView struct {
	study.Workload
	Index  int
	Levels []levelView
}

type levelView struct {
	study.Level
	Index   int
	Metrics []metricView
}

// metricView is one metric of one workload at one level: a row of the verdict
// matrix.
type metricView struct {
	workload.Metric
	Companion bool // CPU time per thousand operations
	// Reference is the median at the baseline; NaN where it has no figure.
	Reference float64
	Cells     []cell // an environment each, in the study's order, without the baseline
}

// cell is one environment's contrast, or the reason why there is none.
type cell struct {
	Environment *environmentView
	Contrast    *contrast
	Median      float64
	Reason      string
	NoRatio     bool // given up since a side has 0
}

type skipped struct {
	Environment environmentView
	Findings    []environment.Finding
}

type failure struct {
	Shown, Workload, Level, Reason string // Shown: the environment with its label
	Blocks                         []int
}

type where struct{ workload, level, metric, environment string }

func newView(in Input) *view {
	v := &view{Input: in, absent: map[where]bool{}}
	v.apart()
	v.Fair = parity.Summarize(in.Parity)
	in = v.Input
	for i, e := range in.Plan.Environments {
		facts := in.Manifest.Environments[e.Name]
		ev := environmentView{Environment: e, Facts: facts, Shown: shown(e.Name, facts.Label), On: hostOf(in.Plan, e), Baseline: e.Name == in.Plan.Baseline, Rung: in.Plan.Rung(e.Name), Index: i}
		v.Environments = append(v.Environments, ev)
		if ev.Baseline {
			v.Base = ev
		}
		if !ev.Ran() {
			v.Skipped = append(v.Skipped, skipped{ev, mendable(facts.Findings)})
		}
	}
	v.count()
	contrasts := map[where]*contrast{}
	for i := range in.Contrasts {
		c := &in.Contrasts[i]
		contrasts[where{c.Workload, c.Level, c.Metric, c.Environment}] = c
	}
	values := valuesOf(v)
	for i, w := range in.Plan.Workloads {
		wv := workloadView{Workload: w, Index: i}
		for j, l := range w.Levels {
			lv := levelView{Level: l, Index: j}
			for _, m := range metricsOf(w, l, in.Contrasts) {
				mv := v.metric(w, l, m, contrasts, values)
				if mv.nowhere() && v.worked(w.Name, l.Name) {
					v.absent[where{workload: w.Name, level: l.Name, metric: m.Name}] = true
					continue
				}
				lv.Metrics = append(lv.Metrics, mv)
			}
			wv.Levels = append(wv.Levels, lv)
		}
		v.Workloads = append(v.Workloads, wv)
	}
	v.gatherNotes()
	v.Paths = gatherPaths(v)
	v.Notes = slices.Concat(machinesDiffer(v), disksDiffer(v.Paths), v.Notes)
	v.gatherFindings()
	v.starts = gatherStarts(v)
	v.within = verdict.Within(in.Plan, in.Trials, in.Manifest.Environments)
	v.growths = verdict.Growths(in.Plan, in.Trials, in.Manifest.Environments)
	v.usages, v.ranges = map[where][]*sample.Usage{}, map[[2]string][2]float64{}
	for i := range in.Trials {
		if t := &in.Trials[i]; t.Status == rundir.OK && t.Usage != nil {
			at := where{workload: t.Workload, level: t.Level, environment: t.Environment}
			v.usages[at] = append(v.usages[at], t.Usage)
		}
	}
	for at, list := range values {
		for _, x := range list {
			k := [2]string{at.workload, at.metric}
			span, seen := v.ranges[k]
			if !seen {
				span = [2]float64{x, x}
			}
			v.ranges[k] = [2]float64{math.Min(span[0], x), math.Max(span[1], x)}
		}
	}
	return v
}

// nowhere says whether no environment has a figure of a metric that is not what
// the workload is judged by.
func (m metricView) nowhere() bool {
	return !m.Primary && math.IsNaN(m.Reference) && !slices.ContainsFunc(m.Cells, func(c cell) bool { return !math.IsNaN(c.Median) })
}

// worked says whether any trial of a workload at a level gave figures.
func (v *view) worked(workload, level string) bool {
	return slices.ContainsFunc(v.Trials, func(t rundir.Trial) bool {
		return t.Workload == workload && t.Level == level && t.Status == rundir.OK
	})
}

func shown(name, label string) string {
	if label == "" {
		return name
	}
	return name + " [" + label + "]"
}

// metricsOf are the pack's metrics, and after them what was derived, in the
// order in which the contrasts name it. Which of them are primary is for the
// verdicts to say, where there are any.
func metricsOf(w study.Workload, l study.Level, contrasts []contrast) []workload.Metric {
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

func (v *view) metric(w study.Workload, l study.Level, m workload.Metric, contrasts map[where]*contrast, values map[where][]float64) metricView {
	mv := metricView{Metric: m, Companion: m.Name == companion,
		Reference: median(values[where{w.Name, l.Name, m.Name, v.Plan.Baseline}])}
	for i := range v.Environments {
		e := &v.Environments[i]
		if e.Baseline || e.Rung {
			continue
		}
		at := where{w.Name, l.Name, m.Name, e.Name}
		c := cell{Environment: e, Contrast: contrasts[at], Median: median(values[at])}
		switch {
		case c.Contrast == nil:
			c.Reason = v.whyNot(at, e)
		case withoutRatio(c.Contrast):
			c.Contrast, c.Reason, c.NoRatio = nil, whyNoRatio(c.Contrast), true
		case c.Contrast.N == 0:
			c.Contrast, c.Reason = nil, v.whyNot(at, e)
		}
		mv.Cells = append(mv.Cells, c)
	}
	return mv
}

// whyNot says why an environment has no figure of a metric.
func (v *view) whyNot(at where, e *environmentView) string {
	if !e.Ran() {
		return "skipped: the environment is not usable here"
	}
	reasons := map[string]int{}
	for _, t := range v.Trials {
		if t.Workload != at.workload || t.Level != at.level || t.Environment != at.environment {
			continue
		}
		switch {
		case t.Status == rundir.Failed:
			reasons["failed: "+t.Reason]++
		case t.Status == rundir.Skipped:
			reasons["skipped: "+t.Reason]++
		case t.Missing[at.metric] != "":
			reasons[t.Missing[at.metric]]++
		}
	}
	if why := mostFrequent(reasons); why != "" {
		return why
	}
	return "no block has both this figure and that of the baseline"
}

// shown is an environment's name with its label.
func (v *view) shown(name string) string {
	return shown(name, v.Manifest.Environments[name].Label)
}

// title is what a metric is called in headings.
func (m metricView) title() string { return inWords(m.Name) }

// inWords is a metric's name; what operations cost has one in words.
func inWords(metric string) string {
	if c, known := cost.Lookup(metric); known {
		return c.InWords()
	}
	return metric
}

// heading is the title with the unit and the direction.
func (m metricView) heading() string {
	text := m.title()
	if nounless(m.Unit) != m.Unit && !cost.Named(m.Name) {
		text += ", " + m.Unit // other units stand beside every figure
	}
	return text + ", " + m.Better + " is better"
}

// count sums up the trials and groups those that gave nothing by reason, in the
// order in which they happened.
func (v *view) count() {
	type key struct {
		status                               rundir.Status
		environment, workload, level, reason string
	}
	index := map[key]int{}
	for _, t := range v.Trials {
		v.Blocks = max(v.Blocks, t.Block)
		list := &v.Known
		switch t.Status {
		case rundir.OK:
			v.OK++
			continue
		case rundir.Failed:
			v.Bad++
			list = &v.Failed
		default:
			v.Out++
		}
		k := key{t.Status, t.Environment, t.Workload, t.Level, t.Reason}
		i, seen := index[k]
		if !seen {
			i = len(*list)
			index[k] = i
			*list = append(*list, failure{Shown: v.shown(t.Environment), Workload: t.Workload, Level: t.Level, Reason: t.Reason})
		}
		(*list)[i].Blocks = append((*list)[i].Blocks, t.Block)
	}
}

// mendable are the findings that need something; those that are fine are not
// worth a line among what is skipped.
func mendable(findings []environment.Finding) []environment.Finding {
	var kept []environment.Finding
	for _, f := range findings {
		if f.State != environment.Usable {
			kept = append(kept, f)
		}
	}
	return kept
}

// place names a workload at a level.
func place(workload, level string) string {
	if level == "" {
		return workload
	}
	return workload + ", " + level
}

// valuesOf collects every figure of the run.
func valuesOf(v *view) map[where][]float64 {
	workloads := map[string]*study.Workload{}
	for i := range v.Plan.Workloads {
		workloads[v.Plan.Workloads[i].Name] = &v.Plan.Workloads[i]
	}
	values := map[where][]float64{}
	for i := range v.Trials {
		t := &v.Trials[i]
		w := workloads[t.Workload]
		if w == nil || t.Status != rundir.OK {
			continue
		}
		at := where{workload: t.Workload, level: t.Level, environment: t.Environment}
		for m, x := range t.Metrics {
			at.metric = m
			values[at] = append(values[at], x)
		}
	}
	return values
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := append([]float64(nil), values...)
	sort.Float64s(s)
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

func mostFrequent(counts map[string]int) string {
	best := ""
	for text, n := range counts {
		if n > counts[best] || n == counts[best] && text < best {
			best = text
		}
	}
	return best
}

// blockList prints 1, 2, 3, 7 as "1-3, 7".
func blockList(blocks []int) string {
	var parts []string
	for i := 0; i < len(blocks); {
		j := i
		for j+1 < len(blocks) && blocks[j+1] == blocks[j]+1 {
			j++
		}
		if text := strconv.Itoa(blocks[i]); j == i {
			parts = append(parts, text)
		} else {
			parts = append(parts, text+"-"+strconv.Itoa(blocks[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
