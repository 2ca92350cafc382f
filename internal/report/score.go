package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/quantity"
	"tare/internal/score"
	"tare/internal/verdict"
)

// Score rates the environments of a run that were usable, in the order of the
// study.
func Score(in Input, p *score.Profile) score.Sheet {
	var environments []string
	for _, e := range newView(in).Environments {
		if !e.Baseline && e.Ran() {
			environments = append(environments, e.Name)
		}
	}
	figures := make([]score.Figure, len(in.Contrasts))
	for i := range in.Contrasts {
		figures[i] = rated(&in.Contrasts[i])
	}
	return score.Evaluate(p, environments, figures)
}

// rated is a contrast as profiles see it.
func rated(c *contrast) score.Figure {
	f := score.Figure{Workload: c.Workload, Metric: c.Metric, Level: c.Level, Environment: c.Environment, Base: c.Base.Median}
	switch {
	case withoutRatio(c):
		f.Missing = whyNoRatio(c)
	case c.N == 0:
		f.Missing = strings.TrimPrefix(c.Reason, "no figure from "+c.Environment+": ")
		if plain(c, c.Environment) || plain(c, c.Baseline) {
			f.Missing = "the trials have none"
		}
	case c.IntervalN == 0:
		f.Ratio = math.Exp(middle(c))
	default:
		r := c.Ratio()
		f.Ratio, f.Low, f.High = r.Estimate, r.Low, r.High
	}
	return f
}

// sheet is a score sheet arranged for reading.
type sheet struct {
	score.Sheet
	Baseline string
	Shown    []string // the environments with their labels
	Parts    []sheetPart
	Notes    []string
}

// sheetPart is a group with its sum, or what is in no group with the total.
type sheetPart struct {
	Name string
	Rows []sheetRow // the last is the sum
	Ties []string
}

type sheetRow struct {
	Name, Importance, Best string
	Cells                  []sheetCell
	Sum                    bool
}

// sheetCell is a score, the scores that are possible beside it, and the share
// of the baseline that it stands on.
type sheetCell struct{ Score, Range, Share, Ends string }

func (c sheetCell) String() string {
	if c.Range == "" {
		return c.Score
	}
	return c.Score + " (" + c.Range + ")"
}

// Sheet is the run's score sheet; nil where no profile was given.
func (v *view) Sheet() *sheet {
	if v.Score == nil {
		return nil
	}
	s := &sheet{Sheet: *v.Score, Baseline: v.Base.Shown}
	for _, e := range s.Environments {
		s.Shown = append(s.Shown, v.shown(e))
	}
	for _, sum := range s.Sums {
		part := sheetPart{Name: sum.Group}
		if part.Name == "" {
			part.Name = "all"
		}
		for _, r := range s.Rows {
			if r.Feature.Group == sum.Group {
				part.Rows = append(part.Rows, rowOf(r))
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
		s.Parts, s.Notes = nil, append([]string{"this run has no figure of any feature"}, v.lacks()...)
	}
	return s
}

// unrated says whether no environment has any score.
func (s *sheet) unrated() bool {
	for _, r := range s.Rows {
		for _, c := range r.Cells {
			if c.Result != nil {
				return false
			}
		}
	}
	return true
}

func rowOf(r score.Row) sheetRow {
	f := r.Feature
	row := sheetRow{Name: f.Name, Importance: f.Importance, Best: points(float64(f.Best()))}
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
		row.Cells = append(row.Cells, cellOf(c))
	}
	return row
}

func cellOf(c score.Cell) sheetCell {
	r := c.Result
	if r == nil {
		return sheetCell{Score: missing}
	}
	cell := sheetCell{Score: strconv.Itoa(r.Score), Share: share(r.Ratio)}
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

func sumRow(sum score.Sum) sheetRow {
	row := sheetRow{Name: "sum of " + sum.Group, Best: points(sum.Best), Sum: true}
	if sum.Group == "" {
		row.Name = "total"
	}
	for _, c := range sum.Cells {
		cell := sheetCell{Score: missing}
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

func placeRow(sum score.Sum) sheetRow {
	row := sheetRow{Name: "place", Sum: true}
	for _, c := range sum.Cells {
		cell := sheetCell{Score: strconv.Itoa(c.Place[0])}
		switch {
		case c.Score == nil:
			cell.Score = missing
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

func (v *view) tie(p score.Pair) string {
	text := fmt.Sprintf("%s and %s, %s and %s", v.shown(p.A), v.shown(p.B), points(p.ScoreA), points(p.ScoreB))
	if p.ScoreA != p.ScoreB {
		text += " in ranges that overlap"
	}
	if p.Features < p.Of {
		text += fmt.Sprintf(" (over %d of %d features)", p.Features, p.Of)
	}
	return text
}

// standings say who meets the profile's minimums.
func (v *view) standings() []string {
	var notes []string
	for i, s := range v.Score.Standings {
		text := v.shown(s.Environment)
		switch s.Acceptable() {
		case score.Met:
			text += ": acceptable, every minimum is met"
		case score.Missed:
			text += ": not acceptable, below the minimum in " + strings.Join(s.Missed, ", ")
		case score.Open:
			text += ": acceptable or not, the minimum is open in " + strings.Join(s.Open, ", ")
		}
		if slices.ContainsFunc(v.Score.Rows, func(r score.Row) bool {
			c := r.Cells[i]
			return c.Minimum != "" && c.Result != nil && c.Result.Interval == nil
		}) {
			text += ", going by scores that have no interval"
		}
		notes = append(notes, text)
	}
	return notes
}

// lacks names what has no figure, each reason once.
func (v *view) lacks() []string {
	var reasons []string
	features := map[string][]string{}
	for _, r := range v.Score.Rows {
		who := map[string][]string{}
		for _, c := range r.Cells {
			if c.Missing != "" {
				who[c.Missing] = append(who[c.Missing], v.shown(c.Environment))
			}
		}
		for _, c := range r.Cells {
			if who[c.Missing] == nil {
				continue
			}
			what := r.Feature.Name
			switch {
			case c.Missing == score.NotMeasured:
				what += " (" + r.Feature.Metric + " of " + place(r.Feature.Workload, r.Feature.Level) + ")"
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
	var notes []string
	for _, reason := range reasons {
		notes = append(notes, strings.Join(features[reason], ", ")+": "+reason)
	}
	return notes
}

func (v *view) emulated() []string {
	for _, e := range v.Environments {
		if e.Facts.Label == emulated && slices.Contains(v.Score.Environments, e.Name) {
			return []string{e.Shown + ": " + onlyEmulation}
		}
	}
	return nil
}

// Legend says how to read the sheet.
func (s *sheet) Legend() string {
	return "A score counts the thresholds that a figure meets, as a share of " + s.Baseline +
		"'s; in brackets the scores that its interval allows, or ? where it has none. n/a is no figure, and in no sum: 4/8 is a sum of at most 8. " +
		"Two environments tie where the ranges of their sums overlap, over the features that both have."
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
		return "×" + digits(ratio)
	}
	return quantity.Share(math.Round(ratio*1000) / 1000).String()
}

// noRatio is why a figure of 0, or below, is compared with nothing.
const noRatio = "a figure of 0 or less has no ratio"

// withoutRatio says whether a contrast was given up for figures of 0.
func withoutRatio(c *contrast) bool {
	return slices.ContainsFunc(c.Warnings, func(w verdict.Warning) bool { return w.Code == verdict.NotPositive || w.Code == verdict.Zero })
}

// whyNoRatio says why, of such a contrast.
func whyNoRatio(c *contrast) string {
	if c.Warnings[0].Code == verdict.Zero {
		return c.Reason
	}
	return noRatio
}

// plain says whether a contrast was given up with no reason but that the trials
// of this side have no such figure.
func plain(c *contrast, side string) bool {
	return c.Reason == "no figure from "+side+": the trial has no "+c.Metric
}
