package schedule

// trace lays out the next block of traced trials: every cell once in each
// environment in which it was not given up, of a ladder in its two ends. They come
// after all others, since no verdict uses them. It returns false when none is left.
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
			if a := s.attempts[cellKey{name, c.workload, c.level}]; c.startup || s.plan.Rung(name) || a != nil && a.gaveUp > 0 {
				continue // a start is over before the counting could begin
			}
			slots = append(slots, Slot{
				Block: block, Position: len(slots) + 1, Environment: name,
				Workload: c.workload, Level: c.level, Fresh: c.fresh, Traced: true,
			})
		}
	}
	return slots
}
