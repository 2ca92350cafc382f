package section

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/papers/score"
	"tare/internal/report/model"
)

func scores(v *model.Report, _ Options) Section {
	sheet := v.Score
	if sheet == nil {
		return Section{}
	}
	s := Section{ID: "score", Title: "Score sheet", Lead: sheet.Title}
	rated := slices.ContainsFunc(sheet.Rows, func(r score.Row) bool {
		return slices.ContainsFunc(r.Cells, func(c score.Cell) bool { return c.Result != nil })
	})
	var judgements []string
	for _, r := range sheet.Rows {
		if j := r.Feature.Judged; j != nil {
			judgements = append(judgements, r.Feature.Name+": "+j.Says())
		}
	}
	notes := slices.Concat(standings(v), judgements, lacks(v))
	if !rated {
		notes = append([]string{"this run has no value for any feature"}, lacks(v)...)
	}
	for _, sum := range sheet.Sums {
		if rated {
			s.Parts = append(s.Parts, scorePart(v, sum))
		}
	}
	for _, e := range v.Environments {
		if caution := e.Caution(); rated && caution != "" && slices.Contains(sheet.Environments, e.Name) {
			notes = append(notes, e.Shown+": "+caution)
			break
		}
	}
	s.Parts = append(s.Parts, Part{Notes: plains(notes), Last: "The score is the number of thresholds that the value, as a share of " + v.Base.Shown +
		"'s, meets. In parentheses: the scores within its interval; ? means that there is no interval. n/a: no value, which counts in no sum; 4/8 is 4 of at most 8. " +
		"Two environments tie if the ranges of their sums over the features that both have overlap."})
	return s
}

// scorePart is a group with its sum, or what is in no group with the total.
func scorePart(v *model.Report, sum score.Sum) Part {
	name, title := sum.Group, "sum of "+sum.Group
	if name == "" {
		name, title = "all", "total"
	}
	t := &Table{About: "Scores of " + name, Class: "full", Pieces: true, Columns: []Column{key(name), column("importance").spare(3), number("max")}}
	t.Columns = append(t.Columns, lists.Map(v.Score.Environments, func(e string) Column { return column(v.ShownName(e)) })...)
	for _, r := range v.Score.Rows {
		if r.Feature.Group == sum.Group {
			t.Rows = append(t.Rows, scoreRow(r))
		}
	}
	total := Line(Cell{{Text: title, Style: Strong}}, "", points(sum.Best))
	rank := Line(Cell{{Text: "rank", Style: Strong}}, "", "")
	for _, c := range sum.Cells {
		points, place := sumCells(c, sum.Best)
		total.Cells, rank.Cells = append(total.Cells, points), append(rank.Cells, place)
	}
	if t.Rows = append(t.Rows, total); len(sum.Cells) > 1 {
		t.Rows = append(t.Rows, rank)
	}
	return Part{Table: t, Notes: plains(lists.Map(sum.Ties(), func(p score.Pair) string { return "tie: " + tie(v, p) }))}
}

func scoreRow(r score.Row) Row {
	f := r.Feature
	name, importance := f.Name, f.Importance
	if f.Weight != 1 {
		importance = strings.TrimSpace(importance + " ×" + points(f.Weight))
	}
	if f.Minimum > 0 {
		importance = strings.TrimPrefix(fmt.Sprintf("%s, min %d", importance, f.Minimum), ", ")
	}
	var cells []Cell
	for _, c := range r.Cells {
		if levels := c.Result; levels != nil && len(levels.Levels) > 1 {
			name = fmt.Sprintf("%s (%s of %d levels)", f.Name, f.Combine, len(levels.Levels))
		}
		cells = append(cells, scoreCell(c))
	}
	row := Line(name, importance, points(float64(f.Best())))
	row.Cells = append(row.Cells, cells...)
	return row
}

// ranged is a score with the range of scores that the interval allows.
func ranged(score, within string) Cell {
	cell := Cell{{Text: score, Style: Strong}}
	if within != "" {
		cell = append(cell, Text{Text: " (" + within + ")"})
	}
	return cell
}

func scoreCell(c score.Cell) Cell {
	r := c.Result
	switch {
	case r == nil:
		return ranged(model.Missing, "")
	case len(r.Evaluators) > 0:
		within := ""
		if r.Least < r.Most {
			within = points(r.Least) + "-" + points(r.Most)
		}
		return append(ranged(points(r.Score), within), Text{Text: " judged", Style: Quiet})
	case r.Interval == nil:
		return append(ranged(points(r.Score), "?"), Text{Text: " " + share(r.Ratio), Style: Quiet, Spare: 2})
	}
	within := ""
	if r.Least < r.Most {
		within = points(r.Least) + "-" + points(r.Most)
	}
	return append(ranged(points(r.Score), within), Text{Text: " " + share(r.Ratio), Style: Quiet, Spare: 2},
		Text{Text: " [" + share(r.Interval.Low) + ", " + share(r.Interval.High) + "]", Style: Ends, Spare: 1})
}

// sumCells are the sum of an environment, and its place among all.
func sumCells(c score.SumCell, best float64) (sum, place Cell) {
	unsure := ""
	if len(c.Without) > 0 {
		unsure = "?"
	}
	if c.Score == nil {
		return ranged(model.Missing, ""), ranged(model.Missing, unsure)
	}
	text, within, at := points(*c.Score), "", strconv.Itoa(c.Place[0])
	if c.Judged > 0 && c.Judged < *c.Score { // what is judged is not mixed unseen
		text += " = " + points(*c.Score-c.Judged) + " measured + " + points(c.Judged) + " judged"
	}
	if c.Best != best || len(c.Lacks) > 0 {
		text += "/" + points(c.Best)
	}
	if c.Least < c.Most {
		within = points(c.Least) + "-" + points(c.Most)
	}
	if c.Place[0] < c.Place[1] {
		at += "-" + strconv.Itoa(c.Place[1])
	}
	return ranged(text, within+unsure), ranged(at, unsure)
}

// tie describes two environments that a sheet does not tell apart.
func tie(v *model.Report, p score.Pair) string {
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
func standings(v *model.Report) []string {
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
			return c.Minimum != "" && c.Result != nil && c.Result.Interval == nil && len(c.Result.Evaluators) == 0
		}) {
			text += ", based on scores without an interval"
		}
		notes = append(notes, text)
	}
	return notes
}

// lacks lists what has no value, each reason once.
func lacks(v *model.Report) []string {
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
			case c.Unmeasured:
				what += " (" + r.Feature.Metric + " of " + model.LevelTitle(r.Feature.Workload, r.Feature.Level) + ")"
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
		return "×" + model.Digits(ratio)
	}
	return quantity.Share(math.Round(ratio*1000) / 1000).String()
}
