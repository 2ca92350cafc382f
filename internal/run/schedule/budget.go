package schedule

import (
	"slices"
	"time"
)

// graceShare is the part of a budget by which what was begun may exceed it.
const graceShare = 10

// limit is the elapsed time at which the budget of a trial ends; 0 where nothing bounds
// it. In sequential order each environment has an equal share.
func (s *Schedule) limit(slot Slot) time.Duration {
	budget := s.plan.Design.Budget
	if budget == 0 || slot.Traced {
		return 0
	}
	if s.sequential() {
		n := len(s.environments)
		budget = budget * time.Duration(1+slices.Index(s.environments, slot.Environment)) / time.Duration(n)
	}
	return budget
}

// affordable says whether a stage fits into the budget. One that has begun goes on, and
// the first one begins if there is any time. Where samples alternate, a block can end
// after any workload, so that the first has to fit.
func (s *Schedule) affordable(next stage, slots []Slot, elapsed time.Duration) bool {
	limit := s.limit(slots[0])
	if limit == 0 || s.begun[next] {
		return true
	}
	if s.alternating() && slots[0].Rounds > 0 {
		return elapsed < limit && elapsed+s.least(slots[:Together(slots)]) <= limit
	}
	return elapsed < limit && elapsed+s.pace.block(slices.Values(slots)) <= limit
}

// least is how long trials that are made together take at least; 0 while it is unknown.
func (s *Schedule) least(slots []Slot) (took time.Duration) {
	for _, slot := range slots {
		if len(s.pace.cells[slot.Cell()]) > 0 {
			took += s.pace.one(slot.Cell(), min(1, slot.Rounds))
		}
	}
	return took
}

// cut leaves out the next batch of a lane's block where the budget is spent, or where even
// one sample of each environment would end too late. What the block has counts.
func (s *Schedule) cut(l *lane, elapsed time.Duration) bool {
	if !busy(l) {
		return false
	}
	limit := s.limit(l.left[0])
	n := Together(l.left)
	switch {
	case limit == 0:
		return false
	case elapsed >= limit:
		s.cutAll(l)
	case s.goesOn(l.left[0]) || s.several() || elapsed+s.least(l.left[:n]) <= limit+s.plan.Design.Budget/graceShare:
		return false
	default:
		s.cutBlock, l.left = l.left[0].Block, l.left[n:]
	}
	return true
}

// goesOn says whether trials that are made together with this one are recorded: it was
// handed out with them, when there was time, and a resumed run makes what is missing. Once
// the budget is spent none is made: it would have no sample, and be handed out for ever.
func (s *Schedule) goesOn(slot Slot) bool {
	return slot.Rounds > 0 && slices.ContainsFunc(s.environments, func(name string) bool {
		return s.recorded[trialKey{slot.Block, slot.Traced, slot.Cell().Place().In(name)}]
	})
}

// cutAll ends the block of a lane, and those that no lane of this session works on.
func (s *Schedule) cutAll(of *lane) {
	for _, l := range s.lanes {
		if busy(l) && (l == of || !l.active) {
			s.cutBlock, l.left = max(s.cutBlock, l.left[0].Block), nil
		}
	}
	of.may = true // it worked, and finds that the run is over
	s.hold()
}
