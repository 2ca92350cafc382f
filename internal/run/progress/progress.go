// Package progress shows the events of a run while it is under way: a table of the
// estimates so far, a bar with the time to go and a line, redrawn on a terminal; a line
// for each milestone in a log; or JSON.
//
// It must not know how a run is executed.
package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/base/lists"
	"tare/internal/base/term"
	"tare/internal/base/visible"
	"tare/internal/run"
	"tare/internal/run/schedule"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

// Display shows events. Close removes what is not to stay on the screen.
type Display interface {
	Event(run.Event)
	Close()
}

// New returns the display that suits the writer.
func New(w io.Writer) Display {
	if _, terminal := term.Width(w); terminal && !term.Dumb() {
		return &Live{out: term.NewWriter(w), now: time.Now, size: func() (int, int) {
			columns, there := term.Width(w)
			if !there { // it was closed
				columns = term.DefaultWidth
			}
			return columns, term.Height(w)
		}}
	}
	return &plain{out: w, now: time.Now}
}

// Quiet shows nothing.
type Quiet struct{}

// Event ignores the event.
func (Quiet) Event(run.Event) {}

// Close does nothing.
func (Quiet) Close() {}

// JSON writes each event as a line of JSON.
func JSON(w io.Writer) Display { return lines{json.NewEncoder(w)} }

type lines struct{ out *json.Encoder }

func (l lines) Event(e run.Event) { _ = l.out.Encode(e) }
func (lines) Close()              {}

// plain writes the milestones of a run for a log, and the estimates now and then.
type plain struct {
	milestones
	out  io.Writer
	now  func() time.Time
	told time.Time // when it last wrote estimates
}

// estimatesEvery is the least time between two lines of a log with estimates.
const estimatesEvery = 10 * time.Second

func (p *plain) Event(e run.Event) {
	if e.Kind == run.Estimates && p.now().Sub(p.told) >= estimatesEvery {
		if line := estimatesLine(e.Estimates, e.Slot.Cell().Place()); line != "" {
			p.told = p.now()
			fmt.Fprintln(p.out, joinedBy("; ", outlook(e.Progress, ""), line))
		}
	}
	if line := p.milestone(e); line != "" {
		fmt.Fprintln(p.out, line)
	}
}

func (p *plain) Close() {}

// milestones are what a log keeps of a run.
type milestones struct {
	failed map[string]bool // what failed and why, whose output was shown
}

// milestone is the line of an event that a log keeps: blocks, verdicts and
// failures, but not every trial; "" for other events. What programs printed before a
// failure follows it once.
func (m *milestones) milestone(e run.Event) string {
	text := milestoneText(e)
	if t := e.Trial; e.Kind == run.Tried && t.Status == rundir.Failed && t.Output != "" {
		if what := t.Cell().String() + "\n" + t.Reason; !m.failed[what] {
			if m.failed == nil {
				m.failed = map[string]bool{}
			}
			m.failed[what] = true
			text += "\n" + t.Output
		}
	}
	return visible.Indent(text)
}

func milestoneText(e run.Event) string {
	switch e.Kind {
	case run.Opened:
		return headline(e)
	case run.Preparing, run.Noted, run.Waiting, run.Cleared:
		return e.Message
	case run.Skipped:
		return fmt.Sprintf("skipped: %s %s", e.Environment, e.Message)
	case run.Block:
		return blockLine(e)
	case run.Verdict:
		return fmt.Sprintf("verdict: %s: %s", joined(e.Contrast.Workload, e.Contrast.Level, e.Contrast.Metric), e.Message)
	case run.Tried:
		if e.Trial.Status == rundir.Failed {
			where := fmt.Sprintf("block %d", e.Trial.Block) + onNode(e.Trial.Node)
			if e.Trial.Traced {
				where = tracedTrials
			}
			return fmt.Sprintf("failed: %s, %s: %s", where, e.Trial.Cell(), e.Trial.Reason)
		}
	}
	return ""
}

// onNode names the node of a block, in a run over nodes.
func onNode(node string) string {
	if node == "" {
		return ""
	}
	return " on " + node
}

// joined are the words that are not empty.
func joined(words ...string) string {
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// tracedTrials follow the blocks and belong to none of them.
const tracedTrials = "traced trials"

func blockLine(e run.Event) string {
	p := e.Progress
	if e.Slot.Traced {
		return joinedBy(", ", tracedTrials, ToGo(p))
	}
	text := fmt.Sprintf("block %d", e.Slot.Block)
	if p.MaxBlock > 0 {
		text += fmt.Sprintf(" of at most %d", p.MaxBlock)
	}
	text += onNode(e.Slot.Node)
	if p.NextLook > 0 {
		text += fmt.Sprintf(", next interim analysis at %d", p.NextLook)
	}
	return joinedBy(", ", text, verdicts(p), ToGo(p))
}

// Live redraws the estimates so far, a bar with the time to go, and one line at the
// bottom of a terminal; milestones scroll above them.
type Live struct {
	milestones
	// Line replaces the bar and the line of a trial; nil are the usual ones.
	Line func(run.Event) string

	out       io.Writer
	size      func() (columns, lines int)
	now       func() time.Time
	estimates []verdict.SoFar
	bar       func(columns int) string // nil for none
	line      string
	footed    int            // lines of the screen that are the bar and the line
	drawn     []string       // what is on the screen; the cursor is in the last line
	working   map[string]int // the blocks under way, by their nodes

	whole   bool // the run was opened here, so its progress is that of the whole
	opened  time.Time
	budget  time.Duration
	step    *run.Step // of the preparation
	began   time.Time // of the step
	doing   string
	stop    chan struct{} // ends the clock, which closes stopped; nil while there is none
	stopped chan struct{}
	mu      sync.Mutex // while there is a clock, it and events draw
}

// Event redraws what the event changes.
func (l *Live) Event(e run.Event) {
	preparing := e.Kind == run.Preparing && e.Step != nil
	if !preparing {
		l.stopClock() // nothing else works while samples are taken
	}
	l.locked(func() { l.show(e) })
	if preparing && l.stop == nil && l.now != nil {
		l.startClock()
	}
}

// locked does what draws, also where that panics: what is stopped then has events too.
func (l *Live) locked(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
}

func (l *Live) show(e run.Event) {
	kept := e.Kind != run.Block && (e.Kind != run.Preparing || e.Step != nil && e.Step.Took > 0)
	if line := l.milestone(e); line != "" && kept {
		l.erase()
		columns, _ := l.size()
		fmt.Fprint(l.out, term.Prose(line, columns))
	}
	if p := e.Progress; p.Block > 0 && l.Line == nil && l.whole && l.now != nil {
		clock := until(p, l.now())
		l.bar = func(columns int) string {
			return withBar(p.Share(), columns, outlook(p, clock), outlook(p, ""), joinedBy(", ", ToGo(p), verdicts(p)), ToGo(p))
		}
	}
	switch e.Kind {
	case run.Opened:
		l.open(e)
	case run.Estimates:
		l.estimates = e.Estimates
		l.draw()
	case run.Preparing:
		l.prepare(e)
	case run.Waiting, run.Ending:
		l.status(e.Message)
	case run.Block:
		l.status(blockOf(e))
	case run.Trying, run.Tried:
		l.work(e)
		switch others := l.otherNodes(e.Slot.Node); {
		case l.Line != nil:
			l.status(l.Line(e))
		case others != "":
			l.status(others + analysis(e))
		default:
			l.status(trialLine(e))
		}
	}
	if len(l.drawn) == 0 && l.line != "" {
		l.draw() // below the milestone
	}
}

var (
	eraseLine  = term.Own(ansi.EraseLineRight)
	eraseBelow = term.Own(ansi.EraseScreenBelow)
)

// work notes which nodes make a trial.
func (l *Live) work(e run.Event) {
	if l.working == nil {
		l.working = map[string]int{}
	}
	if delete(l.working, e.Slot.Node); e.Kind == run.Trying {
		l.working[e.Slot.Node] = e.Slot.Block
	}
}

// mostNodes is how many columns the names of nodes get.
const mostNodes = 40

// otherNodes names the blocks under way where other nodes than this one make trials; ""
// else.
func (l *Live) otherNodes(node string) string {
	others := len(l.working)
	if _, works := l.working[node]; works {
		others--
	}
	if others == 0 {
		return ""
	}
	parts := lists.Map(slices.Sorted(maps.Keys(l.working)), func(node string) string {
		return fmt.Sprintf("%d%s", l.working[node], onNode(node))
	})
	text := "block " + parts[0]
	if len(parts) > 1 {
		text = "blocks " + strings.Join(parts, ", ")
	}
	if len(parts) > 1 && ansi.StringWidth(text) > mostNodes {
		blocks := slices.Sorted(maps.Values(l.working))
		text = fmt.Sprintf("blocks %d to %d on %d nodes", blocks[0], blocks[len(blocks)-1], len(blocks))
	}
	return text
}

// blockOf names the block of a trial, and the analysis that follows.
func blockOf(e run.Event) string {
	if e.Slot.Traced {
		return tracedTrials + onNode(e.Slot.Node)
	}
	text := fmt.Sprintf("block %d", e.Slot.Block)
	if e.Progress.MaxBlock > 0 {
		text += fmt.Sprintf("/%d", e.Progress.MaxBlock)
	}
	return text + onNode(e.Slot.Node) + analysis(e)
}

func trialLine(e run.Event) string {
	if e.Batch != nil {
		return blockOf(e) + " · " + schedule.BatchWords(e.Batch)
	}
	return blockOf(e) + " · " + e.Slot.Cell().String()
}

// analysis is when verdicts can be reached next.
func analysis(e run.Event) string {
	if e.Progress.NextLook > 0 && !e.Slot.Traced {
		return fmt.Sprintf(" · analysis at %d", e.Progress.NextLook)
	}
	return ""
}

// status redraws the bar and the line, and the table only where it is not on the screen.
func (l *Live) status(text string) {
	l.line, _, _ = strings.Cut(text, "\n")
	columns, _ := l.size()
	foot := l.foot(columns)
	from := len(l.drawn) - len(foot)
	if from < 0 || l.footed != len(foot) {
		l.draw()
		return
	}
	above := l.topOf(l.drawn[from:], columns)
	l.drawn = append(l.drawn[:from], foot...)
	fmt.Fprint(l.out, above+strings.Join(foot, eraseLine+"\n")+eraseBelow)
}

// foot is what is below the table: the bar, where there is one, and the line. The last
// column stays free: some terminals go on in the next line after it.
func (l *Live) foot(columns int) (lines []string) {
	if l.bar != nil {
		lines = append(lines, ansi.Truncate(l.bar(columns-1), columns-1, "…"))
	}
	return append(lines, ansi.Truncate(l.line, columns-1, "…"))
}

// draw writes the table, the bar and the line over what is on the screen, in one write,
// so that the terminal shows no half of it.
func (l *Live) draw() {
	columns, lines := l.size()
	above := l.topOf(l.drawn, columns)
	foot := l.foot(columns)
	l.footed = len(foot)
	l.drawn = append(table(l.estimates, columns-1, lines-1-len(foot)), foot...)
	fmt.Fprint(l.out, above+strings.Join(l.drawn, eraseLine+"\n")+eraseBelow)
}

// topOf moves the cursor to the first of these lines, which are the last on the screen. A
// terminal that was made narrower has wrapped its lines.
func (l *Live) topOf(drawn []string, columns int) string {
	up := 0
	for i, line := range drawn {
		up += max(0, ansi.StringWidth(line)-1) / max(1, columns)
		if i > 0 {
			up++
		}
	}
	if up == 0 {
		return term.Own("\r")
	}
	return term.Own("\r") + term.Own(ansi.CursorUp(up))
}

// Close erases the table, the bar and the line.
func (l *Live) Close() {
	l.stopClock()
	l.erase()
}

func (l *Live) erase() {
	if len(l.drawn) > 0 {
		columns, _ := l.size()
		fmt.Fprint(l.out, l.topOf(l.drawn, columns)+eraseBelow)
	}
	l.drawn = nil
}
