package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/pflag"

	"tare/internal/run"
	"tare/internal/rundir"
)

// displayFlags choose how a run shows its progress.
type displayFlags struct {
	quiet, json bool
	listen      string // an address; "" for none
}

func (d *displayFlags) add(flags *pflag.FlagSet) {
	flags.BoolVarP(&d.quiet, "quiet", "q", false, "print nothing but the result")
	flags.BoolVar(&d.json, "json", false, "print every event as a line of JSON, and no tables")
}

// display shows the events of a run.
type display interface {
	Event(run.Event)
	Close()
}

// display is a line that changes in place on a terminal, and a plain line an
// event elsewhere. Progress goes to the standard error, so that the result
// alone is in a pipe.
func (d displayFlags) display(app *App) display {
	switch {
	case d.json:
		return jsonDisplay{json.NewEncoder(app.Stdout)}
	case d.quiet:
		return quietDisplay{}
	}
	if _, terminal := terminalWidth(app.Stderr); terminal && os.Getenv("TERM") != "dumb" {
		return &liveDisplay{out: app.Stderr, width: func() int {
			columns, _ := terminalWidth(app.Stderr)
			return columns
		}}
	}
	return &plainDisplay{out: app.Stderr}
}

type quietDisplay struct{}

func (quietDisplay) Event(run.Event) {}
func (quietDisplay) Close()          {}

type jsonDisplay struct{ out *json.Encoder }

func (j jsonDisplay) Event(e run.Event) { j.out.Encode(e) }
func (jsonDisplay) Close()              {}

// plainDisplay prints what a log should hold: not every trial, but every block,
// verdict and failure.
type plainDisplay struct{ out io.Writer }

func (p *plainDisplay) Event(e run.Event) {
	if line := milestone(e); line != "" {
		fmt.Fprintln(p.out, line)
	}
}

func (p *plainDisplay) Close() {}

// milestone is the line of an event that is worth keeping; "" for the others.
func milestone(e run.Event) string {
	switch e.Kind {
	case run.Preparing, run.Waiting, run.Cleared:
		return e.Message
	case run.Skipped:
		return fmt.Sprintf("skipped: %s %s", e.Environment, e.Message)
	case run.Block:
		return blockLine(e)
	case run.Verdict:
		return fmt.Sprintf("verdict: %s: %s", place(e.Contrast.Workload, e.Contrast.Level, e.Contrast.Metric), e.Message)
	case run.Tried:
		if e.Trial.Status == rundir.Failed {
			where := fmt.Sprintf("block %d", e.Trial.Block)
			if e.Trial.Traced {
				where = tracedTrials
			}
			return fmt.Sprintf("failed: %s, %s in %s: %s", where, place(e.Trial.Workload, e.Trial.Level), e.Trial.Environment, e.Trial.Reason)
		}
	}
	return ""
}

func place(words ...string) string {
	var kept []string
	for _, w := range words {
		if w != "" {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// tracedTrials come after the blocks, and are none of them.
const tracedTrials = "traced trials"

func blockLine(e run.Event) string {
	p := e.Progress
	if e.Slot.Traced {
		return tracedTrials + toGo(p.Remaining)
	}
	text := fmt.Sprintf("block %d", e.Slot.Block)
	if p.MaxBlock > 0 {
		text += fmt.Sprintf(" of at most %d", p.MaxBlock)
	}
	if p.NextLook > 0 {
		text += fmt.Sprintf(", next look at %d", p.NextLook)
	}
	if all := p.Decided + p.Inconclusive + p.Open; all > 0 {
		text += fmt.Sprintf(", %d of %d verdicts in", p.Decided, all)
	}
	return text + toGo(p.Remaining)
}

func toGo(left time.Duration) string {
	if left <= 0 {
		return ""
	}
	return fmt.Sprintf(", at most %v to go", left.Round(time.Second))
}

// liveDisplay keeps one line at the bottom with what runs now; milestones
// scroll above it.
type liveDisplay struct {
	out   io.Writer
	width func() int
	shown bool
}

func (l *liveDisplay) Event(e run.Event) {
	if line := milestone(e); line != "" && e.Kind != run.Block && e.Kind != run.Preparing {
		l.clear()
		fmt.Fprint(l.out, prose(line, l.width()))
	}
	switch e.Kind {
	case run.Preparing, run.Waiting:
		l.status(e.Message)
	case run.Block:
		l.status(blockLine(e))
	case run.Trying, run.Tried:
		l.status(tryingLine(e))
	}
}

func tryingLine(e run.Event) string {
	p := e.Progress
	text := fmt.Sprintf("block %d", e.Slot.Block)
	switch {
	case e.Slot.Traced:
		text = tracedTrials
	case p.MaxBlock > 0:
		text += fmt.Sprintf("/%d", p.MaxBlock)
	}
	text += fmt.Sprintf(" · %s in %s", place(e.Slot.Workload, e.Slot.Level), e.Slot.Environment)
	if all := p.Decided + p.Inconclusive + p.Open; all > 0 {
		text += fmt.Sprintf(" · %d/%d decided", p.Decided, all)
	}
	if p.NextLook > 0 && !e.Slot.Traced {
		text += fmt.Sprintf(" · look at %d", p.NextLook)
	}
	if p.Failed > 0 {
		text += fmt.Sprintf(" · %d failed", p.Failed)
	}
	return text + strings.Replace(toGo(p.Remaining), ", at most ", " · ≤", 1)
}

func (l *liveDisplay) status(text string) {
	l.clear()
	text, _, _ = strings.Cut(text, "\n")
	fmt.Fprint(l.out, ansi.Truncate(text, l.width()-1, "…"))
	l.shown = true
}

func (l *liveDisplay) clear() {
	if l.shown {
		fmt.Fprint(l.out, "\r\x1b[K")
	}
	l.shown = false
}

func (l *liveDisplay) Close() { l.clear() }
