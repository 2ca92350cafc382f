package schedule

import (
	"fmt"
	"hash/fnv"
	"time"

	"tare/internal/lists"
)

// Batch is the trials that are made together: those of one workload at one level
// in all environments of a block, where their samples alternate; else a single
// one.
type Batch struct {
	Slots []Slot // in the order of the block
	seed  uint64
}

// Rounds is how many rounds of samples the batch has; at least 1.
func (b Batch) Rounds() int { return max(1, b.Slots[0].Rounds) }

// Round is the order of one round, from 1: a random permutation of the indices of
// the slots.
func (b Batch) Round(number int) []int {
	indices := make([]int, len(b.Slots))
	for i := range indices {
		indices[i] = i
	}
	if b.Rounds() > 1 {
		shuffle(newOrder(b.seed, uint64(number)), indices)
	}
	return indices
}

// NextBatch is Next for all trials that are made together with the next one. After
// a batch of which only some trials were recorded, it is the rest.
func (s *Schedule) NextBatch(elapsed time.Duration) (Batch, bool) {
	slot, ok := s.Next(elapsed)
	if slot.Rounds == 0 {
		return Batch{Slots: []Slot{slot}}, ok
	}
	same := func(other Slot) bool { return other.Workload == slot.Workload && other.Level == slot.Level }
	return Batch{Slots: lists.Filter(s.left(), same), seed: s.batchSeed(slot.Block, slot.Workload, slot.Level)}, ok
}

// batchSeed is different for each cell of each block, and depends on nothing but
// these and the plan's seed.
func (s *Schedule) batchSeed(block int, workload, level string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d\x00%s\x00%s", block, workload, level)
	return splitMix64(s.plan.Seed) ^ h.Sum64()
}
