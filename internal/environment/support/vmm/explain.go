package vmm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// explain tells a guest that died from one that never answered, and quotes
// what it and its VMM printed last.
func (g *Guest) explain(ctx context.Context, limit time.Duration, err error) error {
	// A connection that broke is the VMM's end, which then follows at once.
	dead, said := g.process.wait(ctx, haste), ""
	switch why := g.process.why(); {
	case dead && !g.opened:
		said = fmt.Sprintf("%s ended before the guest began (%s)", g.vmm, ending(g.process.status))
	case dead && why == "":
		said = fmt.Sprintf("%s died before the guest's agent said a word (%s)", g.vmm, ending(g.process.status))
	case dead:
		said = fmt.Sprintf("the guest died before its agent said a word (%s)", why)
	case errors.Is(context.Cause(ctx), errTooLate) && !g.opened:
		said = fmt.Sprintf("%s runs, but did not answer within start_timeout, %v", g.vmm, limit)
	case errors.Is(context.Cause(ctx), errTooLate):
		said = fmt.Sprintf("the guest runs, but its agent said nothing within start_timeout, %v", limit)
	default:
		said = fmt.Sprintf("starting a guest: %v", err)
	}
	text := g.lastWords(said)
	if len(g.Console.Lines()) == 0 && g.opened && ctx.Err() == nil {
		text += "\nthe console is empty: kernel_args: loglevel=7 makes the kernel say more"
	}
	return &startError{text, err}
}

// lastWords adds to a sentence what the guest and its VMM printed last.
func (g *Guest) lastWords(sentence string) string {
	var text strings.Builder
	text.WriteString(sentence)
	quote(&text, "the last lines of its console", g.Console.Lines())
	quote(&text, g.vmm+"'s own messages", g.process.stderr.Lines())
	if g.Log != nil {
		quote(&text, "the last lines of "+g.vmm+"'s log", g.Log())
	}
	return text.String()
}

// startError is a start that failed, with the story instead of the bare cause.
type startError struct {
	text  string
	cause error
}

func (e *startError) Error() string { return e.text }
func (e *startError) Unwrap() error { return e.cause }

func quote(text *strings.Builder, what string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(text, "\n%s:", what)
	for _, line := range lines {
		text.WriteString("\n  " + line)
	}
}
