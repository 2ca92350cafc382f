// Package score rates environments by an evaluation profile, after the feature
// analysis of DESMET (Kitchenham, DESMET: A Method for Evaluating Software
// Engineering Methods and Tools, TR96-09, Keele University, 1996): the value of each
// feature, relative to the baseline, gives a score; scores are weighted and summed
// by group. If a value has an interval, its score has a range, and so have the sums.
// The sheet is a pure function of a profile and values.
//
// It must not know how a value was measured, what a run directory is, nor how a
// sheet is printed.
package score

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/subject"
)

// Figure is a figure of an environment relative to that of the baseline.
type Figure struct {
	subject.Figure
	Ratio     float64 // environment over baseline
	Low, High float64 // its interval, also ratios; both 0 if there is none
	Base      float64 // the value of the baseline, the weight in a mean over levels; 0 if unknown
	Missing   string  // why there is no value; Ratio, Low and High are then unset
}

// Of is the figure of a value and the value of the baseline, without an interval,
// as in a printed table.
func Of(s subject.Figure, value, base float64) Figure {
	f := Figure{Figure: s, Base: base, Ratio: value / base}
	if !(base > 0) || !(value >= 0) || math.IsInf(value, 0) {
		f.Missing = fmt.Sprintf("%g against %g has no ratio", value, base)
	}
	return f
}

// bounded reports whether there is an interval.
func (f Figure) bounded() bool { return f.Low != 0 || f.High != 0 }

// Sheet is the evaluation of environments by a profile.
type Sheet struct {
	Name         string   `json:"profile"`
	Title        string   `json:"title"`
	Environments []string `json:"environments"`
	Rows         []Row    `json:"features"` // in the profile's order
	// Sums are the groups' in the order in which the profile first names them,
	// and last the total, where the profile has one: its Group is "".
	Sums []Sum `json:"sums"`
	// Standings say which environments meet the minimums; empty without minimums.
	Standings []Standing `json:"standings,omitempty"`
}

// Row is one feature in all environments.
type Row struct {
	Feature Feature `json:"feature"`
	Cells   []Cell  `json:"cells"` // an environment each, in the sheet's order
}

// Cell is one feature of one environment.
type Cell struct {
	Environment string  `json:"environment"`
	Result      *Result `json:"result"`            // nil if there is no value, which is not a score of 0
	Missing     string  `json:"missing,omitempty"` // why
	// Unmeasured: no environment has a value for the feature.
	Unmeasured bool    `json:"-"`
	Minimum    Minimum `json:"minimum,omitempty"` // "" if the feature has none
}

// Result is a score with the ratio that it is computed from.
type Result struct {
	Ratio    float64   `json:"ratio"`
	Interval *Interval `json:"interval"` // of the ratio; nil where the figures have none
	Score    float64   `json:"score"`
	Least    float64   `json:"least"` // the scores that the interval allows, or that evaluators gave
	Most     float64   `json:"most"`
	Levels   []string  `json:"levels,omitempty"` // that were combined
	// Evaluators are those who judged it; Ratio and Interval are then not set.
	Evaluators []string `json:"evaluators,omitempty"`
}

// Certain reports whether the interval allows only this score; false without an
// interval.
func (r Result) Certain() bool {
	return (r.Interval != nil || len(r.Evaluators) > 0) && r.Least == r.Most
}

// Interval is a range of ratios; High is infinite where it has no bound.
type Interval struct{ Low, High float64 }

// MarshalJSON writes an end without a bound as null.
func (i Interval) MarshalJSON() ([]byte, error) {
	ends := struct {
		Low  float64  `json:"low"`
		High *float64 `json:"high"`
	}{Low: i.Low}
	if !math.IsInf(i.High, 1) {
		ends.High = &i.High
	}
	return json.Marshal(ends)
}

// Minimum says whether the least acceptable score is reached.
type Minimum string

// Met and Missed hold for every score that the interval allows. Open means that the
// interval includes the minimum, or that there is no value.
const (
	Met    Minimum = "met"
	Missed Minimum = "missed"
	Open   Minimum = "open"
)

// Standing is one environment compared with all minimums: the names of the
// features that miss it and of those that are open.
type Standing struct {
	Environment string   `json:"environment"`
	Missed      []string `json:"missed,omitempty"`
	Open        []string `json:"open,omitempty"`
}

// Acceptable is Missed where any minimum is, Open where any may be, else Met.
func (s Standing) Acceptable() Minimum {
	switch {
	case len(s.Missed) > 0:
		return Missed
	case len(s.Open) > 0:
		return Open
	}
	return Met
}

// Evaluate rates the environments, in this order. Figures of other environments
// are ignored.
func Evaluate(p *Profile, environments []string, figures []Figure) Sheet {
	s := Sheet{Name: p.Name, Title: p.Title, Environments: environments}
	for _, f := range p.Features {
		row := Row{Feature: f}
		mine := lists.Filter(figures, f.matches)
		levels := levelsOf(mine)
		for _, e := range environments {
			row.Cells = append(row.Cells, f.rate(e, levels, mine))
		}
		s.Rows = append(s.Rows, row)
	}
	for _, group := range p.Groups() {
		s.Sums = append(s.Sums, s.sum(group, func(f Feature) bool { return f.Group == group }))
	}
	if p.HasTotal() {
		s.Sums = append(s.Sums, s.sum("", func(Feature) bool { return true }))
	}
	s.Standings = s.standings()
	return s
}

// rate scores one environment.
func (f Feature) rate(environment string, levels []string, figures []Figure) Cell {
	cell := Cell{Environment: environment}
	if f.Minimum > 0 {
		cell.Minimum = Open
	}
	if f.Judged != nil {
		cell.Result, cell.Missing = f.Judged.rate(environment)
		return f.standing(cell)
	}
	if len(levels) == 0 {
		cell.Missing, cell.Unmeasured = "not measured", true
		return cell
	}
	var found []Figure
	var lacking []string // levels
	reason := ""
	for _, level := range levels {
		switch figure := lists.Find(figures, func(f *Figure) bool { return f.Environment == environment && f.Level == level }); {
		case figure == nil:
			lacking = append(lacking, level)
		case figure.Missing != "":
			lacking, reason = append(lacking, level), cmp.Or(reason, figure.Missing)
		default:
			found = append(found, *figure)
		}
	}
	if len(lacking) > 0 {
		cell.Missing = "no value"
		if lacking = named(lacking); len(lacking) > 0 {
			cell.Missing += " at " + strings.Join(lacking, ", ")
		}
		if reason != "" {
			cell.Missing += ": " + reason
		}
		return cell
	}
	all, err := combine(f, found)
	if err != nil {
		cell.Missing = err.Error()
		return cell
	}
	r := &Result{Ratio: all.Ratio, Score: f.scoreOf(all.Ratio), Levels: named(levels)}
	r.Least, r.Most = r.Score, r.Score
	if all.bounded() {
		r.Interval = &Interval{all.Low, all.High}
		for _, end := range []float64{all.Low, all.High} {
			r.Least, r.Most = min(r.Least, f.scoreOf(end)), max(r.Most, f.scoreOf(end))
		}
	}
	cell.Result = r
	return f.standing(cell)
}

// standing compares a score with the minimum.
func (f Feature) standing(cell Cell) Cell {
	switch r := cell.Result; {
	case f.Minimum == 0 || r == nil:
	case r.Least >= float64(f.Minimum):
		cell.Minimum = Met
	case r.Most < float64(f.Minimum):
		cell.Minimum = Missed
	}
	return cell
}

// closeTo absorbs binary rounding: a ratio of 0.9 meets 90%.
const closeTo = 1e-9

// scoreOf is the number of thresholds that a ratio meets.
func (f Feature) scoreOf(ratio float64) float64 {
	score := 0.0
	for _, t := range f.AtLeast {
		if ratio >= float64(t)*(1-closeTo) {
			score++
		}
	}
	for _, t := range f.AtMost {
		if ratio <= float64(t)*(1+closeTo) {
			score++
		}
	}
	return score
}

// Best is the highest score of the feature.
func (f Feature) Best() int {
	if f.Judged != nil {
		return max(0, len(f.Judged.Scale)-1)
	}
	return len(f.AtLeast) + len(f.AtMost)
}

func (s Sheet) standings() []Standing {
	asked := false
	all := make([]Standing, len(s.Environments))
	for i, e := range s.Environments {
		all[i].Environment = e
		for _, r := range s.Rows {
			switch r.Cells[i].Minimum {
			case "":
				continue
			case Missed:
				all[i].Missed = append(all[i].Missed, r.Feature.Name)
			case Open:
				all[i].Open = append(all[i].Open, r.Feature.Name)
			}
			asked = true
		}
	}
	if !asked {
		return nil
	}
	return all
}

// matches reports whether the feature is about a figure.
func (f Feature) matches(x Figure) bool {
	return x.Metric == f.Metric && x.Workload == f.Workload && (f.Level == "" || glob(f.Level, x.Level))
}

// glob reports whether text matches the pattern, in which * matches any text.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	rest, begins := strings.CutPrefix(text, parts[0])
	if !begins || len(parts) == 1 {
		return begins && rest == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[last])
}

// levelsOf returns the levels that any environment has, in order of appearance. An
// environment that lacks one of them cannot be compared with the rest.
func levelsOf(figures []Figure) []string {
	var levels []string
	for _, f := range figures {
		levels = lists.Add(levels, f.Level)
	}
	return levels
}

// named leaves out the level of what is not swept.
func named(levels []string) []string {
	return lists.Filter(levels, func(l string) bool { return l != "" })
}

// combine merges the figures of several levels into one. Its interval reaches from
// all low ends to all high ends, which is conservative.
func combine(f Feature, figures []Figure) (Figure, error) {
	if len(figures) == 1 {
		return figures[0], nil
	}
	var pick func(of func(Figure) float64) float64
	switch f.Combine {
	case Worst:
		pick = func(of func(Figure) float64) float64 {
			values := lists.Map(figures, of)
			if f.AtMost != nil {
				return slices.Max(values)
			}
			return slices.Min(values)
		}
	case Geometric:
		pick = func(of func(Figure) float64) float64 {
			sum := 0.0
			for _, x := range figures {
				sum += math.Log(of(x))
			}
			return math.Exp(sum / float64(len(figures)))
		}
	default: // the mean of the values over the mean of the baseline's
		weight := 0.0
		for _, x := range figures {
			if !(x.Base > 0) {
				return Figure{}, fmt.Errorf("the mean over levels needs the value of the baseline at %s", x.Level)
			}
			weight += x.Base
		}
		pick = func(of func(Figure) float64) float64 {
			sum := 0.0
			for _, x := range figures {
				sum += x.Base / weight * of(x)
			}
			return sum
		}
	}
	all := Figure{Ratio: pick(func(x Figure) float64 { return x.Ratio })}
	if !slices.ContainsFunc(figures, func(x Figure) bool { return !x.bounded() }) {
		all.Low = pick(func(x Figure) float64 { return x.Low })
		all.High = pick(func(x Figure) float64 { return x.High })
	}
	return all, nil
}
