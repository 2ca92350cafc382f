package published

import (
	"fmt"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/papers/score"
	"tare/internal/subject"
)

// Scored is a study's score sheets, printed and recomputed.
type Scored struct {
	Place    string        `json:"place"`
	Baseline string        `json:"baseline"`
	Groups   []ScoredGroup `json:"groups"`
}

// ScoredGroup is one printed score sheet.
type ScoredGroup struct {
	Group
	Features []ScoredFeature `json:"features"`
	Sums     []ScoredSum     `json:"sums"`
}

// ScoredFeature is one line of it.
type ScoredFeature struct {
	Feature
	Scores []ScoredCell `json:"scores"` // in the order of the environments, those with a printed score
}

// ScoredCell is one score.
type ScoredCell struct {
	Environment string  `json:"environment"`
	Outcome     Outcome `json:"outcome"`
	Printed     Number  `json:"printed"`
	Recomputed  int     `json:"recomputed"`
	Least       int     `json:"least"` // the scores that rounding allows
	Most        int     `json:"most"`
	Ratio       float64 `json:"ratio"`
	Figures     string  `json:"figures"`
}

// ScoredSum is one sum of a group.
type ScoredSum struct {
	Environment string  `json:"environment"`
	Outcome     Outcome `json:"outcome"` // printed sum against the sum of the printed scores
	Printed     Number  `json:"printed"`
	OfPrinted   int     `json:"of_printed"`
	Recomputed  int     `json:"recomputed"`
}

// profile is the study's own scheme in the terms of package score: a feature's
// workload is its table.
func (s *Study) profile() *score.Profile {
	p := &score.Profile{Name: s.Study, Title: s.Source.Title}
	for _, g := range s.Scores.Groups {
		for _, f := range g.Features {
			p.Features = append(p.Features, score.Feature{Name: f.ID, Group: g.ID, Weight: 1, Workload: f.Table, Metric: f.ID,
				Combine: score.Mean, AtLeast: shares(f.AtLeast), AtMost: shares(f.AtMost)})
		}
	}
	return p
}

func shares(percentages []Number) []quantity.Share {
	return lists.Map(percentages, func(p Number) quantity.Share { return quantity.Share(p.value / 100) })
}

// figures are the printed ratios to the baseline that features rate, with what
// rounding allows as their interval.
func (s *Study) figures() []score.Figure {
	var list []score.Figure
	for _, g := range s.Scores.Groups {
		for _, f := range g.Features {
			t := s.tableByID(f.Table)
			base := t.Cells[s.Scores.Baseline]
			for _, e := range s.Environments {
				cell, ok := t.Cells[e.ID]
				if !ok || cell.Empty || e.ID == s.Scores.Baseline {
					continue
				}
				figure := score.Of(subject.Place{Workload: f.Table}.In(e.ID).Of(f.ID), cell.Value.value, base.Value.value)
				if ratio, ok := cell.Value.span().over(base.Value.span()); ok {
					figure.Low, figure.High = ratio.low, ratio.high
				}
				list = append(list, figure)
			}
		}
	}
	return list
}

// score recomputes every score and every sum.
func (s *Study) score() *Scored {
	rows := score.Evaluate(s.profile(), s.ids(), s.figures()).Rows // one a feature, in the same order
	scored := &Scored{Place: s.Scores.Place, Baseline: s.Scores.Baseline}
	for _, g := range s.Scores.Groups {
		group := ScoredGroup{Group: g}
		printed, recomputed := map[string]int{}, map[string]int{}
		for _, f := range g.Features {
			feature := ScoredFeature{Feature: f}
			for _, c := range rows[0].Cells {
				if number, ok := f.Scores[c.Environment]; ok && c.Result != nil {
					cell := s.scoredCell(f, c.Environment, number, c.Result)
					printed[c.Environment] += int(number.value)
					recomputed[c.Environment] += cell.Recomputed
					feature.Scores = append(feature.Scores, cell)
				}
			}
			rows = rows[1:]
			group.Features = append(group.Features, feature)
		}
		for _, e := range s.Environments {
			if number, ok := g.Sums[e.ID]; ok {
				sum := ScoredSum{e.ID, Holds, number, printed[e.ID], recomputed[e.ID]}
				if int(number.value) != sum.OfPrinted {
					sum.Outcome = Fails
				}
				group.Sums = append(group.Sums, sum)
			}
		}
		scored.Groups = append(scored.Groups, group)
	}
	return scored
}

func (s *Study) scoredCell(f Feature, id string, printed Number, r *score.Result) ScoredCell {
	t := s.tableByID(f.Table)
	c := ScoredCell{Environment: id, Outcome: Holds, Printed: printed, Recomputed: int(r.Score), Least: int(r.Least), Most: int(r.Most), Ratio: r.Ratio}
	c.Figures = fmt.Sprintf("%s over %s is %.1f%%", t.Cells[id].Value, t.Cells[s.Scores.Baseline].Value, 100*r.Ratio)
	switch n := int(printed.value); {
	case float64(n) == r.Score:
	case r.Least <= float64(n) && float64(n) <= r.Most:
		c.Outcome = WithinRounding
	default:
		c.Outcome = Fails
	}
	return c
}

// with is the study as if it had printed the recomputed scores.
func (s *Study) with(scored *Scored) *Study {
	copied, scores := *s, *s.Scores
	scores.Groups = nil
	for i, g := range scored.Groups {
		group := s.Scores.Groups[i]
		group.Features, group.Sums = nil, map[string]Number{}
		for _, f := range g.Features {
			feature := f.Feature
			feature.Scores = map[string]Number{}
			for _, c := range f.Scores {
				feature.Scores[c.Environment] = whole(c.Recomputed)
			}
			group.Features = append(group.Features, feature)
		}
		for _, sum := range g.Sums {
			group.Sums[sum.Environment] = whole(sum.Recomputed)
		}
		scores.Groups = append(scores.Groups, group)
	}
	copied.Scores = &scores
	return &copied
}

func whole(n int) Number { return Number{text: fmt.Sprint(n), value: float64(n)} }
