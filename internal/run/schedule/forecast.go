package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/subject"
)

// Forecast says what the budget is likely to give: blocks, the rounds of samples of each
// environment in them, and which verdicts it does not suffice for. It is known after the
// first block, and better after each of the first ones, which it counts; "" and 0 before.
func (s *Schedule) Forecast(elapsed time.Duration) (text string, from int) {
	s.takeUp()
	f := s.forecast(elapsed)
	if f == nil {
		return "", 0
	}
	var rounds, named, rests, later []string
	for _, name := range s.environments {
		every := lists.Map(s.cells, func(c cell) int { return s.restsBetween(c.In(name), f.block) })
		if within := lists.Filter(every, func(n int) bool { return n > 0 }); len(within) > 0 && slices.Max(within) > 1 {
			upTo := ""
			if slices.Min(within) < slices.Max(within) {
				upTo = "up to "
			}
			rests = append(rests, fmt.Sprintf("%s takes part in 1 of %s%d blocks", name, upTo, slices.Max(within)))
		}
		for i, c := range s.cells {
			if every[i] == 0 && !s.withheld[c.In(name)] && !s.gaveUp(c.In(name), stage{-1, f.block}) {
				later = append(later, c.In(name).String())
			}
		}
		n := s.roundsIn(name, f.block)
		rounds, named = append(rounds, n), append(named, name+" "+n)
	}
	if rounds = slices.Compact(rounds); len(rounds) > 1 {
		rounds = named
	}
	if n := len(later); n > fewNamed {
		later = append(later[:fewNamed], fmt.Sprintf("%d more", n-fewNamed))
	}
	if len(later) > 0 {
		waits := "wait"
		if len(later) == 1 {
			waits = "waits"
		}
		rests = append(rests, fmt.Sprintf("%s would take too long, and %s until the others have their verdicts", strings.Join(later, ", "), waits))
	}
	after := "the first block"
	if f.from > 1 {
		after = fmt.Sprintf("%d blocks", f.from)
	}
	return fmt.Sprintf("planned from %s: about %s of %s in %s; %s", after, quantity.Counted(f.fit(1), "block", "blocks"), readable(f.whole), s.plan.Design.Budget,
		strings.Join(append(rests, "rounds of samples: "+strings.Join(rounds, ", ")), "; ")) + f.tooLittleFor(f.short()), f.from
}

// forecast is made between two blocks.
type forecast struct {
	*Schedule
	elapsed time.Duration
	block   int           // the next one
	done    int           // whole blocks before it
	whole   time.Duration // that a block takes
	from    int           // blocks that the plan is made from
}

// forecast is nil where there is none.
func (s *Schedule) forecast(elapsed time.Duration) *forecast {
	d, block := s.plan.Design, s.stage.block
	f := &forecast{s, elapsed, block, (block - 1) / s.turns, 0, s.chosenFrom(block) / s.turns}
	if f.from == 0 || d.Budget == 0 || !d.Leaves() || s.sequential() || s.Progress(elapsed).Open == 0 {
		return nil
	}
	if f.whole = s.takes(block); f.whole <= 0 {
		return nil
	}
	return f
}

// takes is what a block takes. The pace of trials that were made together is their mean,
// which says nothing of a block in which the slow ones rest.
func (s *Schedule) takes(block int) (whole time.Duration) {
	rest := false
	var planned time.Duration
	for _, c := range s.cells {
		needed := false
		for _, name := range s.environments {
			every := s.restsBetween(c.In(name), block)
			rest = rest || every != 1
			whole += s.pace.one(c.In(name), s.choice(c, block).most())
			if name != s.plan.Baseline && every > 0 {
				needed = true
				planned += s.cost(c, name, block) / time.Duration(every)
			}
		}
		if needed {
			planned += s.cost(c, s.plan.Baseline, block)
		}
	}
	if rest {
		return planned
	}
	return whole
}

// fit is how many blocks an environment will have that takes part in one of so many.
func (f *forecast) fit(every int) int {
	return f.done + int((f.plan.Design.Budget-f.elapsed)/f.whole)/every
}

// lacking is a cell whose verdicts the budget will hardly bring, with the one that would; 0
// where the study does not allow so many blocks.
type lacking struct {
	subject.Cell
	budget time.Duration
}

// short are the cells whose verdicts are likely to be missing, or their intervals wide, at
// the end of the budget: those that lack least come first.
func (f *forecast) short() (all []lacking) {
	of := func(at subject.Cell) cell {
		return *lists.Find(f.cells, func(c *cell) bool { return c.Place == at.Place() })
	}
	rounds := func(at subject.Cell) int {
		n, _ := f.rounds(of(at), at.Environment, f.block)
		return n
	}
	for at, blocks := range f.book.Outlooks(assumedRatio, rounds) {
		every, whole, fit := f.restsBetween(at, f.block), f.whole, f.done
		if every > 0 {
			fit = f.fit(every)
		} else {
			whole += f.cost(of(at), at.Environment, f.block) + f.cost(of(at), f.plan.Baseline, f.block)
		}
		switch {
		case blocks <= fit, f.withheld[at]:
		case blocks > f.plan.Design.Blocks.Max:
			all = append(all, lacking{at, 0})
		default:
			all = append(all, lacking{at, f.elapsed + time.Duration((blocks-f.done)*max(every, 1))*whole})
		}
	}
	slices.SortFunc(all, func(a, b lacking) int {
		return cmp.Or(after(a.budget == 0, b.budget == 0), cmp.Compare(a.budget, b.budget), cmp.Compare(a.String(), b.String()))
	})
	return all
}

// fewNamed is how many of those that lack time are named.
const fewNamed = 3

func (f *forecast) tooLittleFor(all []lacking) string {
	if len(all) == 0 {
		return ""
	}
	takes := func(l lacking) string {
		if l.budget == 0 {
			return fmt.Sprintf("more than %s", quantity.Counted(f.plan.Design.Blocks.Max, "block", "blocks"))
		}
		return roundUp(l.budget).String()
	}
	var names []string
	for _, l := range all[:min(len(all), fewNamed)] {
		names = append(names, fmt.Sprintf("%s (%s)", l, takes(l)))
	}
	text := "; probably too little time for these, with what each would take: " + strings.Join(names, ", ")
	if more := len(all) - len(names); more > 0 {
		upTo, last := "up to", all[len(all)-1]
		if last.budget == 0 {
			upTo = "some"
		}
		text += fmt.Sprintf(" and %d more (%s %s)", more, upTo, takes(last))
	}
	return text
}

// roundUp is to a time that one would give as a budget.
func roundUp(d time.Duration) time.Duration {
	unit := 30 * time.Second
	if d > time.Hour {
		unit = 10 * time.Minute
	}
	return (d + unit - 1) / unit * unit
}

// roundsIn a block, of an environment: from the fewest to the most of its workloads.
func (s *Schedule) roundsIn(environment string, block int) string {
	return fromTo(lists.Map(s.cells, func(c cell) int {
		n, _ := s.rounds(c, environment, block)
		return max(n, 1)
	}))
}

func fromTo(all []int) string {
	if least, most := slices.Min(all), slices.Max(all); least < most {
		return fmt.Sprintf("%d to %d", least, most)
	}
	return fmt.Sprint(all[0])
}
