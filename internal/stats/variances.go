package stats

import "math"

// Variances is what the values of blocks vary by.
type Variances struct {
	// Round is the variance that a block of one round would have from its samples; one
	// of R rounds has the R-th part of it.
	Round float64
	// Block is the variance that remains however many rounds a block has. The estimate
	// can be negative.
	Block float64
	// Rounds is how many rounds a block had on average.
	Rounds float64
}

// VariancesOf estimates the variances of a difference from its rounds in some blocks; false
// if fewer than two blocks have at least two rounds.
//
// The location of a block's first half differs from that of the second one by what the
// rounds vary by alone. Neighbours can be alike, but within halves that is part of
// their locations, so that no assumption about it is needed: the deviation of single
// rounds would be too small then.
func VariancesOf(blocks [][]float64) (v Variances, ok bool) {
	var locations []float64
	n := 0.0
	for _, rounds := range blocks {
		half := len(rounds) / 2
		if half == 0 {
			continue
		}
		difference := Location(rounds[:half]) - Location(rounds[half:])
		within := difference * difference / 4
		v.Round += within * float64(len(rounds))
		v.Block -= within
		v.Rounds += float64(len(rounds))
		locations = append(locations, Location(rounds))
		n++
	}
	if n < 2 {
		return Variances{}, false
	}
	v.Round, v.Block, v.Rounds = v.Round/n, v.Block/n, v.Rounds/n
	mean := 0.0
	for _, d := range locations {
		mean += d / n
	}
	for _, d := range locations {
		v.Block += (d - mean) * (d - mean) / (n - 1)
	}
	return v, true
}

// Together are the variances of several differences at once. Those with the widest
// intervals, which take the most blocks, weigh most.
func Together(of []Variances) (all Variances) {
	for _, v := range of {
		all.Round, all.Block = all.Round+v.Round, all.Block+v.Block
		all.Rounds += v.Rounds / float64(len(of))
	}
	return all
}

// Share is the part of the blocks' variance that is from their samples.
func (v Variances) Share() float64 {
	samples, rest := v.Round/v.Rounds, max(0, v.Block)
	if samples+rest == 0 {
		return 0
	}
	return samples / (samples + rest)
}

// Few blocks tell little about the ratio of the two variances. Where the estimate lies
// outside these bounds of Round/Block, the bound is nearer to the truth on recorded
// samples; see docs/statistics.md.
const leastRatio, mostRatio = 2, 32

// PayingRounds is the number of rounds in a block that gives the narrowest interval for
// the time, where a block without its rounds costs so much, and a round so much
// (Kalibera and Jones 2013, in the version with corrected estimators).
func (v Variances) PayingRounds(block, round float64) float64 {
	ratio := float64(mostRatio)
	switch {
	case v.Round == 0:
		ratio = leastRatio
	case v.Block > 0:
		ratio = min(max(v.Round/v.Block, leastRatio), mostRatio)
	}
	return math.Sqrt(block / round * ratio)
}
