package schedule

// trace lays out the next block of traced trials: every cell once in each
// environment in which it was not given up, whatever has been decided; of a
// ladder, in its two ends. They come after all others, as they measure nothing
// that a verdict is made from; false when there is none left.
func (s *Schedule) trace() bool {
	for s.traced < s.plan.Sampling.Traced {
		s.traced++
		if s.slots = s.tracedBlock(s.stage.block + s.traced); len(s.slots) > 0 {
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
			if a := s.attempts[place{name, c.workload, c.level}]; c.startup || s.plan.Rung(name) || a != nil && a.gaveUp > 0 {
				continue // what a start does is over when the watching could begin
			}
			slots = append(slots, Slot{
				Block: block, Position: len(slots) + 1, Environment: name,
				Workload: c.workload, Level: c.level, Fresh: c.fresh, Traced: true,
			})
		}
	}
	return slots
}
