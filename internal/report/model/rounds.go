package model

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/usage"
	"tare/internal/verdict"
)

// Stolen is the share of a core that the hypervisor took during the samples of an
// environment, in one workload at one level.
type Stolen struct {
	Workload    string  `json:"workload"`
	Level       string  `json:"level,omitempty"`
	Environment string  `json:"environment"`
	Share       float64 `json:"share"`
}

// StolenShares are those of all cells whose samples alternated, in the order of the
// plan; without the cells in which the kernel did not report stolen time.
func StolenShares(plan *study.Plan, trials []rundir.Trial) (all []Stolen) {
	type sum struct{ stolen, time float64 }
	sums := map[subject.Cell]*sum{}
	for _, t := range lists.Filter(trials, alternated) {
		at := t.Cell()
		for _, r := range t.Rounds {
			if r.StealSeconds == nil || r.HostSeconds <= 0 {
				continue
			}
			if sums[at] == nil {
				sums[at] = &sum{}
			}
			sums[at].stolen += *r.StealSeconds
			sums[at].time += r.HostSeconds
		}
	}
	for _, w := range plan.Workloads {
		for _, l := range w.Levels {
			for _, e := range plan.Environments {
				if s := sums[subject.Cell{Environment: e.Name, Workload: w.Name, Level: l.Name}]; s != nil {
					all = append(all, Stolen{w.Name, l.Name, e.Name, s.stolen / s.time})
				}
			}
		}
	}
	return all
}

func alternated(t rundir.Trial) bool { return t.Status == rundir.OK && !t.Traced && len(t.Rounds) > 0 }

// howAlternated says how many rounds the blocks of the run had, where the samples did
// not alternate, and what share of their time the hypervisor took; "" if no samples
// alternated.
func (v *Report) howAlternated() string {
	text := v.roundsAndSteal()
	if text == "" {
		return ""
	}
	return text + v.howLengthBiases()
}

// roundsAndSteal is howAlternated without the length of the samples.
func (v *Report) roundsAndSteal() string {
	var rounds []int
	cells := map[subject.Place]bool{}
	for _, t := range v.Trials {
		if at := t.Cell().Place(); alternated(t) {
			rounds = append(rounds, len(t.Rounds))
			cells[at] = true
		} else if t.Status == rundir.OK {
			cells[at] = cells[at] || false
		}
	}
	if len(rounds) == 0 {
		return ""
	}
	text := "samples of the environments alternated, " +
		verdict.Rounds{Least: slices.Min(rounds), Most: slices.Max(rounds)}.String() + " in each block"
	if single := v.titles(func(at subject.Place) bool { is, ran := cells[at]; return ran && !is }); len(single) > 0 {
		text += ", except in " + strings.Join(single, ", ")
	}
	text += v.chosen() + v.rested()
	shares := lists.Map(v.Stolen, func(s Stolen) float64 { return s.Share })
	switch {
	case len(shares) == 0:
		return text
	case slices.Max(shares) == 0:
		return text + "; the hypervisor took no time from them" + v.stealSource()
	}
	text += fmt.Sprintf("; the hypervisor took %s of a core from them%s, and nothing was left out for it",
		percentages(slices.Min(shares), slices.Max(shares)), v.stealSource())
	if apart := v.apart(); len(apart) > 0 {
		text += "; " + strings.Join(apart, ", ")
	}
	return text
}

// stealSource says what the stolen time was read from, if that is known and the same in
// all trials.
func (v *Report) stealSource() string {
	var sources []string
	for _, t := range v.Trials {
		if t.StealSource != "" && !slices.Contains(sources, t.StealSource) {
			sources = append(sources, t.StealSource)
		}
	}
	if len(sources) != 1 {
		return ""
	}
	if sources[0] == usage.StealTicks {
		return " (counted in ticks of 10 ms)"
	}
	return " (counted in nanoseconds)"
}

// howLengthBiases says for how many comparisons it is shown whether the length of the
// samples biases them, and which workloads have no samples of half the length.
func (v *Report) howLengthBiases() (text string) {
	measured, within, exceeds := 0, 0, 0
	cells := map[subject.Place]bool{}
	for _, c := range v.Contrasts {
		l := c.LengthBias
		if l == nil {
			continue
		}
		cells[c.Figure().Place()] = true
		measured++
		switch {
		case l.Within():
			within++
		case l.Exceeds():
			exceeds++
		}
	}
	if measured > 0 {
		text = fmt.Sprintf("; the bias by the length of the samples is shown to be within a quarter of the margin in %d of %d comparisons", within, measured)
		if exceeds > 0 {
			text += fmt.Sprintf(", and to exceed it in %d", exceeds)
		}
	}
	did := map[subject.Place]bool{}
	for _, t := range lists.Filter(v.Trials, alternated) {
		did[t.Cell().Place()] = true
	}
	unknown := v.titles(func(at subject.Place) bool {
		return did[at] && !cells[at] && v.Plan.Workload(at.Workload).Pack.Length != nil
	})
	if len(unknown) > 0 {
		text += "; it is unknown how much the length of the samples biases " + strings.Join(unknown, ", ") + ": there are none of half the length"
	}
	return text
}

// ChosenRounds is how many rounds the blocks of a workload at a level had from one block
// on, and why.
type ChosenRounds struct {
	Workload string `json:"workload"`
	Level    string `json:"level,omitempty"`
	Block    int    `json:"block"`
	Rounds   int    `json:"rounds"`
	Reason   string `json:"reason"`
}

// RoundsChosen are the numbers of rounds that the first blocks chose, in the order of
// the plan.
func RoundsChosen(plan *study.Plan, trials []rundir.Trial) (all []ChosenRounds) {
	for _, w := range plan.Workloads {
		for _, l := range w.Levels {
			of := lists.Filter(trials, func(t rundir.Trial) bool {
				return alternated(t) && t.RoundsReason != "" && t.Workload == w.Name && t.Level == l.Name
			})
			at := slices.IndexFunc(of, func(t rundir.Trial) bool { return t.RoundsReason != of[0].RoundsReason })
			if at >= 0 {
				all = append(all, ChosenRounds{w.Name, l.Name, of[at].Block, len(of[at].Rounds), of[at].RoundsReason})
			}
		}
	}
	return all
}

// rested names the environments that left blocks to the others, since they take longer
// than these together.
func (v *Report) rested() (text string) {
	if v.Plan.Design.Budget == 0 || v.Plan.Turns(lists.Map(v.Environments, func(e Environment) string { return e.Name })) > 1 || len(v.Plan.Steps) > 0 {
		return "" // those that take turns have their own remark
	}
	blocks := map[string]map[int]bool{}
	for _, t := range v.Trials {
		if blocks[t.Environment] == nil {
			blocks[t.Environment] = map[int]bool{}
		}
		if !t.Traced {
			blocks[t.Environment][t.Block] = true
		}
	}
	for _, e := range v.Environments {
		if of := blocks[e.Name]; len(of) > 0 {
			if last := slices.Max(slices.Collect(maps.Keys(of))); len(of) < last {
				text += fmt.Sprintf("; %s, which takes longer than all others together, was in %d of the first %d blocks", e.Shown, len(of), last)
			}
		}
	}
	return text
}

// chosen says which numbers of rounds were chosen.
func (v *Report) chosen() string {
	titles := map[int][]string{}
	for _, c := range RoundsChosen(v.Plan, v.Trials) {
		titles[c.Rounds] = append(titles[c.Rounds], LevelTitle(c.Workload, c.Level))
	}
	if len(titles) == 0 {
		return ""
	}
	parts := lists.Map(slices.Sorted(maps.Keys(titles)), func(n int) string { return fmt.Sprintf("%d in %s", n, strings.Join(titles[n], ", ")) })
	return ", chosen by the times of the first blocks and their rounds: " + strings.Join(parts, "; ")
}

// apart names the environments whose share differs from the baseline's by more than
// half the margin, since an estimate can move by about as much; each where it differs
// most.
func (v *Report) apart() (named []string) {
	of := map[subject.Cell]float64{}
	for _, s := range v.Stolen {
		of[subject.Cell{Environment: s.Environment, Workload: s.Workload, Level: s.Level}] = s.Share
	}
	for _, e := range v.Environments {
		var most float64
		var where string
		for _, s := range v.Stolen {
			base, known := of[subject.Cell{Environment: v.Base.Name, Workload: s.Workload, Level: s.Level}]
			if s.Environment == e.Name && known && math.Abs(s.Share-base) > math.Abs(most) {
				most, where = s.Share-base, LevelTitle(s.Workload, s.Level)
			}
		}
		if math.Abs(most) > float64(v.Plan.Design.Margin)/2 {
			than := "more"
			if most < 0 {
				than = "less"
			}
			named = append(named, fmt.Sprintf("%s lost %.1f percentage points %s than %s in %s", e.Shown, 100*math.Abs(most), than, v.Base.Shown, where))
		}
	}
	return named
}

// titles of the cells that are chosen, in the order of the plan.
func (v *Report) titles(choose func(subject.Place) bool) (titles []string) {
	for _, w := range v.Plan.Workloads {
		for _, l := range w.Levels {
			if choose(subject.Place{Workload: w.Name, Level: l.Name}) {
				titles = append(titles, LevelTitle(w.Name, l.Name))
			}
		}
	}
	return titles
}

func percentages(least, most float64) string {
	low, high := fmt.Sprintf("%.1f%%", 100*least), fmt.Sprintf("%.1f%%", 100*most)
	if low == high {
		return low
	}
	return low + " to " + high
}

// StolenRow is a workload at a level with the shares of the environments, "" where
// there is none.
type StolenRow struct {
	Title  string
	Shares []string
}

// StolenTable are the shares as a table with a column for each environment.
func (v *Report) StolenTable() (rows []StolenRow) {
	column := map[string]int{}
	for i, e := range v.Environments {
		column[e.Name] = i
	}
	for _, s := range v.Stolen {
		title := LevelTitle(s.Workload, s.Level)
		if len(rows) == 0 || rows[len(rows)-1].Title != title {
			rows = append(rows, StolenRow{title, make([]string, len(v.Environments))})
		}
		rows[len(rows)-1].Shares[column[s.Environment]] = fmt.Sprintf("%.2f%%", 100*s.Share)
	}
	return rows
}
