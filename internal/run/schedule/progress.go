package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tare/internal/base/quantity"
	"tare/internal/stats"
	"tare/internal/subject"
	"tare/internal/verdict"
)

// Progress is how far a run is.
type Progress struct {
	Block    int `json:"block"`               // under way; 0 before the first
	MaxBlock int `json:"max_block,omitempty"` // 0: none
	// NextLook is the number of blocks at which a verdict can fall next; 0 when
	// none is left.
	NextLook int `json:"next_look,omitempty"`
	Done     int `json:"done"` // trials, the failed ones included
	Failed   int `json:"failed"`
	Left     int `json:"left"` // trials left in this block
	// Decided, Inconclusive and Open count the contrasts on primary metrics.
	// Inconclusive are those to which further blocks would add nothing.
	Decided      int `json:"decided"`
	Inconclusive int `json:"inconclusive"`
	Open         int `json:"open"`
	// Without counts those that no number of blocks gives a verdict: not comparable, or
	// given up.
	Without int `json:"without,omitempty"`
	// Elapsed is the time since the first trial, over all sessions, and Budget what it
	// may be. 0: there is none.
	Elapsed time.Duration `json:"elapsed_ns,omitempty"`
	Budget  time.Duration `json:"budget_ns,omitempty"`
	// Remaining is what the open verdicts are likely to take, from measured durations,
	// within the budget. 0 while nothing is known.
	Remaining time.Duration `json:"remaining_ns,omitempty"`
	// Guessed: some of the trials that Remaining is made of have not been measured once.
	Guessed bool `json:"guessed,omitempty"`
	// Least: an open verdict has no projection yet, so that Remaining ends at the next
	// analysis, and is what the run takes at least.
	Least   bool      `json:"least,omitempty"`
	GivenUp []GivenUp `json:"given_up,omitempty"`
}

// ToGo is the time that a run is likely to go on, and the time that its budget leaves it;
// 0 is an unknown one.
func (p Progress) ToGo() (likely, atMost time.Duration) {
	if p.Budget > 0 {
		atMost = max(0, p.Budget-p.Elapsed)
	}
	switch {
	case p.Guessed, p.Least && p.Remaining < atMost, p.Least && p.Budget == 0:
		return 0, atMost
	case p.Budget > 0 && p.Remaining >= atMost:
		return 0, atMost
	}
	return p.Remaining, atMost
}

// Over reports whether the budget is spent.
func (p Progress) Over() bool { return p.Budget > 0 && p.Elapsed >= p.Budget }

// Share of the run that is behind it, from 0 to 1: of the likely time, else of the budget;
// 0 where neither is known.
func (p Progress) Share() float64 {
	left, atMost := p.ToGo()
	left = cmp.Or(left, atMost)
	if left == 0 && !p.Over() {
		return 0
	}
	return float64(p.Elapsed) / float64(max(1, p.Elapsed+left))
}

// GivenUp is a workload that leaves a run in one environment.
type GivenUp struct {
	Environment string `json:"environment"`
	Workload    string `json:"workload"`
	Level       string `json:"level,omitempty"`
	Block       int    `json:"block"`
	Reason      string `json:"reason"`
}

// Progress sums up the run so far.
func (s *Schedule) Progress(elapsed time.Duration) Progress {
	s.takeUp()
	blocks := s.plan.Design.Blocks
	p := Progress{Block: s.stage.block, Done: len(s.recorded), Failed: s.failed, MaxBlock: blocks.Max * s.turns, Elapsed: elapsed, Budget: s.plan.Design.Budget}
	if blocks.Open {
		p.MaxBlock = 0
	}
	for _, l := range s.lanes {
		p.Left += len(l.left)
	}
	for _, c := range s.Verdicts() {
		if !c.Primary {
			continue
		}
		switch {
		case s.withheld[c.Figure().Cell] || c.Barred():
			p.Without++
		case c.Open:
			p.Open++
			if look := s.nextLook(c) * s.turns; look > 0 && (p.NextLook == 0 || look < p.NextLook) {
				p.NextLook = look
			}
		case c.Verdict == verdict.Inconclusive || c.Verdict == verdict.None:
			p.Inconclusive++
		default:
			p.Decided++
		}
	}
	for _, name := range s.environments {
		for _, c := range s.cells {
			if a := s.attempts[c.In(name)]; a != nil && a.gaveUp > 0 {
				p.GivenUp = append(p.GivenUp, GivenUp{name, c.Workload, c.Level, a.gaveUp, a.reason})
			}
		}
	}
	p.Remaining, p.Guessed, p.Least = s.remaining(elapsed), s.guesses(), s.unprojected()
	if s.why != "" {
		p.Budget = 0 // traced trials follow, whatever they take
	}
	return p
}

// nextLook is the number of blocks at which a contrast is judged next; 0 where a time says
// when.
func (s *Schedule) nextLook(c verdict.Contrast) int {
	switch d := s.plan.Design; {
	case d.Blocks.Open:
		return c.N + 1
	case !d.Leaves():
		return d.Blocks.Max
	case d.Budget > 0:
		return 0
	default:
		return s.lookFrom(c.N + 1)
	}
}

// lookFrom is the first number of blocks of an analysis from n on: the last one is after all blocks.
func (s *Schedule) lookFrom(n int) int {
	most := s.plan.Design.Blocks.Max
	if look := stats.NextLook(n - 1); look > 0 && look < most {
		return look
	}
	return most
}

// remaining adds up the rest of the present blocks, and every block until each cell has
// as many as its open verdicts are projected to take.
func (s *Schedule) remaining(elapsed time.Duration) time.Duration {
	if !s.pace.known() {
		return 0
	}
	left := s.pace.block(s.allLeft()) - s.underWay(elapsed)
	begun := left / time.Duration(s.width())
	if s.why != "" {
		return begun // of a traced block
	}
	here := max(s.stage.block, 1)
	if s.sequential() {
		for at := (stage{max(s.stage.environment, 0), here}); at.environment < len(s.environments); at = (stage{at.environment + 1, 0}) {
			left += time.Duration(s.plan.Design.Blocks.Max-at.block) * s.pace.block(slices.Values(s.layout(stage{at.environment, max(at.block, 1)})))
		}
	} else {
		here = (here + s.turns - 1) / s.turns
		for _, c := range s.cells {
			furthest, turns := 0, 1
			rounds := s.choice(c, s.stage.block).most()
			for _, name := range s.environments {
				if name == s.plan.Baseline && len(s.environments) > 1 && !s.byStep() {
					continue
				}
				n := s.target(c.In(name))
				furthest, turns = max(furthest, n), max(turns, 1+s.turn[c.In(name)])
				left += time.Duration(max(0, n-here)) * s.pace.one(c.In(name), rounds)
			}
			if len(s.environments) > 1 && !s.byStep() {
				left += time.Duration(turns*max(0, furthest-here)) * s.pace.one(c.In(s.plan.Baseline), rounds)
			}
		}
	}
	left /= time.Duration(s.width())
	if budget := s.plan.Design.Budget; budget > 0 {
		left = max(0, min(left, budget-elapsed))
	}
	return left
}

// underWay is how much of the time of the trials that were handed out has passed.
func (s *Schedule) underWay(elapsed time.Duration) (passed time.Duration) {
	for _, l := range s.lanes {
		if l.active && busy(l) && l.handed == l.left[0].key() {
			var takes time.Duration
			for _, slot := range l.left[:Together(l.left)] {
				rounds := slot.Rounds
				if slot.Within > 0 {
					rounds = 0
				}
				takes += s.pace.one(slot.Cell(), rounds)
			}
			passed += min(takes, max(0, elapsed-l.at))
		}
	}
	return passed
}

// guesses says whether a trial that will probably be made has none before it to tell how
// long it takes.
func (s *Schedule) guesses() bool {
	if s.why != "" {
		return false
	}
	for _, c := range s.cells {
		for _, name := range s.environments {
			at := c.In(name)
			baseline := name == s.plan.Baseline && !s.gaveUp(c.In(name), s.later())
			if len(s.pace.cells[at]) == 0 && (baseline || s.target(c.In(name)) > 0) {
				return true
			}
		}
	}
	return false
}

// later is the stage of the block after the present one.
func (s *Schedule) later() stage {
	at := stage{-1, max(s.stage.block, 1) + 1}
	if s.sequential() {
		at.environment = max(s.stage.environment, 0)
	}
	return at
}

// target is the number of blocks for which a cell is expected to stay in an
// environment.
func (s *Schedule) target(c subject.Cell) int {
	blocks := s.plan.Design.Blocks
	at := s.later()
	if s.gaveUp(c, at) || !s.byStep() && s.gaveUp(c.In(s.plan.Baseline), at) {
		return 0
	}
	if s.withheld[c] && s.plan.Design.Leaves() {
		return stats.LeastBlocks
	}
	if blocks.Fixed || s.plan.Design.Drop == "never" && !blocks.Open && len(s.environments) > 1 {
		return blocks.Max
	}
	n := blocks.Min
	for _, k := range s.book.Of(c) {
		if !k.Primary || !k.Open {
			continue
		}
		want := max(k.Projection, s.nextLook(k))
		switch {
		case blocks.Open:
		case s.plan.Design.Budget > 0:
			want = blocks.Max // the budget ends it
		default:
			want = s.lookFrom(want)
		}
		n = max(n, want)
	}
	if !blocks.Open {
		n = min(n, blocks.Max)
	}
	return n
}

// unprojected says whether it is unknown how many blocks an open verdict takes.
func (s *Schedule) unprojected() bool {
	blocks := s.plan.Design.Blocks
	if s.why != "" || s.sequential() || blocks.Fixed || s.plan.Design.Drop == "never" && !blocks.Open {
		return false
	}
	return slices.ContainsFunc(s.Verdicts(), func(c verdict.Contrast) bool {
		return c.Primary && c.Open && !s.withheld[c.Figure().Cell] && c.Projection == 0 && s.target(c.Figure().Cell) > 0
	})
}

// Why says in words why the run is over; "" while it is not.
func (s *Schedule) Why() string { return s.why }

func (s *Schedule) tally() string {
	p := s.Progress(0)
	switch total := p.Decided + p.Inconclusive + p.Open; {
	case total == 0:
		return "nothing to compare"
	case p.Decided == total:
		return "all verdicts are reached" + s.without(p)
	default:
		return fmt.Sprintf("%d of %s reached%s", p.Decided, quantity.Counted(total, "verdict", "verdicts"), s.without(p))
	}
}

// without says how many comparisons can have no verdict.
func (s *Schedule) without(p Progress) string {
	if p.Without == 0 {
		return ""
	}
	mark := ""
	if len(s.withheld) > 0 {
		mark = " (†)"
	}
	return fmt.Sprintf("; %s none%s", quantity.Counted(p.Without, "has", "have"), mark)
}

func (s *Schedule) atTheEnd() string {
	if s.sequential() {
		return fmt.Sprintf("all blocks of all environments are done; %s", s.tally())
	}
	return fmt.Sprintf("all %s done; %s", quantity.Counted(s.plan.Design.Blocks.Max*s.turns, "block is", "blocks are"), s.tally())
}

func (s *Schedule) nothingLeft() string {
	p := s.Progress(0)
	done := quantity.Counted(s.stage.block, "block", "blocks")
	switch {
	case len(s.environments) == 1 && len(p.GivenUp) < len(s.cells):
		return fmt.Sprintf("%s done, and there is no other environment to compare with", done)
	case p.Decided == 0 && len(p.GivenUp) > 0:
		return fmt.Sprintf("nothing is left to run after %s: all other trials failed from the start or were skipped", done)
	case p.Decided+p.Inconclusive == 0 && p.Without > 0:
		return fmt.Sprintf("no comparison can have a verdict, after %s%s", done, s.without(p))
	case p.Inconclusive == 0:
		return fmt.Sprintf("all verdicts are reached after %s%s", done, s.without(p))
	}
	return fmt.Sprintf("more blocks would change nothing after %s; %s", done, s.tally())
}

func (s *Schedule) budgetSpent(slots []Slot) string {
	text := fmt.Sprintf("the budget of %s is spent; %s", s.plan.Design.Budget, s.tally())
	if s.cutBlock > 0 {
		return text + fmt.Sprintf("; block %d ended in the middle, and what it has counts", s.cutBlock)
	}
	if d := s.pace.block(slices.Values(slots)); d > 0 {
		text += fmt.Sprintf(" (another block would take about %s)", d.Round(time.Second))
		if lacks := stats.LeastLook - s.stage.block; lacks > 0 && s.turns == 1 && s.plan.Design.Leaves() && !s.sequential() {
			text += fmt.Sprintf("; a verdict takes at least %d blocks: --budget %s would probably suffice", stats.LeastLook, roundUp(s.plan.Design.Budget+time.Duration(lacks)*d))
		}
	}
	return text
}

// Expectation is what a run will do, as far as that can be known beforehand.
type Expectation struct {
	FirstBlock           []Slot // in its order
	MinBlocks, MaxBlocks int    // MaxBlocks 0: there is no maximum
	MinTrials, MaxTrials int
	Min, Max             time.Duration
	Budget               time.Duration // 0: none
	// Interval is how long it takes until a contrast has an interval, and in how
	// many blocks.
	Interval       time.Duration
	IntervalBlocks int
	Rounds         int // of samples in each block; 0: one sample per trial
	// FirstBlocks is how many blocks have so many, or as many as take RoundsWithin; 0: all.
	FirstBlocks  int
	RoundsWithin time.Duration
	Rests        bool // an environment that costs much more than others may be in fewer blocks
}

// Expected lays out the first block and counts what the plan allows. perTrial
// guesses how long one trial takes; nil leaves the durations at 0.
func (s *Schedule) Expected(perTrial func(Slot) time.Duration) Expectation {
	blocks := s.plan.Design.Blocks
	e := Expectation{MinBlocks: max(1, blocks.Min), MaxBlocks: blocks.Max, Rests: s.mayRest()}
	if s.sequential() {
		for i := range s.environments {
			e.FirstBlock = append(e.FirstBlock, s.layout(stage{i, 1})...)
		}
		e.MinBlocks = blocks.Max
	} else {
		e.FirstBlock = s.layout(stage{-1, 1})
	}
	switch {
	case blocks.Fixed:
		e.MinBlocks = blocks.Max
	case blocks.Open:
		e.MaxBlocks = 0
	case len(s.environments) == 1 && !s.sequential():
		e.MaxBlocks = min(e.MinBlocks, blocks.Max)
	case !s.sequential() && s.plan.Design.Drop != "never":
		e.IntervalBlocks = stats.LeastBlocks
		if slices.ContainsFunc(s.Verdicts(), func(c verdict.Contrast) bool { return c.Primary }) {
			e.MinBlocks = max(e.MinBlocks, stats.LeastLook)
		}
	}
	if !blocks.Open {
		e.MinBlocks = min(e.MinBlocks, e.MaxBlocks)
	}
	slots := slices.Clone(e.FirstBlock) // of as many blocks as there are turns
	for turn := 1; turn < s.turns; turn++ {
		slots = append(slots, s.layout(stage{-1, 1 + turn})...)
	}
	var took time.Duration
	for _, slot := range slots {
		if slot.Within > 0 {
			e.RoundsWithin = slot.Within
			e.FirstBlocks = s.firstBlocks()
		}
		if perTrial != nil {
			took += perTrial(slot)
		}
	}
	for _, c := range s.cells {
		e.Rounds = max(e.Rounds, c.rounds)
	}
	e.MinTrials, e.MaxTrials = e.MinBlocks*len(slots), e.MaxBlocks*len(slots)
	e.Min, e.Max = time.Duration(e.MinBlocks)*took, time.Duration(e.MaxBlocks)*took
	e.IntervalBlocks = cmp.Or(e.IntervalBlocks, e.MinBlocks)
	e.Interval, e.Budget = time.Duration(e.IntervalBlocks)*took, s.plan.Design.Budget
	e.MinBlocks, e.MaxBlocks, e.IntervalBlocks = e.MinBlocks*s.turns, e.MaxBlocks*s.turns, e.IntervalBlocks*s.turns
	return e
}

// Words says in a line how many trials there will be and how long they take.
func (e Expectation) Words() string {
	text := fmt.Sprintf("%d to %d blocks, %d to %d trials%s, depending on when verdicts are reached", e.MinBlocks, e.MaxBlocks, e.MinTrials, e.MaxTrials, spent(", ", e.Min, e.Max, ""))
	switch {
	case e.MaxBlocks == 0:
		text = fmt.Sprintf("from %s and %s on%s, without a maximum", quantity.Counted(e.MinBlocks, "block", "blocks"), quantity.Counted(e.MinTrials, "trial", "trials"), spent(" (", e.Min, e.Max, ")"))
	case e.MinBlocks == e.MaxBlocks:
		text = fmt.Sprintf("%s, %s%s", quantity.Counted(e.MaxBlocks, "block", "blocks"), quantity.Counted(e.MaxTrials, "trial", "trials"), spent(", ", e.Min, e.Max, ""))
	}
	switch {
	case e.FirstBlocks > 0:
		text += fmt.Sprintf("; rounds of samples: at first %d, or as many as take %s, chosen after %s", e.Rounds, e.RoundsWithin, quantity.Counted(e.FirstBlocks, "block", "blocks"))
	case e.Rounds > 0:
		text += fmt.Sprintf("; %s of samples in each block", quantity.Counted(e.Rounds, "round", "rounds"))
	}
	if e.Budget > 0 && (e.Max == 0 || e.Max > e.Budget) {
		text += fmt.Sprintf("; the budget ends the run after %s", e.Budget)
	}
	if e.Rests {
		text += "; an environment that costs much more than others leaves blocks to them"
	}
	return text
}

// spent prints a span of time; nothing where none was guessed.
func spent(before string, least, most time.Duration, after string) string {
	least, most = least.Round(time.Second), most.Round(time.Second)
	switch {
	case least == 0:
		return ""
	case most == 0:
		return fmt.Sprintf("%sat least %s%s", before, least, after)
	case least == most:
		return fmt.Sprintf("%sabout %s%s", before, most, after)
	}
	return fmt.Sprintf("%sabout %s to %s%s", before, least, most, after)
}
