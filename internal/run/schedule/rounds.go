package schedule

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
)

// fewRounds is how many rounds a block has at least, unless fewer took all the time of
// a first block: the location of fewer is that of their disturbances.
const fewRounds = 8

// blocksInBudget is how many blocks a budget should suffice for: most verdicts that a
// budget of minutes can reach are reached in so many.
const blocksInBudget = 12

// batchTimes are the times of the trials that were made together in a block, by the
// host's clock as the journal has it.
type batchTimes struct {
	block        int
	node         string
	at           subject.Place
	began, ended time.Time
	before       time.Duration // from the end of what was made before
	starts       time.Duration // of instances
	rounds       time.Duration
	made         int // rounds
}

// other is the time without that of rounds and of starts, which serve all workloads of
// the block.
func (b *batchTimes) other() time.Duration {
	return max(0, b.ended.Sub(b.began)+b.before-b.rounds-b.starts)
}

// rounds says how many rounds a cell has in a block: those of the first blocks are
// bounded by a time, the others are chosen from them.
func (s *Schedule) rounds(c cell, environment string, block int) (n int, within time.Duration) {
	switch {
	case c.startup:
		return s.startRounds(c, environment, block), 0
	case !s.choosesRounds(c):
		return c.rounds, 0
	}
	if chosen := s.choice(c, block); chosen.rounds > 0 {
		return chosen.rounds, 0
	}
	return c.rounds, s.within()
}

// within bounds the time of a cell's rounds in a block: in the first blocks, and in all
// of them where there is a budget. There the time that an environment leaves, when it
// has its verdict, goes to more rounds of the others, which a fixed number would not use.
func (s *Schedule) within() time.Duration {
	if s.plan.Design.Budget == 0 {
		return study.FirstRoundsWithin
	}
	cells := len(lists.Filter(s.cells, func(c cell) bool { return c.rounds > 0 }))
	return min(study.FirstRoundsWithin, readable(s.plan.Design.Budget/time.Duration(blocksInBudget*max(1, cells))))
}

func (s *Schedule) choosesRounds(c cell) bool {
	return c.rounds > 0 && !c.startup && !c.probes && s.plan.Design.RoundsChosen
}

// choice is how many rounds a cell has, and why.
type choice struct {
	rounds int // 0: not chosen
	why    string
}

func (s *Schedule) whyRounds(c cell, block int) string {
	switch chosen := s.choice(c, block); {
	case !s.choosesRounds(c):
		return ""
	case chosen.rounds > 0:
		return chosen.why
	case s.plan.Design.Budget > 0:
		return fmt.Sprintf("%s or as many as take %s, so that the budget suffices for some %d blocks", counted(c.rounds, "round", "rounds"), s.within(), blocksInBudget)
	}
	return fmt.Sprintf("one of the first blocks, which have %s or as many as take %s", counted(c.rounds, "round", "rounds"), study.FirstRoundsWithin)
}

// firstBlocks is how many blocks the numbers of rounds are chosen from: as many of each
// environment.
func (s *Schedule) firstBlocks() int { return study.FirstBlocks * s.turns }

// choice of the number of rounds of a cell in a block. It depends on the trials of the
// first blocks alone, so that it stays.
func (s *Schedule) choice(c cell, block int) choice {
	if block <= s.firstBlocks() || s.unfinished(s.firstBlocks()) || !s.choosesRounds(c) || s.plan.Design.Budget > 0 {
		return choice{}
	}
	chosen, known := s.chosen[c]
	if !known {
		chosen = s.choose(c)
		s.chosen[c] = chosen
	}
	return chosen
}

// assumedRatio is that of the variance of a round to the variance between instances.
// Three blocks tell too little about it; see docs/explanation/statistics.md.
const assumedRatio = 8

// choose takes the number of rounds that gives the narrowest intervals for the time, if
// variances are as assumed (Kalibera and Jones 2013). It looks at times only: a number
// that depended on the estimates could favour a verdict.
func (s *Schedule) choose(c cell) choice {
	var other, round []time.Duration
	most := 0
	starts := map[int]time.Duration{}
	for _, b := range s.batches {
		starts[b.block] += b.starts
		if b.at == c.Place && b.made > 0 {
			other, round = append(other, b.other()), append(round, b.rounds/time.Duration(b.made))
			most = max(most, b.made)
		}
	}
	sharing := len(lists.Filter(s.cells, s.choosesRounds))
	costBlock := middle(other) + middle(slices.Collect(maps.Values(starts)))/time.Duration(sharing)
	costRound := middle(round)
	switch {
	case most == 1:
		return choice{1, fmt.Sprintf("a round takes %s", readable(costRound))}
	case costRound <= 0:
		return choice{}
	}
	times := float64(costBlock) / float64(costRound)
	// Samples that take as long as the rest of a block cost at most half of what they
	// could save, whatever the variances are.
	pays := min(math.Sqrt(assumedRatio*times)+.5, times, study.MostRounds)
	n := max(int(pays), min(fewRounds, most))
	return choice{n, fmt.Sprintf("a round takes %s and the rest of a block %s", readable(costRound), readable(costBlock))}
}

func readable(d time.Duration) time.Duration {
	unit := time.Millisecond
	for d >= 100*unit && unit < time.Hour { // a journal can have any times
		unit *= 10
	}
	return d.Round(unit)
}

// time adds a trial to the times of the first blocks. The journal has no monotonic
// clock, and a resumed run decides as the first session did.
func (s *Schedule) time(t rundir.Trial) {
	if !s.plan.Design.RoundsChosen || t.Block > s.firstBlocks() {
		return
	}
	began, ended, place := t.Started.Round(0), t.Ended.Round(0), t.Cell().Place()
	at := slices.IndexFunc(s.batches, func(b *batchTimes) bool { return b.block == t.Block && b.at == place })
	if at < 0 {
		b := &batchTimes{block: t.Block, node: t.Node, at: place, began: began, ended: ended}
		if before := lists.Filter(s.batches, func(b *batchTimes) bool { return b.node == t.Node }); len(before) > 0 {
			b.before = max(0, began.Sub(before[len(before)-1].ended))
		}
		at, s.batches = len(s.batches), append(s.batches, b)
	}
	b := s.batches[at]
	if began.Before(b.began) {
		b.began = began
	}
	if ended.After(b.ended) {
		b.ended = ended
	}
	if w := s.plan.Workload(t.Workload); w == nil || !w.Pack.FromStart() { // whose starts are its samples
		for _, p := range t.Phases {
			b.starts += p.Duration
		}
	}
	b.rounds = max(b.rounds, time.Duration(t.RoundsSeconds*float64(time.Second)))
	b.made = max(b.made, len(t.Rounds))
}
