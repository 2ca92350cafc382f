package vmm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/base/quoted"
	"tare/internal/environment"
	"tare/internal/environment/support/console"
)

// Refusal is the error of a request that a VMM answered with a reason: it says more than
// how the VMM exited then.
type Refusal interface {
	error
	Refused()
}

// explain returns the error of a failed start. It distinguishes a guest that died
// from one whose agent did not answer, and quotes the last output of both the
// guest and the VMM.
func (g *Guest) explain(ctx context.Context, limit time.Duration, err error) error {
	// If a connection broke, the VMM is exiting; wait for its exit status.
	dead, message := g.process.wait(ctx, environment.QuitTimeout), ""
	var refusal Refusal
	switch reason := g.process.getStopReason(); {
	case errors.As(err, &refusal):
		message = fmt.Sprintf("starting a guest: %v", err)
		if dead {
			message += fmt.Sprintf("; %s exited after that (%s)", g.vmm, exitText(g.process.status))
		}
	case dead && !g.opened:
		message = fmt.Sprintf("%s exited before the guest started (%s)", g.vmm, exitText(g.process.status))
	case dead && reason == "":
		message = fmt.Sprintf("%s exited before the guest's agent was ready (%s)", g.vmm, exitText(g.process.status))
	case dead:
		message = fmt.Sprintf("the guest died before its agent was ready (%s)", reason)
	case errors.Is(context.Cause(ctx), errStartTimeout) && !g.opened:
		message = fmt.Sprintf("%s runs, but did not answer within start_timeout, %v", g.vmm, limit)
	case errors.Is(context.Cause(ctx), errStartTimeout):
		message = fmt.Sprintf("the guest runs, but its agent was not ready within start_timeout, %v", limit)
	default:
		message = fmt.Sprintf("starting a guest: %v", err)
	}
	text := g.withLogs(message)
	if len(g.Console.Lines()) == 0 && g.opened && ctx.Err() == nil {
		text += "\nthe console is empty: set kernel_args: loglevel=7 for more kernel messages"
	}
	return &startError{text, err}
}

// withLogs appends to a message why the guest's kernel panicked, and the last output of the
// guest and its VMM.
func (g *Guest) withLogs(sentence string) string {
	if why := console.Panic(g.Console.Lines()); why != "" {
		sentence += "; its kernel panicked: " + why
	}
	text := sentence + quoted.Lines("the last lines of its console", g.Console.Lines()) +
		quoted.Lines("the last lines of "+g.vmm+"'s stderr", g.process.stderr.Lines())
	if g.Log != nil {
		text += quoted.Lines("the last lines of "+g.vmm+"'s log", g.Log())
	}
	return text
}

// startError is the error of a failed start, with an explanation and the cause.
type startError struct {
	text  string
	cause error
}

func (e *startError) Error() string { return e.text }
func (e *startError) Unwrap() error { return e.cause }
