package schedule

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
)

// fewRounds is how many rounds a block has at least, unless fewer took all the time of
// a first block: the location of fewer is that of their disturbances.
const fewRounds = 8

// blocksInBudget is how many blocks a budget should suffice for: most verdicts that a
// budget of minutes can reach are reached in so many.
const blocksInBudget = 10

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
	made         int                // rounds
	of           map[string]samples // by environment
}

// samples of one environment, and how long they took.
type samples struct {
	made int
	took time.Duration
}

// other is the time without that of rounds and of starts, which serve all workloads of
// the block.
func (b *batchTimes) other() time.Duration {
	return max(0, b.ended.Sub(b.began)+b.before-b.rounds-b.starts)
}

// rounds says how many rounds a cell has in a block: those of the first blocks are
// bounded by a time, the others are chosen from what those took.
func (s *Schedule) rounds(c cell, environment string, block int) (n int, within time.Duration) {
	switch {
	case c.startup:
		return s.startRounds(c, environment, block), 0
	case !s.choosesRounds(c):
		return c.rounds, 0
	}
	if chosen := s.choice(c, block); chosen.of != nil {
		return cmp.Or(chosen.of[environment], chosen.most()), 0
	}
	return c.rounds, s.within()
}

// within bounds the time of a cell's rounds in a first block.
func (s *Schedule) within() time.Duration {
	if s.plan.Design.Budget == 0 {
		return study.FirstRoundsWithin
	}
	return min(study.FirstRoundsWithin, readable(s.budgetOfCell()/blocksInBudget))
}

// budgetOfCell is the part of the budget that a workload has.
func (s *Schedule) budgetOfCell() time.Duration {
	cells := len(lists.Filter(s.cells, func(c cell) bool { return c.rounds > 0 }))
	return s.plan.Design.Budget / time.Duration(max(1, cells))
}

func (s *Schedule) choosesRounds(c cell) bool {
	return c.rounds > 0 && !c.startup && !c.probes && s.plan.Design.RoundsChosen
}

// choice is how many rounds a cell has in each environment, and why; nil where they are
// not chosen.
type choice struct {
	of    map[string]int
	takes map[string]time.Duration // the samples of an environment
	why   string
}

// most is 0 where nothing is chosen.
func (c choice) most() (n int) {
	for _, rounds := range c.of {
		n = max(n, rounds)
	}
	return n
}

func (s *Schedule) whyRounds(c cell, block int) string {
	switch chosen := s.choice(c, block); {
	case !s.choosesRounds(c):
		return ""
	case chosen.of != nil:
		return chosen.why
	}
	return fmt.Sprintf("one of the first blocks, which have %s or as many as take %s", quantity.Counted(c.rounds, "round", "rounds"), s.within())
}

// firstBlocks is how many blocks have no numbers of rounds that were chosen: as many of
// each environment. A budget has less time to find out.
func (s *Schedule) firstBlocks() int {
	if s.plan.Design.Budget > 0 && !s.several() {
		return s.turns
	}
	return study.FirstBlocks * s.turns
}

// chosenFrom is how many blocks the choice for a block is made from; 0 where there is none.
// The first block of a run has more to do than those after it, so that with a budget, which
// cannot wait, the choice of the next ones is not the last.
func (s *Schedule) chosenFrom(block int) int {
	if block <= s.firstBlocks() || s.unfinished(s.firstBlocks()) {
		return 0
	}
	return min((block-1)/s.turns, study.FirstBlocks) * s.turns
}

// choice of the number of rounds of a cell in a block. It depends on the trials of the
// first blocks alone, so that it stays.
func (s *Schedule) choice(c cell, block int) choice {
	from := s.chosenFrom(block)
	if from == 0 || !s.choosesRounds(c) {
		return choice{}
	}
	key := choiceKey{c, from}
	chosen, known := s.chosen[key]
	if !known {
		chosen = s.choose(c, from)
		s.chosen[key] = chosen
	}
	return chosen
}

type choiceKey struct {
	cell
	from int // so many blocks
}

// assumedRatio is that of the variance of a round to the variance between instances.
// The first blocks tell too little about it; see docs/explanation/statistics.md.
const assumedRatio = 8

// choose takes the numbers of rounds that give the narrowest intervals for the time, if
// variances are as assumed (Kalibera and Jones 2013). It looks at times only: a number
// that depended on the estimates could favour a verdict. With a budget, an environment
// whose samples take long has fewer of them, and a block takes at most as long as leaves
// time for blocksInBudget, unless its starts alone take longer.
func (s *Schedule) choose(c cell, from int) choice {
	var batches []*batchTimes
	starts := map[int]time.Duration{}
	for _, b := range s.batches {
		if b.block > from {
			continue
		}
		starts[b.block] += b.starts
		if b.at == c.Place && b.made > 0 {
			batches = append(batches, b)
		}
	}
	sharing := len(lists.Filter(s.cells, s.choosesRounds))
	rest := middle(lists.Map(batches, (*batchTimes).other)) + middle(slices.Collect(maps.Values(starts)))/time.Duration(sharing)
	round := middle(lists.Map(batches, func(b *batchTimes) time.Duration { return b.rounds / time.Duration(b.made) }))
	if round <= 0 {
		return choice{}
	}
	chosen := choice{map[string]int{}, map[string]time.Duration{}, fmt.Sprintf("a round takes %s and the rest of a block %s", readable(round), readable(rest))}
	if s.plan.Design.Budget == 0 || s.byStep() {
		made := slices.Max(lists.Map(batches, func(b *batchTimes) int { return b.made }))
		for _, name := range s.environments {
			chosen.of[name] = s.numberOf(rest, round, made, 1)
		}
		return chosen
	}
	// Each environment has an equal share of the rest of a block, and of its time.
	one := map[string]time.Duration{}
	for _, name := range s.environments {
		var each []time.Duration
		made := 0
		for _, b := range batches {
			if n := b.of[name].made; n > 0 {
				each, made = append(each, b.of[name].took/time.Duration(n)), max(made, n)
			}
		}
		if shares := len(s.environments); made > 0 {
			one[name] = max(middle(each), 1)
			chosen.of[name] = s.numberOf(rest/time.Duration(shares), one[name], made, shares)
		}
	}
	chosen.of[s.plan.Baseline] = chosen.most() // all are compared with it
	for name, n := range chosen.of {
		chosen.takes[name] = one[name] * time.Duration(n)
	}
	return chosen
}

// numberOf rounds that pay, where one takes so long, so many were made in a first block,
// and this is one of so many equal shares. Samples that take as long as the rest of a block
// cost at most half of what they could save, whatever the variances are.
func (s *Schedule) numberOf(rest, one time.Duration, made, shares int) int {
	if made == 1 && s.plan.Design.Budget == 0 {
		return 1
	}
	times := float64(rest) / float64(one)
	n := int(min(math.Sqrt(assumedRatio*times)+.5, times, study.MostRounds))
	if s.plan.Design.Budget > 0 {
		n = min(max(n, fewRounds), int((s.budgetOfCell()/time.Duration(blocksInBudget*shares)-rest)/one))
	}
	return max(n, min(made, fewRounds), 1)
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
	if !s.plan.Design.RoundsChosen || t.Block > study.FirstBlocks*s.turns {
		return
	}
	began, ended, place := t.Started.Round(0), t.Ended.Round(0), t.Cell().Place()
	at := slices.IndexFunc(s.batches, func(b *batchTimes) bool { return b.block == t.Block && b.at == place })
	if at < 0 {
		b := &batchTimes{block: t.Block, node: t.Node, at: place, began: began, ended: ended, of: map[string]samples{}}
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
	b.of[t.Environment] = samples{len(t.Rounds), time.Duration(t.HostSeconds * float64(time.Second))}
}
