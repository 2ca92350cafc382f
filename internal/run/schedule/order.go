package schedule

import (
	"math/rand/v2"
)

// order draws the random orders of one block. The generator is PCG-DXSM of 128
// bits, seeded from the plan's seed and the block, so that an order follows
// from these two numbers alone and a resumed run continues as it began.
type order struct{ generator *rand.PCG }

// newOrder hashes both numbers first: with small seeds, the first draws of
// consecutive blocks would be correlated.
func newOrder(seed, block uint64) order {
	return order{rand.NewPCG(splitMix64(seed), splitMix64(block))}
}

// splitMix64 is the output function of the generator of that name (Steele, Lea
// and Flood 2014).
func splitMix64(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below is a uniform number from 0 to n-1. It uses rejection sampling, so that the
// modulo has no bias.
func (o order) below(n uint64) uint64 {
	for {
		if x := o.generator.Uint64(); x >= -n%n {
			return x % n
		}
	}
}

// shuffle is the Fisher-Yates shuffle (Durstenfeld 1964). It is written out here
// because a resumed run needs the same orders from every version of the library.
func shuffle[T any](o order, items []T) {
	for i := len(items) - 1; i > 0; i-- {
		j := o.below(uint64(i + 1))
		items[i], items[j] = items[j], items[i]
	}
}

// trace lays out the next block of traced trials: every cell once in each
// environment in which it was not given up, of a ladder in its two ends. They come
// after all others, since no verdict uses them. It returns false when none is left.
func (s *Schedule) trace(l *lane) bool {
	for s.traced < s.plan.Sampling.Traced {
		s.traced++
		if slots := s.tracedBlock(s.stage.block + s.traced); len(slots) > 0 {
			s.give(l, slots)
			return true
		}
	}
	return false
}

func (s *Schedule) tracedBlock(block int) (slots []Slot) {
	draw := newOrder(s.plan.Seed, uint64(block)|1<<63)
	cells := append([]cell(nil), s.cells...)
	shuffle(draw, cells)
	for _, c := range cells {
		environments := append([]string(nil), s.environments...)
		shuffle(draw, environments)
		for _, name := range environments {
			if a := s.attempts[c.In(name)]; c.startup || s.plan.Rung(name) || a != nil && a.gaveUp > 0 {
				continue // a start is over before the counting could begin
			}
			slots = append(slots, Slot{
				Block: block, Position: len(slots) + 1, Environment: name,
				Workload: c.Workload, Level: c.Level, Fresh: c.fresh, Traced: true,
			})
		}
	}
	return slots
}
