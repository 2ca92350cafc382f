package model

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"tare/internal/base/lists"
	"tare/internal/papers/published"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/verdict"
)

// SourceFigures are the figures of a published study, drawn from runs.
type SourceFigures struct {
	Study   *published.Study
	Figures []SourceFigure
}

// SourceFigure is a figure of a published study: its panels, or why there are none.
type SourceFigure struct {
	Study        string
	Place, Shows string
	Why          string
	Panels       []SourcePanel
}

// SourcePanel is a chart of a figure. One without lines has a reason.
type SourcePanel struct {
	Title, Why           string
	Draw                 string // bars, curves or time
	Metric, Unit, Better string
	Over                 string   // along the axis of curves
	OneSample            bool     // time is that of one sample, and not of all of them
	At                   []string // the places on the axis: levels of bars and of time, values of curves
	X                    []float64
	Lines                []SourceLine
}

// SourceLine is the bars or the curve of an environment.
type SourceLine struct {
	Environment string // of the run
	Name        string // with the source's name, where it is another
	Emulated    string // its label
	Rest        string // what else was swept, besides what is along the axis
	Points      []SourcePoint
}

// SourcePoint is the figures at a place, in the way of the source and in tare's.
type SourcePoint struct {
	At                  int     // of SourcePanel.At; -1 in time
	X                   float64 // seconds in time
	N                   int
	Mean, SD            float64 // over the blocks; SD is NaN below two
	Estimate, Low, High float64 // of tare; NaN where there is none
}

// notMeasured is why a panel has no lines, where nothing more is known.
const notMeasured = "not measured in this run"

// FiguresOf draws the figures of a study, each panel from the run that measured it at the
// most levels.
func FiguresOf(s *published.Study, runs ...Input) *SourceFigures {
	all := &SourceFigures{Study: s}
	known := lists.Map(runs, func(in Input) *again { return &again{s, []Input{in}, map[overKey]Input{}} })
	for i := range s.Figures {
		f := &s.Figures[i]
		one := SourceFigure{Study: s.Study, Place: f.Place, Shows: f.Shows, Why: f.Gap}
		drawn := false
		for j := range f.Panels {
			p := known[0].panel(&f.Panels[j])
			for _, other := range known[1:] {
				q := other.panel(&f.Panels[j])
				if more := len(q.Lines) > 0 && (len(p.Lines) == 0 || len(q.At) > len(p.At)); more || p.Why == notMeasured {
					p = q
				}
			}
			one.Panels, drawn = append(one.Panels, p), drawn || len(p.Lines) > 0
		}
		if !drawn && one.Why == "" {
			one.Why, one.Panels = one.Panels[0].Why, nil
		}
		all.Figures = append(all.Figures, one)
	}
	return all
}

// place is a level of a workload of a run.
type place struct {
	w study.Workload
	l study.Level
}

func (a *again) panel(p *published.Panel) (out SourcePanel) {
	t := &published.Table{}
	if i := slices.IndexFunc(a.study.Tables, func(t published.Table) bool { return t.ID == p.Table }); i >= 0 {
		t = &a.study.Tables[i]
	}
	measures := t.Measures
	if len(p.Measures) > 0 {
		measures = p.Measures
	}
	out = SourcePanel{Title: p.Title, Draw: p.Draw, Over: p.Over, Why: notMeasured}
	for i, in := range a.runs {
		pairs := in.pairings(a.study, t)
		for _, m := range measures {
			places := in.places(m)
			metric := in.metricNamed(places, m.Metric)
			if len(places) == 0 || p.Draw != "time" && metric.Name == "" {
				continue
			}
			out.Metric, out.Unit, out.Better = metric.Name, metric.Unit, metric.Better
			out.axis(p, places)
			why := "none of its environments has values in this run"
			for _, e := range a.study.Environments {
				pair, paired := pairs[e.ID]
				if !paired || len(p.Environments) > 0 && !slices.Contains(p.Environments, e.ID) {
					continue
				}
				name := pair.mine
				if !strings.EqualFold(name, e.Name) {
					name += " (" + e.Name + ")"
				}
				line := SourceLine{Environment: pair.mine, Name: name, Emulated: in.Manifest.Environments[pair.mine].Label}
				if p.Draw == "time" {
					why = cmp.Or(out.overTime(in, line, places, p.Quantity), why)
				} else {
					a.overLevels(&out, i, line, places, p.Labels)
				}
			}
			if len(out.Lines) > 0 {
				out.Why = ""
				return out
			}
			out.Why = why
		}
	}
	return out
}

// places are the levels of the run that have the workload and the parameters of a counterpart.
func (in Input) places(m published.Counterpart) (all []place) {
	for _, w := range in.Plan.Workloads {
		if w.Name != m.Workload && w.Pack.Name != m.Workload {
			continue
		}
		for _, l := range w.Levels {
			if printedAt(w, l, m, nil) {
				all = append(all, place{w, l})
			}
		}
	}
	return all
}

func (in Input) metricNamed(places []place, name string) Metric {
	for _, at := range places {
		for _, m := range metricsOf(at.w, at.l, in.Contrasts) {
			if m.Name == name {
				return Metric{Metric: m}
			}
		}
	}
	return Metric{}
}

// along is the value of a level on an axis, and the rest of its name.
func (at place) along(over string) (value, rest string) {
	value = at.l.Parameters[over]
	if over == "instances" {
		value = fmt.Sprint(max(at.l.Instances, 1))
	}
	kept := lists.Filter(strings.Split(at.l.Name, ","), func(part string) bool { return part != "" && !strings.HasPrefix(part, over+"=") })
	return value, strings.Join(kept, ", ")
}

// axis finds the places on the axis: the levels in their order, or the values of curves,
// with those in words last.
func (out *SourcePanel) axis(p *published.Panel, places []place) {
	out.At, out.X = nil, nil
	if p.Over == "" {
		for _, at := range places {
			out.At = append(out.At, at.l.Name)
		}
		return
	}
	values := map[string]float64{}
	for _, at := range places {
		value, _ := at.along(p.Over)
		x, err := strconv.ParseFloat(value, 64)
		if p.Labels[value] != "" || err != nil {
			x = math.NaN()
		}
		values[value] = x
	}
	order := slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		x, y := values[a], values[b]
		if math.IsNaN(x) || math.IsNaN(y) {
			return cmp.Or(cmp.Compare(y, x), cmp.Compare(a, b)) // NaN is less than any number
		}
		return cmp.Compare(x, y)
	})
	for _, value := range order {
		out.At, out.X = append(out.At, cmp.Or(p.Labels[value], value)), append(out.X, values[value])
	}
}

// overLevels adds the lines of an environment: one for bars, one of curves for each value
// of what else was swept.
func (a *again) overLevels(out *SourcePanel, run int, line SourceLine, places []place, labels map[string]string) {
	in := a.runs[run]
	var lines []SourceLine
	for i, at := range places {
		point, rest := SourcePoint{At: i}, ""
		if out.Over != "" {
			var value string
			value, rest = at.along(out.Over)
			point.At = slices.Index(out.At, cmp.Or(labels[value], value))
		}
		cell := subject.Cell{Environment: line.Environment, Workload: at.w.Name, Level: at.l.Name}
		if !in.pointAt(&point, cell, out.Metric, a.in(run, line.Environment, true).Contrasts) {
			continue
		}
		j := slices.IndexFunc(lines, func(l SourceLine) bool { return l.Rest == rest })
		if j < 0 {
			line.Rest = rest
			j, lines = len(lines), append(lines, line)
		}
		lines[j].Points = append(lines[j].Points, point)
	}
	for _, l := range lines {
		slices.SortStableFunc(l.Points, func(a, b SourcePoint) int { return cmp.Compare(a.At, b.At) })
	}
	out.Lines = append(out.Lines, lines...)
}

// pointAt fills in the figures of a cell: the mean and the deviation of its blocks, and
// tare's value with its interval.
func (in Input) pointAt(p *SourcePoint, cell subject.Cell, metric string, values []verdict.Contrast) bool {
	var found []float64
	for i := range in.Trials {
		if t := &in.Trials[i]; t.Cell() == cell {
			if x, has := Value(t, metric); has && !math.IsNaN(x) && !math.IsInf(x, 0) {
				found = append(found, x)
			}
		}
	}
	if len(found) == 0 {
		return false
	}
	p.N = len(found)
	p.Mean, p.SD = stat.MeanStdDev(found, nil)
	p.Estimate, p.Low, p.High = math.NaN(), math.NaN(), math.NaN()
	for i := range values {
		c := &values[i]
		if c.Figure() == cell.Of(metric) && c.IntervalN > 0 && c.Bounded() {
			p.Estimate, p.Low, p.High = math.Exp(c.Estimate), math.Exp(c.Low), math.Exp(c.High)
		}
	}
	return true
}

// Drawn are the figures that have something to show.
func (s *SourceFigures) Drawn() []SourceFigure {
	if s == nil {
		return nil
	}
	return lists.Filter(s.Figures, func(f SourceFigure) bool { return len(f.Panels) > 0 })
}

// Missing says of each other figure why it is not drawn.
func (s *SourceFigures) Missing() (lines []string) {
	for _, f := range s.Figures {
		if len(f.Panels) == 0 {
			lines = append(lines, f.Place+" ("+f.Shows+"): "+f.Why)
		}
		for _, p := range f.Panels {
			if len(p.Lines) == 0 {
				lines = append(lines, f.Place+", "+cmp.Or(p.Title, p.Metric)+": "+p.Why)
			}
		}
	}
	return lines
}
