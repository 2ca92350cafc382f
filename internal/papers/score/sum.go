package score

import "tare/internal/base/lists"

// Sum is the sum of the weighted scores of a group of features, or of all.
type Sum struct {
	Group string    `json:"group"` // "" is the total
	Best  float64   `json:"best"`  // the highest possible
	Cells []SumCell `json:"cells"` // an environment each, in the sheet's order
	Pairs []Pair    `json:"pairs"` // every two environments
}

// SumCell is the sum of one environment.
type SumCell struct {
	Environment string   `json:"environment"`
	Score       *float64 `json:"score"` // nil if no feature has a value
	Least       float64  `json:"least"` // the sums that the intervals allow
	Most        float64  `json:"most"`
	Best        float64  `json:"best"`            // of the features with a value
	Lacks       []string `json:"lacks,omitempty"` // features without a value, which are not in the sum
	// Without are features whose score has no interval: the range of the sum
	// treats their scores as exact.
	Without []string `json:"without_interval,omitempty"`
	// Judged is the part of the score that people judged.
	Judged float64 `json:"judged,omitempty"`
	// Place is the best and the worst rank, from 1, that the comparisons allow.
	Place [2]int `json:"place"`
}

// Pair compares two environments over the features for which both have a value.
type Pair struct {
	A        string   `json:"a"`
	B        string   `json:"b"`
	Features int      `json:"features"` // that both have
	Of       int      `json:"of"`       // features of the group
	ScoreA   float64  `json:"score_a"`
	ScoreB   float64  `json:"score_b"`
	Relation Relation `json:"relation"`
}

// Relation is the order of A and B.
type Relation string

// Two environments tie if the ranges of their sums overlap. The relation is unknown
// if they share no feature.
const (
	Ahead   Relation = "ahead"
	Behind  Relation = "behind"
	Tie     Relation = "tie"
	Unknown Relation = "unknown"
)

// span is a sum with its range.
type span struct{ score, least, most float64 }

func (s *span) add(weight float64, r *Result) {
	s.score += weight * r.Score
	s.least += weight * r.Least
	s.most += weight * r.Most
}

func (s Sheet) sum(group string, member func(Feature) bool) Sum {
	sum := Sum{Group: group}
	rows := lists.Filter(s.Rows, func(r Row) bool { return member(r.Feature) })
	for _, r := range rows {
		sum.Best += r.Feature.Weight * float64(r.Feature.Best())
	}
	for i, e := range s.Environments {
		cell := SumCell{Environment: e}
		var all span
		for _, r := range rows {
			result := r.Cells[i].Result
			if result == nil {
				cell.Lacks = append(cell.Lacks, r.Feature.Name)
				continue
			}
			all.add(r.Feature.Weight, result)
			cell.Best += r.Feature.Weight * float64(r.Feature.Best())
			switch {
			case len(result.Evaluators) > 0:
				cell.Judged += r.Feature.Weight * result.Score
			case result.Interval == nil:
				cell.Without = append(cell.Without, r.Feature.Name)
			}
		}
		if len(cell.Lacks) < len(rows) {
			cell.Score, cell.Least, cell.Most = &all.score, all.least, all.most
		}
		sum.Cells = append(sum.Cells, cell)
	}
	for i := range s.Environments {
		for j := i + 1; j < len(s.Environments); j++ {
			sum.Pairs = append(sum.Pairs, pair(rows, i, j))
		}
	}
	for i := range sum.Cells {
		sum.Cells[i].Place = sum.place(sum.Cells[i].Environment)
	}
	return sum
}

func pair(rows []Row, i, j int) Pair {
	var a, b span
	p := Pair{Of: len(rows), Relation: Unknown}
	for _, r := range rows {
		p.A, p.B = r.Cells[i].Environment, r.Cells[j].Environment
		if x, y := r.Cells[i].Result, r.Cells[j].Result; x != nil && y != nil {
			p.Features++
			a.add(r.Feature.Weight, x)
			b.add(r.Feature.Weight, y)
		}
	}
	p.ScoreA, p.ScoreB = a.score, b.score
	// Sums of the same weights in the same order; what is left is rounding.
	const apart = 1e-9
	switch {
	case p.Features == 0:
	case a.least > b.most+apart:
		p.Relation = Ahead
	case a.most < b.least-apart:
		p.Relation = Behind
	default:
		p.Relation = Tie
	}
	return p
}

// place is the range of ranks: who is certainly ahead, and who certainly behind.
func (s Sum) place(environment string) [2]int {
	first, last := 1, len(s.Cells)
	for _, p := range s.Pairs {
		switch {
		case p.A == environment && p.Relation == Behind, p.B == environment && p.Relation == Ahead:
			first++
		case p.A == environment && p.Relation == Ahead, p.B == environment && p.Relation == Behind:
			last--
		}
	}
	return [2]int{first, last}
}

// Ties returns the pairs whose ranges overlap.
func (s Sum) Ties() []Pair {
	return lists.Filter(s.Pairs, func(p Pair) bool { return p.Relation == Tie })
}
