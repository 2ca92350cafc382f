// Package schedule decides which trial is next and when a run stops. Its decisions
// depend only on the plan, its seed and the recorded trials, so that a journal that
// is replayed through it continues where the run was interrupted.
//
// It must not start anything and has no clock: the elapsed time is an argument.
package schedule

import (
	"fmt"
	"slices"
	"time"

	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/verdict"
)

// Slot is one trial to run.
type Slot struct {
	Block       int    `json:"block"`    // from 1
	Position    int    `json:"position"` // in the block's order, from 1
	Environment string `json:"environment"`
	Workload    string `json:"workload"`
	Level       string `json:"level,omitempty"`
	Node        string `json:"node,omitempty"` // that the block runs on
	// Fresh is how often the workload gets a fresh instance: trial, block or run.
	Fresh string `json:"fresh"`
	// Traced trials count everything in the kernel, which slows them: verdicts do
	// not use them.
	Traced bool `json:"traced,omitempty"`
	// Rounds is how many samples the trial gives, alternating with those of the
	// other trials of its batch; 0 is one sample in a trial of its own.
	Rounds int `json:"rounds,omitempty"`
	// Within ends the rounds earlier: after the first one, none begins that is likely
	// to end later than this after the begin of the first. 0: all are made.
	Within time.Duration `json:"within_ns,omitempty"`
}

// Cell is what the trial measures.
func (s Slot) Cell() subject.Cell {
	return subject.Cell{Environment: s.Environment, Workload: s.Workload, Level: s.Level}
}

// Schedule is the state of one run.
type Schedule struct {
	plan         *study.Plan
	environments []string // usable, in the order of the plan
	book         *verdict.Book
	cells        []cell

	recorded map[trialKey]bool
	begun    map[stage]bool
	attempts map[subject.Cell]*attempts
	starts   map[subject.Cell]firstStart
	pace     pace
	failed   int
	// turns is how many blocks it takes until each environment had its turn, and turn
	// is which of them is that of a cell; 0 is the first.
	turns int
	turn  map[subject.Cell]int
	// batches are those of the first blocks, and chosen the numbers of rounds that
	// follow from them.
	batches []*batchTimes
	chosen  map[choiceKey]choice
	// times and parts are for environments that rest; see rest.go.
	times firstTimes
	parts map[int]map[subject.Cell]int

	asked bool
	stage stage // the last one that was laid out
	lanes []*lane
	on    map[string]*lane // by node
	// parallel is how many lanes have a block at the same time.
	parallel int
	elected  bool // which lanes may begin a block
	// home has the nodes of the blocks with trials, and positions those of the trials of
	// earlier sessions; where several nodes work.
	home      map[int]string
	last      int // of them
	unbegun   int // all blocks before it were begun; see notBegun
	positions map[int][]int
	held      int // the block that verdicts wait for
	// abandoned is how many blocks were begun and will not be finished.
	abandoned int
	tookUp    bool
	// earlier has the trials of the last block of earlier sessions until they are taken
	// up, and resumed is that block; where one node works.
	earlier []rundir.Trial
	resumed struct {
		stage stage
		slots []Slot
	}
	// withheld are the cells whose comparisons can have no verdict.
	withheld map[subject.Cell]bool
	why      string
	// cutBlock is the last block that the budget ended in the middle; 0 is none.
	cutBlock int
	// traced is how many blocks of traced trials have been laid out.
	traced int
}

// cell is a workload at a level.
type cell struct {
	subject.Place
	fresh   string
	startup bool
	probes  bool // the rounds are probes of a search, whose number is fixed
	loaded  bool // the rate follows from a search, which comes before
	atOnce  bool // its image is there before others are made
	rounds  int  // of samples, at most; 0: one sample in a trial of its own
	// shape is equal for cells that can use the same instances: they follow each
	// other, so that no instance is started twice.
	shape string
}

type trialKey struct {
	block  int
	traced bool
	subject.Cell
}

// stage is laid out at once: a block, or in sequential order a block of one
// environment (by its index, else -1).
type stage struct{ environment, block int }

// New starts a schedule for the environments that are usable here.
func New(plan *study.Plan, usable []string) (*Schedule, error) {
	s := &Schedule{plan: plan, recorded: map[trialKey]bool{}, begun: map[stage]bool{}, attempts: map[subject.Cell]*attempts{}, starts: map[subject.Cell]firstStart{}, pace: newPace(), turn: map[subject.Cell]int{}, chosen: map[choiceKey]choice{}, times: firstTimes{of: map[int]*blockTimes{}}, parts: map[int]map[subject.Cell]int{}, parallel: 1, home: map[int]string{}, positions: map[int][]int{}}
	s.setLanes("")
	for _, e := range plan.Environments {
		if slices.Contains(usable, e.Name) {
			s.environments = append(s.environments, e.Name)
		}
	}
	for _, name := range usable {
		if !slices.Contains(s.environments, name) {
			return nil, fmt.Errorf("environment %q is not in the study", name)
		}
	}
	blocks := plan.Design.Blocks
	switch {
	case !slices.Contains(s.environments, plan.Baseline):
		return nil, fmt.Errorf("the baseline %q is not usable here, and there is nothing to compare with: fix it (`tare doctor` says how) or choose another baseline", plan.Baseline)
	case blocks.Open && s.sequential():
		return nil, fmt.Errorf("order: sequential runs all blocks of an environment before the next, so it needs a maximum of blocks")
	case !blocks.Open && blocks.Max < 1:
		return nil, fmt.Errorf("a run needs at least 1 block, and the study allows %d", blocks.Max)
	}
	for _, w := range plan.Workloads {
		for _, l := range w.Levels {
			at := subject.Place{Workload: w.Name, Level: l.Name}
			s.cells = append(s.cells, cell{at, w.Fresh, w.Pack.FromStart(), w.Find != nil, l.Load != nil, plan.AtOnce(l.Shape), plan.Rounds(w, l), l.Shape.Key()})
			for turn, group := range plan.Groups(w, l, s.environments) {
				for _, name := range group {
					s.turn[at.In(name)] = turn
				}
			}
		}
	}
	s.turns = plan.Turns(s.environments)
	s.book = verdict.NewBook(plan, s.environments)
	return s, nil
}

func (s *Schedule) sequential() bool { return s.plan.Design.Order == "sequential" }

func (s *Schedule) alternating() bool { return s.plan.Design.Order == study.Alternating }

// Record adds a finished trial, whatever its status. To resume a run, the trials of
// the journal are recorded in their order.
func (s *Schedule) Record(t rundir.Trial) {
	if s.tookUp || s.several() || t.Traced {
		s.record(t)
		return
	}
	if len(s.earlier) > 0 && s.stageOf(s.earlier[0]) != s.stageOf(t) {
		s.recordEarlier()
	}
	s.earlier = append(s.earlier, t)
}

// recordEarlier records the trials of an earlier session that waited for the layout of
// their block.
func (s *Schedule) recordEarlier() {
	for _, t := range s.earlier {
		s.record(t)
	}
	s.earlier = nil
}

func (s *Schedule) record(t rundir.Trial) {
	if t.Status == rundir.Failed {
		s.failed++
	}
	at := t.Cell()
	key := trialKey{t.Block, t.Traced, at}
	s.recorded[key] = true
	if l := s.laneOf(t.Node); l != nil {
		l.left = lists.Filter(l.left, func(slot Slot) bool { return slot.key() != key })
		s.elected = false
	}
	if t.Traced {
		return // no decision depends on it
	}
	s.begun[s.stageOf(t)] = true
	if s.attempts[at] == nil {
		s.attempts[at] = &attempts{failures: map[string]int{}}
	}
	s.attempts[at].add(t)
	s.addStart(at, t)
	s.pace.add(at, t)
	s.time(t)
	s.timeOf(t)
	s.book.Add(t)
	if s.several() {
		s.recordOn(t)
	}
}

func (s *Schedule) stageOf(t rundir.Trial) stage {
	if s.sequential() {
		return stage{slices.Index(s.environments, t.Environment), t.Block}
	}
	return stage{-1, t.Block}
}

// Next returns the trial to run now in a run on one node, the same one until it is
// recorded; false means that the run is over, and Why says why. elapsed is the time that
// the run has taken so far, over all its sessions.
func (s *Schedule) Next(elapsed time.Duration) (Slot, bool) { return s.next(s.lanes[0], elapsed) }

func (s *Schedule) next(l *lane, elapsed time.Duration) (Slot, bool) {
	if !s.asked {
		s.asked = true
		s.pace.pause() // the trials recorded up to now are of earlier sessions
	}
	s.takeUp()
	for {
		if !s.mayWork(l) {
			return Slot{}, false
		}
		if s.cut(l, elapsed) {
			continue
		}
		if busy(l) {
			l.active = true
			if key := l.left[0].key(); l.handed != key {
				l.handed, l.at = key, elapsed
			}
			return l.left[0], true
		}
		if s.why == "" && s.advance(l, elapsed) {
			continue
		}
		if s.why == "" || !s.trace(l) {
			return Slot{}, false
		}
	}
}

// busy reports whether a slot of a lane's block is not recorded.
func busy(l *lane) bool { return len(l.left) > 0 }

func (s *Schedule) missing(slots []Slot) []Slot {
	return lists.Filter(slots, func(slot Slot) bool { return !s.recorded[slot.key()] })
}

func (s Slot) key() trialKey {
	return trialKey{s.Block, s.Traced, s.Cell()}
}

// advance lays out the next stage for a lane; false when there is none. Then why is set,
// unless blocks are under way in other lanes.
func (s *Schedule) advance(l *lane, elapsed time.Duration) bool {
	for {
		next, ok := s.following()
		if !ok {
			s.end(s.atTheEnd)
			return false
		}
		slots := s.resumed.slots
		if next != s.resumed.stage {
			slots = s.layout(next)
		}
		switch {
		case len(slots) == 0 && s.sequential():
			s.stage = next // the next environment may have something to run
		case len(slots) == 0 && s.othersFollow(next):
			s.stage = next
		case len(slots) == 0:
			s.end(s.nothingLeft)
			return false
		case s.affordable(next, slots, elapsed):
			s.stage = next
			s.give(l, slots)
			return true
		case !s.sequential() || next.environment == len(s.environments)-1:
			s.end(func() string { return s.budgetSpent(slots) })
			return false
		default:
			s.stage = stage{next.environment, s.plan.Design.Blocks.Max} // its share of the budget is spent
		}
	}
}

// following is the stage after the present one.
func (s *Schedule) following() (stage, bool) {
	most := s.plan.Design.Blocks.Max*s.turns + s.abandoned
	if !s.sequential() {
		next := stage{-1, s.notBegun()}
		return next, s.plan.Design.Blocks.Open || next.block <= most
	}
	next := stage{s.stage.environment, s.stage.block + 1}
	if next.block > most {
		next = stage{next.environment + 1, 1}
	}
	return next, next.environment < len(s.environments)
}

// othersFollow says whether a block that has nothing to run is followed by the turn
// of environments that have.
func (s *Schedule) othersFollow(at stage) bool {
	for range s.turns - 1 {
		at.block++
		if len(s.layout(at)) > 0 {
			return true
		}
	}
	return false
}

// Label sets the label that every value of an environment carries, such as "tcg".
func (s *Schedule) Label(environment, label string) { s.book.Label(environment, label) }

// Withhold names the cells whose comparisons can have no verdict, since what differs besides
// the layer makes them meaningless. A few blocks show their range, and no more are spent on
// them. The steps of a ladder have no such cells: each compares two rungs.
func (s *Schedule) Withhold(cells map[subject.Cell]bool) {
	if !s.byStep() {
		s.withheld = cells
	}
}

// SoFar are the primary contrasts from the trials so far, and from those under way,
// which are of one block.
func (s *Schedule) SoFar(underWay []rundir.Trial) []verdict.SoFar {
	s.takeUp()
	rounds := 0
	for _, l := range s.lanes {
		if busy(l) && (len(underWay) == 0 || l.node == underWay[0].Node || !s.several()) {
			rounds = l.left[0].Rounds
		}
	}
	return s.book.SoFar(underWay, rounds)
}

// Verdicts are the contrasts from the trials so far, without what only describes them.
func (s *Schedule) Verdicts() []verdict.Contrast {
	s.takeUp()
	return s.book.Verdicts()
}

// Contrasts are the contrasts from the trials so far.
func (s *Schedule) Contrasts() []verdict.Contrast {
	s.takeUp()
	return s.book.Contrasts()
}
