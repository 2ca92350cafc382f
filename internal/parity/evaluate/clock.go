package evaluate

import (
	"math"
	"slices"
	"strconv"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/subject"
)

// clocks are how fast the clocks of instances ran, by cell, and by workload over its levels:
// the median over the trials. One that is off by less than the margin, or than can be known, is right: it takes no verdict
// to another side.
func clocks(plan *study.Plan, trials []rundir.Trial) map[subject.Cell]string {
	rates, uncertain := map[subject.Cell][]float64{}, map[subject.Cell][]float64{}
	for i := range trials {
		if t := &trials[i]; t.Status == rundir.OK && t.ClockRate > 0 {
			for _, at := range slices.Compact([]subject.Cell{t.Cell(), {Environment: t.Environment, Workload: t.Workload}}) {
				rates[at], uncertain[at] = append(rates[at], t.ClockRate), append(uncertain[at], t.ClockUncertain)
			}
		}
	}
	facts := map[subject.Cell]string{}
	for at, all := range rates {
		rate := stats.Median(all)
		if off := math.Abs(rate - 1); off < float64(plan.Design.Margin) || off < stats.Median(uncertain[at]) {
			rate = 1
		}
		facts[at] = strconv.FormatFloat(rate, 'f', 3, 64)
	}
	return facts
}
