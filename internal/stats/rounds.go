package stats

import "math"

// Location is what one block says about a difference, from the differences of its
// rounds: the Hodges-Lehmann estimator; NaN of none. Rounds are not independent,
// so they give a value and no interval. docs/explanation/statistics.md compares it with others on
// recorded samples.
func Location(rounds []float64) float64 { return NewWalsh(rounds).Median() }

// Logs are the natural logarithms of one metric of one environment in a block.
type Logs struct {
	Trial float64
	// Rounds are those of the rounds, the first at index 0; NaN where a round has no
	// value. Nil if the trial has no rounds, or none of them has the metric.
	Rounds []float64
	// Of is how many rounds the trial took part in.
	Of int
}

// Term is one environment in a sum of logarithms.
type Term struct {
	Weight float64
	Logs
}

// Difference is the terms of a difference, times a weight.
func Difference(weight float64, of, over Logs) []Term {
	return []Term{{weight, of}, {-weight, over}}
}

// Sum is a weighted sum of the logarithms of one block.
type Sum struct {
	Log    float64
	Rounds int // that it is computed from; 0 if it is that of the trials
	Of     int // rounds that all terms could have taken part in; 0 if a term has none
}

// Sparse reports whether fewer than half of the rounds of the block have values in
// all terms, so that there is no sum. Rounds that a term was not to take part in do
// not count: an environment that starts slowly has fewer.
func (s Sum) Sparse() bool { return 2*s.Rounds < s.Of }

// SumOf adds up the terms of one block. If all of them have rounds, the terms of
// each round are added, and the sum is the location of these sums: what a round's
// samples have in common, since they lie next to each other in time, then cancels.
// Otherwise the logarithms of the trials are added.
//
// Adding within the rounds keeps the sum linear in each round. Sums that cancel
// there, such as a total without all its parts, are 0; the location itself is not
// additive.
func SumOf(terms []Term) Sum {
	if sums, of := sumsOfRounds(terms); of >= 0 {
		return Sum{Location(sums), len(sums), of}
	}
	s := Sum{}
	for _, t := range terms {
		s.Log += t.Weight * t.Trial
	}
	return s
}

// RoundsOf are the sums of the terms of a block in its rounds; none where a term has no rounds.
func RoundsOf(terms []Term) []float64 {
	sums, _ := sumsOfRounds(terms)
	return sums
}

// sumsOfRounds adds up the terms of a block in each round in which all of them have a
// value. of is how many rounds all terms could have taken part in; -1 if a term has
// none.
func sumsOfRounds(terms []Term) (sums []float64, of int) {
	most, of := 0, math.MaxInt
	for _, t := range terms {
		if len(t.Rounds) == 0 {
			return nil, -1
		}
		most, of = max(most, len(t.Rounds)), min(of, t.Of)
	}
	if most == 0 {
		return nil, -1
	}
	for round := range most {
		sum := 0.0
		for _, t := range terms {
			if round >= len(t.Rounds) {
				sum = math.NaN()
				break
			}
			sum += t.Weight * t.Rounds[round]
		}
		if !math.IsNaN(sum) {
			sums = append(sums, sum)
		}
	}
	return sums, of
}
