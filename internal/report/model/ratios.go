package model

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"tare/internal/stats"
	"tare/internal/subject"
	"tare/internal/verdict"
)

// BlockRatio is the log ratio of an environment and the baseline in one block: what the
// contrast is estimated from.
type BlockRatio struct {
	Block int
	Log   float64
}

// BlockRatios of a metric of a place, by environment and in the order of the blocks; nil for
// imported results without blocks.
func (v *Report) BlockRatios(of subject.Figure) map[string][]BlockRatio {
	if v.Plan.Design.Order == verdict.OrderUnpaired {
		return nil
	}
	logs := verdict.LogsOf(v.Plan, v.Trials, of)
	all := map[string][]BlockRatio{}
	for environment, blocks := range logs {
		if environment == v.Plan.Baseline {
			continue
		}
		for _, block := range slices.Sorted(maps.Keys(blocks)) {
			over, paired := logs[v.Plan.Baseline][block]
			if !paired {
				continue
			}
			if sum := stats.SumOf(stats.Difference(1, blocks[block], over)); !sum.Sparse() && !math.IsNaN(sum.Log) && !math.IsInf(sum.Log, 0) {
				all[environment] = append(all[environment], BlockRatio{block, sum.Log})
			}
		}
	}
	return all
}

// Bend puts a log ratio on a scale that is linear near zero, where the margin is, and
// logarithmic further out, so that 3% and a factor of 40 fit on one axis.
func Bend(d, margin float64) float64 {
	constant := 5 * margin
	constant = cmp.Or(constant, .1)
	return math.Copysign(math.Log1p(math.Abs(d)/constant), d)
}
