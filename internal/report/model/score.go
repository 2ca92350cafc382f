package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/verdict"

	"tare/internal/base/quantity"
	"tare/internal/papers/score"
)

// Score rates the usable environments of a run, in the order of the study.
func Score(in Input, p *score.Profile) score.Sheet {
	v := New(in) // without the parts of a ladder, and with its rungs marked
	var environments []string
	for _, e := range v.Environments {
		if !e.Baseline && !e.Rung && e.Ran() {
			environments = append(environments, e.Name)
		}
	}
	figures := make([]score.Figure, len(v.Contrasts))
	for i := range v.Contrasts {
		figures[i] = rated(&v.Contrasts[i])
	}
	return score.Evaluate(p, environments, figures)
}

// rated converts a contrast to a figure of a profile.
func rated(c *verdict.Contrast) score.Figure {
	f := score.Figure{Figure: c.Figure(), Base: c.Base.Median}
	switch {
	case c.NoRatio():
		f.Missing = NoRatioReason(c)
	case c.N == 0:
		f.Missing = cmp.Or(c.Reason.CauseOf(c.Environment), c.Reason.String())
		if c.Reason.Code == verdict.Lacking {
			f.Missing = "the trials have none"
		}
	case c.IntervalN == 0:
		f.Ratio = math.Exp(PointEstimate(c))
	default:
		r := c.Ratio()
		f.Ratio, f.Low, f.High = r.Estimate, r.Low, r.High
	}
	return f
}

// ScoreSheet is a score sheet arranged for reading.
type ScoreSheet struct {
	score.Sheet
	Baseline string
	Shown    []string // the environments with their labels
	Parts    []ScoreGroup
	Notes    []string
}

// ScoreGroup is a group with its sum, or what is in no group with the total.
type ScoreGroup struct {
	Name string
	Rows []ScoreRow // the last is the sum
	Ties []string
}

// ScoreRow has the scores of one criterion, or a sum of them.
type ScoreRow struct {
	Name, Importance, Best string
	Cells                  []ScoreCell
	Sum                    bool
}

// ScoreCell is a score with the range of scores that the interval allows, and the
// ratio to the baseline.
type ScoreCell struct{ Score, Range, Share, Ends string }

func (c ScoreCell) String() string {
	if c.Range == "" {
		return c.Score
	}
	return c.Score + " (" + c.Range + ")"
}

// ScoreSheet is the score sheet of the run; nil without a profile.
func (v *Report) ScoreSheet() *ScoreSheet {
	if v.Score == nil {
		return nil
	}
	s := &ScoreSheet{Sheet: *v.Score, Baseline: v.Base.Shown}
	for _, e := range s.Environments {
		s.Shown = append(s.Shown, v.ShownName(e))
	}
	for _, sum := range s.Sums {
		part := ScoreGroup{Name: sum.Group}
		if part.Name == "" {
			part.Name = "all"
		}
		for _, r := range s.Rows {
			if r.Feature.Group == sum.Group {
				part.Rows = append(part.Rows, scoreRowOf(r))
			}
		}
		part.Rows = append(part.Rows, sumRow(sum))
		if len(s.Shown) > 1 {
			part.Rows = append(part.Rows, placeRow(sum))
		}
		for _, p := range sum.Ties() {
			part.Ties = append(part.Ties, v.tie(p))
		}
		s.Parts = append(s.Parts, part)
	}
	s.Notes = slices.Concat(v.standings(), v.lacks(), v.emulated())
	if s.unrated() {
		s.Parts, s.Notes = nil, append([]string{"this run has no value for any feature"}, v.lacks()...)
	}
	return s
}

// unrated reports whether no environment has any score.
func (s *ScoreSheet) unrated() bool {
	for _, r := range s.Rows {
		for _, c := range r.Cells {
			if c.Result != nil {
				return false
			}
		}
	}
	return true
}

func scoreRowOf(r score.Row) ScoreRow {
	f := r.Feature
	row := ScoreRow{Name: f.Name, Importance: f.Importance, Best: points(float64(f.Best()))}
	if f.Weight != 1 {
		row.Importance = strings.TrimSpace(row.Importance + " ×" + points(f.Weight))
	}
	if f.Minimum > 0 {
		row.Importance = strings.TrimPrefix(fmt.Sprintf("%s, min %d", row.Importance, f.Minimum), ", ")
	}
	for _, c := range r.Cells {
		if levels := c.Result; levels != nil && len(levels.Levels) > 1 {
			row.Name = fmt.Sprintf("%s (%s of %d levels)", f.Name, f.Combine, len(levels.Levels))
		}
		row.Cells = append(row.Cells, scoreCellOf(c))
	}
	return row
}

func scoreCellOf(c score.Cell) ScoreCell {
	r := c.Result
	if r == nil {
		return ScoreCell{Score: Missing}
	}
	cell := ScoreCell{Score: strconv.Itoa(r.Score), Share: share(r.Ratio)}
	if r.Interval == nil {
		cell.Range = "?"
		return cell
	}
	cell.Ends = "[" + share(r.Interval.Low) + ", " + share(r.Interval.High) + "]"
	if r.Least < r.Most {
		cell.Range = fmt.Sprintf("%d-%d", r.Least, r.Most)
	}
	return cell
}

func sumRow(sum score.Sum) ScoreRow {
	row := ScoreRow{Name: "sum of " + sum.Group, Best: points(sum.Best), Sum: true}
	if sum.Group == "" {
		row.Name = "total"
	}
	for _, c := range sum.Cells {
		cell := ScoreCell{Score: Missing}
		if c.Score != nil {
			cell.Score = points(*c.Score)
			if c.Best != sum.Best || len(c.Lacks) > 0 {
				cell.Score += "/" + points(c.Best)
			}
			if c.Least < c.Most {
				cell.Range = points(c.Least) + "-" + points(c.Most)
			}
			if len(c.Without) > 0 {
				cell.Range += "?"
			}
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

func placeRow(sum score.Sum) ScoreRow {
	row := ScoreRow{Name: "rank", Sum: true}
	for _, c := range sum.Cells {
		cell := ScoreCell{Score: strconv.Itoa(c.Place[0])}
		switch {
		case c.Score == nil:
			cell.Score = Missing
		case c.Place[0] < c.Place[1]:
			cell.Score += "-" + strconv.Itoa(c.Place[1])
		}
		if len(c.Without) > 0 {
			cell.Range = "?"
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

func (v *Report) tie(p score.Pair) string {
	text := fmt.Sprintf("%s (%s) and %s (%s)", v.ShownName(p.A), points(p.ScoreA), v.ShownName(p.B), points(p.ScoreB))
	if p.ScoreA != p.ScoreB {
		text += ", whose ranges overlap"
	}
	if p.Features < p.Of {
		text += fmt.Sprintf(" (over %d of %d features)", p.Features, p.Of)
	}
	return text
}

// standings describes which environments meet the minimums of the profile.
func (v *Report) standings() []string {
	var notes []string
	for i, s := range v.Score.Standings {
		text := v.ShownName(s.Environment)
		switch s.Acceptable() {
		case score.Met:
			text += ": acceptable, every minimum is met"
		case score.Missed:
			text += ": not acceptable, below the minimum in " + strings.Join(s.Missed, ", ")
		case score.Open:
			text += ": undecided, the interval includes the minimum in " + strings.Join(s.Open, ", ")
		}
		if slices.ContainsFunc(v.Score.Rows, func(r score.Row) bool {
			c := r.Cells[i]
			return c.Minimum != "" && c.Result != nil && c.Result.Interval == nil
		}) {
			text += ", based on scores without an interval"
		}
		notes = append(notes, text)
	}
	return notes
}

// lacks lists what has no value, each reason once.
func (v *Report) lacks() []string {
	var reasons []string
	features := map[string][]string{}
	for _, r := range v.Score.Rows {
		who := map[string][]string{}
		for _, c := range r.Cells {
			if c.Missing != "" {
				who[c.Missing] = append(who[c.Missing], v.ShownName(c.Environment))
			}
		}
		for _, c := range r.Cells {
			if who[c.Missing] == nil {
				continue
			}
			what := r.Feature.Name
			switch {
			case c.Missing == score.NotMeasured:
				what += " (" + r.Feature.Metric + " of " + LevelTitle(r.Feature.Workload, r.Feature.Level) + ")"
			case len(who[c.Missing]) < len(r.Cells):
				what += " of " + strings.Join(who[c.Missing], ", ")
			}
			if features[c.Missing] == nil {
				reasons = append(reasons, c.Missing)
			}
			features[c.Missing] = append(features[c.Missing], what)
			delete(who, c.Missing)
		}
	}
	return lists.Map(reasons, func(reason string) string { return strings.Join(features[reason], ", ") + ": " + reason })
}

func (v *Report) emulated() []string {
	for _, e := range v.Environments {
		if e.Facts.Label == emulated && slices.Contains(v.Score.Environments, e.Name) {
			return []string{e.Shown + ": " + onlyEmulation}
		}
	}
	return nil
}

// Legend explains the sheet.
func (s *ScoreSheet) Legend() string {
	return "The score is the number of thresholds that the value, as a share of " + s.Baseline +
		"'s, meets. In parentheses: the scores within its interval; ? means that there is no interval. n/a: no value, which counts in no sum; 4/8 is 4 of at most 8. " +
		"Two environments tie if the ranges of their sums over the features that both have overlap."
}

// points prints a sum of weighed scores.
func points(x float64) string {
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64)
}

// share prints a ratio as a percentage of the baseline.
func share(ratio float64) string {
	switch {
	case math.IsInf(ratio, 1):
		return "∞"
	case ratio >= 10:
		return "×" + Digits(ratio)
	}
	return quantity.Share(math.Round(ratio*1000) / 1000).String()
}
