// Package progress shows the events of a run while it is under way: a table of the
// estimates so far and a line, redrawn on a terminal; a line for each milestone in
// a log; or JSON.
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
	"time"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/schedule"
	"tare/internal/term"
	"tare/internal/verdict"
	"tare/internal/visible"
)

// Display shows events. Close removes what is not to stay on the screen.
type Display interface {
	Event(run.Event)
	Close()
}

// New returns the display that suits the writer.
func New(w io.Writer) Display {
	if _, terminal := term.Width(w); terminal && !term.Dumb() {
		return &Live{out: term.NewWriter(w), size: func() (int, int) {
			columns, _ := term.Width(w)
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
	out  io.Writer
	now  func() time.Time
	told time.Time // when it last wrote estimates
}

// estimatesEvery is the least time between two lines of a log with estimates.
const estimatesEvery = 10 * time.Second

func (p *plain) Event(e run.Event) {
	if e.Kind == run.Estimates && p.now().Sub(p.told) >= estimatesEvery {
		if line := estimatesLine(e.Estimates, e.Slot.Workload, e.Slot.Level); line != "" {
			p.told = p.now()
			fmt.Fprintln(p.out, line)
		}
	}
	if line := milestone(e); line != "" {
		fmt.Fprintln(p.out, line)
	}
}

func (p *plain) Close() {}

// milestone is the line of an event that a log keeps: blocks, verdicts and
// failures, but not every trial; "" for other events.
func milestone(e run.Event) string { return visible.Indent(milestoneText(e)) }

func milestoneText(e run.Event) string {
	switch e.Kind {
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
			return fmt.Sprintf("failed: %s, %s in %s: %s", where, joined(e.Trial.Workload, e.Trial.Level), e.Trial.Environment, e.Trial.Reason)
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
		return tracedTrials + Remaining(", at most ", e)
	}
	text := fmt.Sprintf("block %d", e.Slot.Block)
	if p.MaxBlock > 0 {
		text += fmt.Sprintf(" of at most %d", p.MaxBlock)
	}
	text += onNode(e.Slot.Node)
	if p.NextLook > 0 {
		text += fmt.Sprintf(", next interim analysis at %d", p.NextLook)
	}
	if all := p.Decided + p.Inconclusive + p.Open; all > 0 {
		text += fmt.Sprintf(", %d of %d verdicts", p.Decided, all)
	}
	return text + Remaining(", at most ", e)
}

// Remaining is the time that an event says the run takes at most, after a
// prefix; "" where that is unknown.
func Remaining(prefix string, e run.Event) string {
	if e.Progress.Remaining <= 0 {
		return ""
	}
	return fmt.Sprintf("%s%v left", prefix, e.Progress.Remaining.Round(time.Second))
}

// Live redraws the estimates so far and one line at the bottom of a terminal;
// milestones scroll above them.
type Live struct {
	// Line replaces the line of a trial; nil is the usual one.
	Line func(run.Event) string

	out       io.Writer
	size      func() (columns, lines int)
	estimates []verdict.SoFar
	line      string
	drawn     []string       // what is on the screen; the cursor is in the last line
	working   map[string]int // the blocks under way, by their nodes
}

// Event redraws what the event changes.
func (l *Live) Event(e run.Event) {
	if line := milestone(e); line != "" && e.Kind != run.Block && e.Kind != run.Preparing {
		l.Close()
		columns, _ := l.size()
		fmt.Fprint(l.out, term.Prose(line, columns))
	}
	switch e.Kind {
	case run.Estimates:
		l.estimates = e.Estimates
		l.draw()
	case run.Preparing, run.Waiting:
		l.status(e.Message)
	case run.Block:
		l.status(blockLine(e))
	case run.Trying, run.Tried:
		l.work(e)
		switch others := l.otherNodes(e.Slot.Node); {
		case l.Line != nil:
			l.status(l.Line(e))
		case others != "":
			l.status(others + outlook(e))
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
	var parts []string
	for _, node := range slices.Sorted(maps.Keys(l.working)) {
		parts = append(parts, fmt.Sprintf("%d%s", l.working[node], onNode(node)))
	}
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

func trialLine(e run.Event) string {
	p := e.Progress
	text := fmt.Sprintf("block %d", e.Slot.Block)
	switch {
	case e.Slot.Traced:
		text = tracedTrials
	case p.MaxBlock > 0:
		text += fmt.Sprintf("/%d", p.MaxBlock)
	}
	text += onNode(e.Slot.Node)
	if e.Batch != nil {
		text += " · " + schedule.BatchWords(e.Batch)
	} else {
		text += fmt.Sprintf(" · %s in %s", joined(e.Slot.Workload, e.Slot.Level), e.Slot.Environment)
	}
	return text + outlook(e)
}

// outlook is how far the run is.
func outlook(e run.Event) (text string) {
	p := e.Progress
	if all := p.Decided + p.Inconclusive + p.Open; all > 0 {
		text += fmt.Sprintf(" · %d/%d decided", p.Decided, all)
	}
	if p.NextLook > 0 && !e.Slot.Traced {
		text += fmt.Sprintf(" · analysis at %d", p.NextLook)
	}
	if p.Failed > 0 {
		text += fmt.Sprintf(" · %d failed", p.Failed)
	}
	return text + Remaining(" · ≤", e)
}

// status redraws the line, and the table only where it is not on the screen.
func (l *Live) status(text string) {
	l.line, _, _ = strings.Cut(text, "\n")
	if len(l.drawn) == 0 {
		l.draw()
		return
	}
	columns, _ := l.size()
	last := len(l.drawn) - 1
	l.drawn[last] = ansi.Truncate(l.line, columns-1, "…")
	fmt.Fprint(l.out, term.Own("\r")+l.drawn[last]+eraseLine)
}

// draw writes the table and the line over what is on the screen, in one write, so
// that the terminal shows no half of it.
func (l *Live) draw() {
	columns, lines := l.size()
	above := l.top(columns)
	// The last column stays free: some terminals go on in the next line after it.
	l.drawn = append(table(l.estimates, columns-1, lines-2), ansi.Truncate(l.line, columns-1, "…"))
	fmt.Fprint(l.out, above+strings.Join(l.drawn, eraseLine+"\n")+eraseBelow)
}

// top moves the cursor to the first line of what is on the screen. A terminal that
// was made narrower has wrapped its lines.
func (l *Live) top(columns int) string {
	up := 0
	for i, line := range l.drawn {
		up += max(0, ansi.StringWidth(line)-1) / columns
		if i > 0 {
			up++
		}
	}
	if up == 0 {
		return term.Own("\r")
	}
	return term.Own("\r") + term.Own(ansi.CursorUp(up))
}

// Close erases the table and the line.
func (l *Live) Close() {
	if len(l.drawn) > 0 {
		columns, _ := l.size()
		fmt.Fprint(l.out, l.top(columns)+eraseBelow)
	}
	l.drawn = nil
}
