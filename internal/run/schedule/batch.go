package schedule

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/subject"
)

// Batch is the trials that are made together: those of one workload at one level
// in all environments of a block, where their samples alternate; else a single
// one.
type Batch struct {
	Slots []Slot // in the order of the block
	// Why says why the batch has so many rounds; "" where the study set them.
	Why string
	// Left is how much of the budget is left: later no sample begins, and a start that
	// goes on for longer than Grace after it is given up. 0: nothing bounds the batch.
	Left, Grace time.Duration
	seed        uint64
	// chain is the order of the slots in which neighbours are compared with each other;
	// nil where all are compared with one of them.
	chain []int
}

// Rounds is how many rounds of samples the batch has; at least 1.
func (b Batch) Rounds() int { return max(1, mostRounds(b.Slots)) }

func mostRounds(slots []Slot) int {
	return slices.Max(lists.Map(slots, func(s Slot) int { return s.Rounds }))
}

// Round is the order of one round, from 1: a random permutation of the indices of
// the slots that take part in it, or the chain from a random slot on in a random
// direction, the first slot after the last. A slot with fewer rounds than others takes
// part in the last ones, so that all end together.
func (b Batch) Round(number int) []int {
	indices := make([]int, len(b.Slots))
	for i := range indices {
		indices[i] = i
	}
	rounds := b.Rounds()
	switch random := newOrder(b.seed, uint64(number)); {
	case rounds == 1:
	case b.chain != nil:
		// Two samples share more of what disturbs the machine the closer they are in
		// time, and either direction is equally likely, so that drift cancels.
		first := int(random.below(uint64(len(b.chain))))
		indices = slices.Concat(b.chain[first:], b.chain[:first])
		if random.below(2) == 1 {
			slices.Reverse(indices)
		}
	default:
		shuffle(random, indices)
	}
	return slices.DeleteFunc(indices, func(i int) bool { return number <= rounds-max(1, b.Slots[i].Rounds) })
}

// halfEvery is the number of rounds for each round of half the length: these cost an
// eighth of the time of the others.
const halfEvery = 4

// HalfRound is the order of the round of samples of half the length that comes after a
// round: a random permutation as Round; nil if none comes after it. It comes after a
// quarter of the rounds, at random, and never after the last one, so that it always
// lies between two others.
func (b Batch) HalfRound(number int) []int {
	before := make([]int, b.Rounds()-1)
	for i := range before {
		before[i] = i + 1
	}
	shuffle(newOrder(b.seed, halfRounds), before)
	if !slices.Contains(before[:b.Rounds()/halfEvery], number) {
		return nil
	}
	indices := b.Round(number)
	shuffle(newOrder(b.seed, halfRounds+uint64(number)), indices)
	return indices
}

// halfRounds begins the random numbers of rounds of half the length, after those of the
// others.
const halfRounds = 1 << 32

// Together is how many slots from the first on are made together with it.
func Together(slots []Slot) int {
	n := 1
	for first := slots[0]; first.Rounds > 0 && n < len(slots) && slots[n].Block == first.Block && slots[n].Cell().Place() == first.Cell().Place(); {
		n++
	}
	return n
}

// BatchWords says which samples the trials that are made together give.
func BatchWords(slots []Slot) string {
	first := slots[0]
	if first.Rounds == 0 {
		return first.Cell().String()
	}
	text := first.Cell().Place().String() + ": " + strings.Join(lists.Map(slots, func(s Slot) string { return s.Environment }), ", ")
	if len(slots) > 1 {
		text += " alternating"
	}
	most := mostRounds(slots)
	text += ", " + quantity.Counted(most, "round", "rounds")
	if first.Within > 0 && most > 1 {
		text += fmt.Sprintf(" or as many as take %s", first.Within)
	}
	for _, s := range slots {
		if s.Rounds < most {
			text += fmt.Sprintf(", %s in the last %d", s.Environment, s.Rounds)
		}
	}
	return text
}

// NextBatch is Next for all trials that are made together with the next one. After
// a batch of which only some trials were recorded, it is the rest.
func (s *Schedule) NextBatch(elapsed time.Duration) (Batch, bool) {
	return s.nextBatch(s.lanes[0], elapsed)
}

func (s *Schedule) nextBatch(l *lane, elapsed time.Duration) (Batch, bool) {
	slot, ok := s.next(l, elapsed)
	b := Batch{Slots: []Slot{slot}}
	if limit := s.limit(slot); ok && limit > 0 {
		b.Left, b.Grace = limit-elapsed, s.plan.Design.Budget/graceShare
	}
	if slot.Rounds == 0 {
		return b, ok
	}
	left := l.left
	b.Slots, b.seed = left[:Together(left)], s.batchSeed(slot.Block, slot.Cell().Place())
	if at := slices.IndexFunc(s.cells, func(c cell) bool { return c.Place == slot.Cell().Place() }); at >= 0 {
		b.Why = s.whyRounds(s.cells[at], slot.Block)
	}
	if s.byStep() {
		b.chain = s.chain(b.Slots)
	}
	return b, ok
}

// chain is the order of slots in which the environments of the plan, a ladder, follow
// each other.
func (s *Schedule) chain(slots []Slot) (indices []int) {
	for _, e := range s.plan.Environments {
		if i := slices.IndexFunc(slots, func(t Slot) bool { return t.Environment == e.Name }); i >= 0 {
			indices = append(indices, i)
		}
	}
	return indices
}

// batchSeed is different for each cell of each block, and depends on nothing but
// these and the plan's seed.
func (s *Schedule) batchSeed(block int, at subject.Place) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d\x00%s\x00%s", block, at.Workload, at.Level)
	return splitMix64(s.plan.Seed) ^ h.Sum64()
}
