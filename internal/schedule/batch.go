package schedule

import "time"

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

// NextBatch is Next for all trials that are made together with the next one.
func (s *Schedule) NextBatch(elapsed time.Duration) (Batch, bool) {
	slot, ok := s.Next(elapsed)
	return Batch{Slots: []Slot{slot}}, ok
}
