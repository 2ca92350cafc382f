package schedule

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"tare/internal/base/lists"
	"tare/internal/rundir"
)

// goneAfter is the number of blocks in a row in which everything fails on a node, after
// which it gets no more.
const goneAfter = 2

// lane is one node with the block that it works on.
type lane struct {
	node  string
	index int    // among the lanes
	left  []Slot // of the block, that are not recorded
	begun int    // blocks
	// active says that this session works on the block.
	active bool
	// may says that it may begin one.
	may bool
	// failed counts the blocks in a row in which everything failed; worked and broken
	// say whether anything worked or failed in the present one, and how it failed.
	failed int
	worked bool
	broken string
	gone   string // why it gets no more blocks; "" while it does
	// handed is the trial that was handed out last, at this elapsed time.
	handed trialKey
	at     time.Duration
}

// Over lays out the blocks over nodes, each of which works on one block at a time, at most
// so many nodes at the same time. It is called before anything is recorded. A block is
// begun where a node is free, so which block runs where depends on how long blocks take;
// what is in a block follows from the plan, the seed and the trials before it, as on one
// node.
func (s *Schedule) Over(nodes []string, parallel int) error {
	if s.sequential() && len(nodes) > 1 {
		return fmt.Errorf("order: sequential runs all blocks of an environment before the next, so they cannot run side by side on %d nodes", len(nodes))
	}
	s.parallel = max(1, min(parallel, len(nodes)))
	s.setLanes(nodes...)
	return nil
}

func (s *Schedule) setLanes(nodes ...string) {
	s.lanes, s.on = nil, map[string]*lane{}
	for i, name := range nodes {
		l := &lane{node: name, index: i}
		s.lanes, s.on[name] = append(s.lanes, l), l
	}
}

// NextBatchOn is NextBatch on one of the nodes. false where Why says nothing means that
// the node has to wait until a trial of another one is recorded.
func (s *Schedule) NextBatchOn(node string, elapsed time.Duration) (Batch, bool) {
	if l := s.on[node]; l != nil {
		return s.nextBatch(l, elapsed)
	}
	return Batch{}, false
}

// Retire ends the work of a node, which is not reached any more. The block that it works
// on is abandoned: its trials stay in the journal.
func (s *Schedule) Retire(node, reason string) {
	l := s.on[node]
	if l == nil || l.gone != "" {
		return
	}
	s.takeUp()
	l.gone = reason
	s.abandon(l.left)
	l.left, s.elected = nil, false
	s.hold()
	if !slices.ContainsFunc(s.lanes, func(l *lane) bool { return l.gone == "" }) {
		reasons := lists.Map(s.lanes, func(l *lane) string { return l.node + ": " + l.gone })
		s.why = "no node is left; " + strings.Join(reasons, "; ")
	}
}

// Retired says why a node gets no more blocks; "" while it does.
func (s *Schedule) Retired(node string) string {
	if l := s.on[node]; l != nil {
		return l.gone
	}
	return ""
}

// laneOf is the lane that a trial was made in; nil where its node is not there any more.
func (s *Schedule) laneOf(node string) *lane {
	if !s.several() {
		return s.lanes[0]
	}
	return s.on[node]
}

// several says whether blocks can run side by side.
func (s *Schedule) several() bool { return len(s.lanes) > 1 }

// give lets a lane work on a block.
func (s *Schedule) give(l *lane, slots []Slot) {
	l.left, l.begun, l.active = s.missing(slots), l.begun+1, false
	for i := range l.left {
		l.left[i].Node = l.node
	}
	s.hold()
}

// mayWork says whether a lane may begin a block, or go on with one: at most so many work at
// the same time.
func (s *Schedule) mayWork(l *lane) bool {
	if !s.several() || l.active && busy(l) {
		return true
	}
	if s.parallel == len(s.lanes) {
		return l.gone == ""
	}
	if !s.elected {
		s.elect()
	}
	return l.may
}

// elect says which lanes may begin a block, until a trial is recorded: first those with a
// block of an earlier session, then those that have begun the fewest. One that begins
// leaves the others as they are.
func (s *Schedule) elect() {
	s.elected = true
	free := s.parallel
	var idle []*lane
	for _, l := range s.lanes {
		l.may = false
		switch {
		case l.gone != "":
		case l.active && busy(l):
			free--
		default:
			idle = append(idle, l)
		}
	}
	slices.SortFunc(idle, func(a, b *lane) int {
		return cmp.Or(after(!busy(a), !busy(b)), cmp.Compare(a.begun, b.begun), cmp.Compare(a.index, b.index))
	})
	for _, l := range idle[:min(free, len(idle))] {
		l.may = true
	}
}

// end says why the run is over, once no block is under way.
func (s *Schedule) end(why func() string) {
	if !slices.ContainsFunc(s.lanes, busy) {
		s.book.End()
		s.why = why()
	}
}

// allLeft are the slots of all lanes that are not recorded.
func (s *Schedule) allLeft() iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		for _, l := range s.lanes {
			for _, slot := range l.left {
				if !yield(slot) {
					return
				}
			}
		}
	}
}

// width is how many blocks run at the same time from now on.
func (s *Schedule) width() int {
	working := len(lists.Filter(s.lanes, func(l *lane) bool { return l.gone == "" }))
	return max(1, min(s.parallel, working))
}

// takeUp gives the blocks that earlier sessions have begun back to their nodes. What is
// missing of a block follows from the trials of the blocks before it. Those of nodes that
// are not there any more are abandoned.
func (s *Schedule) takeUp() {
	if s.tookUp {
		return
	}
	s.tookUp = true
	if !s.several() {
		if len(s.earlier) > 0 {
			s.resumed.stage = s.stageOf(s.earlier[0])
			s.resumed.slots = s.layout(s.resumed.stage)
			s.recordEarlier()
		}
		return
	}
	for block := 1; block <= s.last; block++ {
		l := s.on[s.home[block]]
		s.held = s.first(block)
		s.book.Hold(s.held)
		slots := s.missing(s.layout(stage{-1, block}))
		switch {
		case s.home[block] == "": // not begun
		case len(slots) == 0: // complete
			if l != nil {
				l.begun++
			}
		case l == nil || busy(l):
			s.abandon(slots)
		default:
			s.give(l, s.renumbered(slots))
		}
	}
	s.hold()
}

// renumbered are the slots that are missing of a block, with positions after those of its
// trials where the verdicts since then leave out others.
func (s *Schedule) renumbered(slots []Slot) []Slot {
	taken := s.positions[slots[0].Block]
	if !slices.ContainsFunc(slots, func(slot Slot) bool { return slices.Contains(taken, slot.Position) }) {
		return slots
	}
	last := slices.Max(taken)
	for i := range slots {
		slots[i].Position = last + 1 + i
	}
	return slots
}

// abandon counts a block of which these slots will not be made.
func (s *Schedule) abandon(slots []Slot) {
	if len(slots) > 0 && !slots[0].Traced {
		s.abandoned++
		s.book.Abandon()
	}
}

// first is the first block that is under way or, of those before the last that was begun,
// not begun yet; or block where none is before it.
func (s *Schedule) first(block int) int {
	for _, l := range s.lanes {
		if busy(l) && !l.left[0].Traced {
			block = min(block, l.left[0].Block)
		}
	}
	return min(block, s.notBegun())
}

// notBegun is the first block after the present stage that no session has begun.
func (s *Schedule) notBegun() int {
	s.unbegun = max(s.unbegun, s.stage.block+1)
	for s.home[s.unbegun] != "" {
		s.unbegun++
	}
	return s.unbegun
}

// hold lets the verdicts wait for the blocks that are under way: those after the first of
// them count once it is complete, so that no look takes the blocks that were quick.
func (s *Schedule) hold() {
	if !s.several() {
		return
	}
	s.held = s.first(max(s.stage.block, s.last) + 1)
	s.book.Hold(s.held)
}

// unfinished says whether one of the blocks up to this one is under way.
func (s *Schedule) unfinished(block int) bool { return s.several() && s.held > 0 && s.held <= block }

// recordOn notes what a trial says about its node.
func (s *Schedule) recordOn(t rundir.Trial) {
	s.home[t.Block], s.last = t.Node, max(s.last, t.Block)
	if !s.tookUp {
		s.positions[t.Block] = append(s.positions[t.Block], t.Position)
		return
	}
	defer s.hold()
	l := s.on[t.Node]
	if l == nil {
		return
	}
	switch t.Status {
	case rundir.OK:
		l.worked = true
	case rundir.Failed:
		l.broken = t.Reason
	}
	if busy(l) {
		return
	}
	if l.failed++; l.worked || l.broken == "" {
		l.failed = 0
	}
	reason := l.broken
	l.worked, l.broken = false, ""
	if l.failed >= goneAfter {
		s.Retire(l.node, fmt.Sprintf("everything failed in %d blocks in a row: %s", l.failed, reason))
	}
}
