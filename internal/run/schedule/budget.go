package schedule

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tare/internal/stats"
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
	case s.several() || elapsed+s.least(l.left[:n]) <= limit+s.plan.Design.Budget/graceShare:
		return false
	default:
		s.cutBlock, l.left = l.left[0].Block, l.left[n:]
	}
	return true
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

// Forecast says what the budget is likely to give: blocks, the rounds of samples of each
// environment in them, and which verdicts it does not suffice for, since an analysis takes
// a least number of blocks. It is known after the first ones; "" before.
func (s *Schedule) Forecast(elapsed time.Duration) string {
	d := s.plan.Design
	block := s.stage.block
	if d.Budget == 0 || !d.Leaves() || s.sequential() || block <= s.firstBlocks() || s.Progress(elapsed).Open == 0 {
		return ""
	}
	var whole time.Duration
	for _, name := range s.environments {
		for _, c := range s.cells {
			whole += s.pace.one(c.In(name), s.choice(c, block).most()) / time.Duration(s.restsBetween(name, block))
		}
	}
	if whole <= 0 {
		return ""
	}
	done := (block - 1) / s.turns // whole ones
	fit := func(every int) int { return done + int((d.Budget-elapsed)/whole)/every }
	var words, rests []string
	few := map[int][]string{}
	least := time.Duration(0)
	for _, name := range s.environments {
		every := s.restsBetween(name, block)
		if every > 1 {
			rests = append(rests, fmt.Sprintf("%s takes part in 1 of %d", name, every))
		}
		if n := fit(every); n < stats.LeastLook && name != s.plan.Baseline {
			few[n] = append(few[n], name)
			least = max(least, elapsed+time.Duration((stats.LeastLook-done)*every)*whole)
		}
		words = append(words, name+" "+s.roundsIn(name, block))
	}
	text := fmt.Sprintf("planned from the first block: about %s of %s in %s; %s", counted(fit(1), "block", "blocks"), readable(whole), d.Budget,
		strings.Join(append(rests, "rounds of samples: "+strings.Join(words, ", ")), "; "))
	if len(few) == 0 {
		return text
	}
	var short []string
	for _, n := range slices.Sorted(maps.Keys(few)) {
		short = append(short, fmt.Sprintf("%s of %s", counted(n, "block", "blocks"), strings.Join(few[n], ", ")))
	}
	return text + fmt.Sprintf(". A verdict takes at least %d blocks, and there is time for %s: --budget %s would probably suffice", stats.LeastLook, strings.Join(short, " and "), roundUp(least))
}

// roundsIn a block, of an environment: from the fewest to the most of its workloads.
func (s *Schedule) roundsIn(environment string, block int) string {
	var all []int
	for _, c := range s.cells {
		n, _ := s.rounds(c, environment, block)
		all = append(all, max(n, 1))
	}
	if least, most := slices.Min(all), slices.Max(all); least < most {
		return fmt.Sprintf("%d to %d", least, most)
	}
	return fmt.Sprint(all[0])
}

// roundUp is to a time that one would give as a budget.
func roundUp(d time.Duration) time.Duration {
	unit := 30 * time.Second
	if d > time.Hour {
		unit = 10 * time.Minute
	}
	return (d + unit - 1) / unit * unit
}
