package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/base/quoted"
	"tare/internal/run/trial/instances"
	"tare/internal/rundir"
	"tare/internal/workload"
)

// The timeouts of steps for which the pack names none.
const (
	stepTimeout   = 5 * time.Minute
	driverTimeout = time.Hour
)

// command is a step as the agent starts it.
func (c *Copy) command(i *instances.Instance, s workload.Step, timeout time.Duration) agent.Command {
	if s.Timeout > 0 {
		timeout = s.Timeout
	}
	argv, env := i.Reveal(s.CommandArgs(), slices.Concat(i.Env(), s.Env))
	return agent.Command{
		Argv: argv, Env: append(env, i.Secrets()...),
		Input: s.Stdin, Dir: s.Dir, User: s.User, CPUs: c.cores(i, s.Role), Timeout: timeout,
	}
}

// step runs one command that is not measured.
func (c *Copy) step(ctx context.Context, i *instances.Instance, what string, s workload.Step) error {
	began := time.Now()
	defer func() { c.spent.Add(int64(time.Since(began))) }()
	out := c.output(i, what+".output")
	defer c.record.keep(out)
	cmd := c.command(i, s, stepTimeout)
	cmd.Stdout, cmd.Stderr = out, out
	exit, err := i.Agent().Run(ctx, cmd)
	if err = wrong(err, s, exit, cmd.Timeout, out); err == nil {
		return nil
	}
	return fmt.Errorf("%s command %s: %w%s%s", what, inMessage(s), err, outOfMemory(i), lastLines(out))
}

// wrong is the error of a command that was to end well: that of running it, its exit, or
// an output that is too long.
func wrong(err error, s workload.Step, e agent.Exit, timeout time.Duration, outputs ...*rundir.RawFile) error {
	if err == nil && !accepted(s, e) {
		err = errors.New(describeExit(e, timeout))
	}
	for _, out := range outputs {
		err = cmp.Or(err, out.TooLong())
	}
	return err
}

func accepted(s workload.Step, e agent.Exit) bool {
	return e.OK() || s.AnyStatus && e.Signal == "" && !e.TimedOut
}

// describeExit says how a command exited that should have exited with 0.
func describeExit(e agent.Exit, timeout time.Duration) string {
	switch {
	case e.TimedOut:
		return fmt.Sprintf("was killed at its timeout of %v", timeout)
	case e.Signal != "":
		return "was ended by " + e.Signal
	}
	return fmt.Sprintf("exited with status %d", e.Code)
}

// outOfMemory says that the kernel killed processes of an instance for lack of memory; ""
// where it killed none.
func outOfMemory(i *instances.Instance) string {
	n := i.OutOfMemory()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; the instance %s was out of memory, and the kernel killed %d of its processes: raise its memory limit, or let the workload use less", i.Name, n)
}

// longestCommand is how much of a command a message shows.
const longestCommand = 120

// inMessage is a step for a message.
func inMessage(s workload.Step) string {
	text := strings.Join(s.Argv, " ")
	if s.Run != "" {
		text = strings.Join(strings.Fields(s.Run), " ")
	}
	if len(text) > longestCommand {
		text = text[:longestCommand-3] + "..."
	}
	return "`" + text + "`"
}

// lastLines are the last lines of the first output that has any.
func lastLines(outputs ...*rundir.RawFile) string {
	for _, out := range outputs {
		text := strings.TrimSpace(string(out.Tail()))
		if text == "" {
			continue
		}
		lines := strings.Split(text, "\n")
		if len(lines) > 5 {
			lines = lines[len(lines)-5:]
		}
		return quoted.Lines("its last output", lines)
	}
	return ""
}
