package stats

import (
	"math"
	"slices"
)

// failuresLevel is the error of FailsMore and FailsMoreUnpaired where both sides fail as
// often: a verdict is then withheld that could have been given, which is the smaller harm.
const failuresLevel = 0.05

// FailsMore reports whether one side of blocks fails more than the other beyond chance, from
// the differences of the shares of operations that failed, one a block. Failures come in
// clusters, as when a server restarts, so that operations are not independent and the block
// is what counts, as in trials that randomize groups: a permutation test on the groups
// (Gail, Mark, Carroll, Green and Pee, On design considerations and randomization-based
// inference for community intervention trials, 1996), here by signed ranks (Wilcoxon, 1945).
// Of four or five blocks, which are too few for the level, all have to agree.
func FailsMore(d []float64) bool {
	if len(d) < LeastBlocks {
		return false
	}
	return SignedRankP(d, 0) <= math.Max(failuresLevel, math.Pow(2, 1-float64(len(d))))*(1+1e-9)
}

// FailsMoreUnpaired is FailsMore for shares that no block pairs, by the rank-sum test of
// Mann and Whitney (1947). Ties count half and are rounded towards chance.
func FailsMoreUnpaired(shares, base []float64) bool {
	if len(shares) == 0 || len(base) == 0 {
		return false
	}
	above, ties := 0, 0
	for _, x := range shares {
		for _, y := range base {
			if x > y {
				above++
			} else if x == y {
				ties++
			}
		}
	}
	u := min(2*above+ties, 2*(len(shares)*len(base)-above)-ties)
	return (u+1)/2 < rankSumK(len(shares), len(base), failuresLevel)
}

// AllFailed reports whether there are shares, and each is that of everything.
func AllFailed(shares []float64) bool {
	return len(shares) > 0 && !slices.ContainsFunc(shares, func(s float64) bool { return s < 1 })
}
