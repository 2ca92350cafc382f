package verdict

import (
	"cmp"
	"maps"
	"slices"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/subject"
)

// carryOverLevel is the probability of a false carry-over among all pairs of
// environments, for one metric of a workload at a level.
const carryOverLevel = .01

// carryOver says that samples of one environment depend on whose sample came
// before: those that follow another one differ from the rest.
type carryOver struct {
	environment, after string
	p                  float64
	estimate           stats.Interval // log ratio to the other samples, over the blocks
}

// carryOvers tests all pairs of environments that alternated in the trials of one
// workload at one level. The order of each round is random and does not depend on
// the samples, so that without a carry-over those after a certain environment are a
// random choice of a block's samples: the stratified rank-sum test, a block each, at
// carryOverLevel divided by the number of pairs (Bonferroni). Of each environment it
// returns the pair with the least p-value: if one predecessor makes a difference,
// samples after the others differ as well, from the rest.
func carryOvers(trials []rundir.Trial, metric string) []carryOver {
	blocks := map[int][]rundir.Trial{}
	for _, t := range trials {
		if !t.Traced && len(t.Rounds) > 0 {
			blocks[t.Block] = append(blocks[t.Block], t)
		}
	}
	type pair struct{ environment, after string }
	strata := map[pair][]stats.Stratum{}
	for _, block := range slices.Sorted(maps.Keys(blocks)) {
		followers := map[pair][]float64{}
		all := map[string]int{}
		names := followersOf(blocks[block], metric, func(environment, after string, log float64) {
			followers[pair{environment, after}] = append(followers[pair{environment, after}], log)
			all[environment]++
		})
		for _, of := range names {
			for _, after := range names {
				own := followers[pair{of, after}]
				if of == after || len(own) < 2 || len(own) > all[of]-2 {
					continue
				}
				s := stats.Stratum{One: own}
				for _, other := range names {
					if other != after {
						s.Other = append(s.Other, followers[pair{of, other}]...)
					}
				}
				strata[pair{of, after}] = append(strata[pair{of, after}], s)
			}
		}
	}
	least := map[string]carryOver{}
	for p, s := range strata {
		k := carryOver{environment: p.environment, after: p.after, p: stats.StratifiedP(s)}
		if other, known := least[p.environment]; k.p > carryOverLevel/float64(len(strata)) ||
			known && cmp.Or(cmp.Compare(other.p, k.p), cmp.Compare(other.after, k.after)) < 0 {
			continue
		}
		var shifts []float64
		for _, one := range s {
			shifts = append(shifts, stats.Shift(one.One, one.Other, 1).Estimate)
		}
		k.estimate = hodgesLehmann(shifts, .05)
		least[p.environment] = k
	}
	return slices.SortedFunc(maps.Values(least), func(a, b carryOver) int { return cmp.Compare(a.environment, b.environment) })
}

// followersOf calls enter with each sample of a block that has a known predecessor:
// the one before it in its round, or the last of the round before, which may be one of
// half the length. It returns the
// environments. A block whose trials were not made together has none.
func followersOf(trials []rundir.Trial, metric string, enter func(environment, after string, log float64)) (names []string) {
	rounds := map[int]map[int]string{} // whose sample it is, by round and position
	for _, t := range trials {
		names = append(names, t.Environment)
		for _, r := range t.Rounds {
			if rounds[r.Number] == nil {
				rounds[r.Number] = map[int]string{}
			}
			if rounds[r.Number][r.Position] != "" {
				return nil
			}
			rounds[r.Number][r.Position] = t.Environment
		}
	}
	type last struct {
		environment string
		position    int
	}
	halves := map[int]last{} // the last sample of half the length after a round
	for _, t := range trials {
		for _, r := range t.HalfRounds {
			if r.Position > halves[r.Number].position {
				halves[r.Number] = last{t.Environment, r.Position}
			}
		}
	}
	for _, t := range trials {
		logs := t.RoundLogs(metric).Rounds
		if t.Status != rundir.OK || logs == nil {
			continue
		}
		for _, r := range t.Rounds {
			before := rounds[r.Number][r.Position-1]
			if r.Position == 1 {
				before = cmp.Or(halves[r.Number-1].environment, rounds[r.Number-1][len(rounds[r.Number-1])])
			}
			if log := logs[r.Number-1]; before != "" && log == log { // a round without the metric is NaN
				enter(t.Environment, before, log)
			}
		}
	}
	return names
}

// warnOfCarryOver adds what carries over to the contrasts of primary metrics.
func warnOfCarryOver(plan *study.Plan, trials []rundir.Trial, contrasts []Contrast) {
	of := map[subject.Place][]rundir.Trial{}
	for _, t := range trials {
		if len(t.Rounds) == 0 && len(t.HalfRounds) == 0 {
			continue // it follows no other sample
		}
		of[t.Cell().Place()] = append(of[t.Cell().Place()], t)
	}
	for at, w := range places(plan) {
		for _, m := range metricsOf(w.Pack) {
			if m.Primary {
				warnOf(carryOvers(of[at], m.Name), plan.Design.Waiting == "idle", contrasts, at.Of(m.Name))
			}
		}
	}
}

func warnOf(found []carryOver, idle bool, contrasts []Contrast, of subject.Figure) {
	for _, k := range found {
		for i := range contrasts {
			c := &contrasts[i]
			if c.Figure().In("") == of && (c.Environment == k.environment || c.Baseline == k.environment) {
				c.warn(Warning{Code: CarryOver, Side: k.environment, Other: k.after, Change: k.estimate, Idle: idle})
			}
		}
	}
}
