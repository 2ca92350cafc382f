package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/lists"
	"tare/internal/rundir"
)

// goneAfter is the number of blocks in a row in which everything fails on a node, after
// which it gets no more.
const goneAfter = 2

// lane is one node with the block that it works on.
type lane struct {
	node  string
	index int    // among the lanes
	slots []Slot // of the block
	begun int    // blocks
	// active says that this session works on the block.
	active bool
	// failed counts the blocks in a row in which everything failed; worked and broken
	// say whether anything worked or failed in the present one, and how it failed.
	failed int
	worked bool
	broken string
	gone   string // why it gets no more blocks; "" while it does
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
	s.lanes, s.parallel = nil, max(1, min(parallel, len(nodes)))
	for i, name := range nodes {
		s.lanes = append(s.lanes, &lane{node: name, index: i})
	}
	return nil
}

// NextBatchOn is NextBatch on one of the nodes. false where Why says nothing means that
// the node has to wait until a trial of another one is recorded.
func (s *Schedule) NextBatchOn(node string, elapsed time.Duration) (Batch, bool) {
	if l := s.laneOf(node); l != nil {
		return s.nextBatch(l, elapsed)
	}
	return Batch{}, false
}

// Retire ends the work of a node, which is not reached any more. The block that it works
// on is abandoned: its trials stay in the journal.
func (s *Schedule) Retire(node, reason string) {
	l := s.laneOf(node)
	if l == nil || l.gone != "" {
		return
	}
	s.takeUp()
	l.gone = reason
	s.abandon(s.left(l))
	l.slots = nil
	s.hold()
	if !slices.ContainsFunc(s.lanes, func(l *lane) bool { return l.gone == "" }) {
		reasons := lists.Map(s.lanes, func(l *lane) string { return l.node + ": " + l.gone })
		s.why = "no node is left; " + strings.Join(reasons, "; ")
	}
}

// Retired says why a node gets no more blocks; "" while it does.
func (s *Schedule) Retired(node string) string {
	if l := s.laneOf(node); l != nil {
		return l.gone
	}
	return ""
}

func (s *Schedule) laneOf(node string) *lane {
	if i := slices.IndexFunc(s.lanes, func(l *lane) bool { return l.node == node }); i >= 0 {
		return s.lanes[i]
	}
	return nil
}

// several says whether blocks can run side by side.
func (s *Schedule) several() bool { return len(s.lanes) > 1 }

// give lets a lane work on a block.
func (s *Schedule) give(l *lane, slots []Slot) {
	l.slots, l.begun, l.active = slots, l.begun+1, false
	for i := range l.slots {
		l.slots[i].Node = l.node
	}
	s.hold()
}

// mayWork says whether a lane may begin a block, or go on with one: at most so many work at
// the same time. First are those with a block of an earlier session, then those that have
// begun the fewest.
func (s *Schedule) mayWork(l *lane) bool {
	if !s.several() || l.active && s.busy(l) {
		return true
	}
	if s.parallel == len(s.lanes) {
		return l.gone == ""
	}
	precedes := func(one, other *lane) bool {
		return cmp.Or(cmp.Compare(after(!s.busy(one), false), after(!s.busy(other), false)), cmp.Compare(one.begun, other.begun), cmp.Compare(one.index, other.index)) < 0
	}
	free, before := s.parallel, 0
	for _, other := range s.lanes {
		switch {
		case other == l || other.gone != "":
		case other.active && s.busy(other):
			free--
		case precedes(other, l):
			before++
		}
	}
	return l.gone == "" && before < free
}

// end says why the run is over, once no block is under way.
func (s *Schedule) end(why func() string) {
	if !slices.ContainsFunc(s.lanes, s.busy) {
		s.why = why()
	}
}

// allLeft are the slots of all lanes that are not recorded.
func (s *Schedule) allLeft() (left []Slot) {
	for _, l := range s.lanes {
		left = append(left, s.left(l)...)
	}
	return left
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
	if s.tookUp || !s.several() {
		return
	}
	s.tookUp = true
	for block := 1; block <= s.last; block++ {
		l := s.laneOf(s.home[block])
		s.held = s.first(block)
		s.book.Hold(s.held)
		slots := lists.Filter(s.layout(stage{-1, block}), func(slot Slot) bool { return !s.isRecorded(slot) })
		switch {
		case s.home[block] == "": // not begun
		case len(slots) == 0: // complete
			if l != nil {
				l.begun++
			}
		case l == nil || s.busy(l):
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
		if s.busy(l) && !l.slots[0].Traced {
			block = min(block, l.slots[0].Block)
		}
	}
	for free := s.stage.block + 1; free < block; free++ {
		if s.home[free] == "" {
			return free
		}
	}
	return block
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
	l := s.laneOf(t.Node)
	if l == nil {
		return
	}
	switch t.Status {
	case rundir.OK:
		l.worked = true
	case rundir.Failed:
		l.broken = t.Reason
	}
	if s.busy(l) {
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
