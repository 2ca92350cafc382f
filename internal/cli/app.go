// Package cli is the command line: one file per command. A command parses its
// flags, calls other packages, and prints their results as text or JSON to the
// writers of App.
//
// It must not hold logic: a test checks that it starts no programs, computes
// nothing, and prints nowhere else.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/environment/remote"
	"tare/internal/host/machinelock"
	"tare/internal/run"
)

// App is what the commands use of the process. Tests replace it.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Home           string // directory of runs, images and temporary state
	Version        string
	Build          Build
	Args           []string // of the process, for the run's manifest
	trustOwner     bool     // write into the runs of other users
	helpAll        bool     // help with rare flags
	incomplete     bool     // results of an ended run are missing
	Locks          string   // directory of the locks by which tares wait for each other; "" for none
	noWait         bool
	lock           *machinelock.Lock // held from the first use to the end of the process
	// DefaultSignals gives signals their default action again, for commands that start
	// nothing: they end at once. Tests have none.
	DefaultSignals func()
	started        bool                // the code of a command runs: cobra accepted its arguments
	endAtOnce      bool                // a signal ends the process at once
	unpacked       map[string]unpacked // runs of archives, by the archive
	atEnd          []func() error
}

// NewApp returns the App of this process.
func NewApp(version string) *App {
	return &App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Home: defaultHome(), Version: version, Args: os.Args, Locks: machinelock.Directory()}
}

// defaultHome is $TARE_HOME, or else /var/lib/tare for root and
// ~/.local/share/tare for other users.
func defaultHome() string {
	if h := os.Getenv("TARE_HOME"); h != "" {
		return h
	}
	if os.Getuid() == 0 {
		return run.RootHome
	}
	if h, err := os.UserHomeDir(); err == nil {
		return h + "/.local/share/tare"
	}
	return "tare-home"
}

// The exit statuses.
const (
	ExitBadInput    = 2   // invalid study, flag or file; nothing was started
	ExitSomeFailed  = 3   // some trials failed; the others are reported
	ExitConfounded  = 4   // --strict found a confound
	ExitBusy        = 5   // another tare measures here, and --no-wait; nothing was started
	ExitBroken      = 6   // a rule of a budget is broken
	ExitUndecided   = 7   // no rule is broken, and one is undecided
	ExitInterrupted = 130 // by Ctrl-C or SIGTERM; what was measured is kept
)

// Statuses are the exit statuses of all commands with their meaning, for manuals.
var Statuses = []struct {
	Status  int
	Meaning string
}{
	{0, "done"},
	{1, "an operation failed; the message says which and what to do"},
	{ExitBadInput, "an invalid study, flag or file; nothing was started"},
	{ExitSomeFailed, "some trials failed and are reported, or only the baseline works here"},
	{ExitConfounded, "--strict found a difference besides the layer; no trial was run"},
	{ExitBusy, "--no-wait, and another tare measures here; nothing was started"},
	{ExitBroken, "tare check: a rule of the budget is broken"},
	{ExitUndecided, "tare check: no rule is broken, and one is undecided"},
	{ExitInterrupted, "interrupted; what was measured is kept"},
}

// ExitError carries the exit status with the message.
type ExitError struct {
	Status int
	Err    error
}

func (e *ExitError) Error() string { return e.Err.Error() }
func (e *ExitError) Unwrap() error { return e.Err }

// badInput is the error of invalid input; nothing was started.
func badInput(format string, args ...any) error {
	return &ExitError{Status: ExitBadInput, Err: fmt.Errorf(format, args...)}
}

// inputError gives an InputError of package run the exit status of bad input.
func inputError(err error) error {
	if input := (*run.InputError)(nil); errors.As(err, &input) {
		return badInput("%w", err)
	}
	return err
}

// newHostCommand is the server side of a session: tare on another machine starts it
// over SSH.
func newHostCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:                remote.Command,
		Short:              "Run environments for tare on another machine, over stdin and stdout",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(command *cobra.Command, args []string) error {
			return remote.Program(command.Context(), args, app.Home, app.Version)
		},
	}
}

// addNoWait is for every command that starts environments.
func (a *App) addNoWait(flags *pflag.FlagSet) {
	flags.BoolVar(&a.noWait, "no-wait", false, "end with status 5 if another tare measures on this machine, instead of waiting for it")
}

// alone waits until no other tare measures on this machine, and keeps others waiting
// until this process ends. what is about to run.
func (a *App) alone(ctx context.Context, what string) error {
	if a.Locks == "" || a.lock != nil {
		return nil
	}
	lock, err := machinelock.Take(ctx, a.Locks, machinelock.Holder{Run: what, Home: a.Home}, func(h machinelock.Holder) error {
		const disturb = "another tare measures on this machine (%s), and two at once would disturb each other's measurements"
		if a.noWait {
			return &ExitError{Status: ExitBusy, Err: fmt.Errorf(disturb+": nothing was started; leave out --no-wait to wait", h)}
		}
		a.say(disturb+": waiting until it ends; --no-wait does not wait", h)
		return nil
	})
	switch exit := (*ExitError)(nil); {
	case err == nil:
		a.lock = lock
	case ctx.Err() != nil:
		return &ExitError{Status: ExitInterrupted, Err: errors.New("interrupted while waiting for another tare; nothing was started")}
	case errors.As(err, &exit):
		return err
	default: // a machine without such a directory has other users' tares elsewhere, if at all
		a.say("cannot tell whether another tare measures on this machine, which would disturb the measurements of both: %v", err)
		return nil
	}
	for _, h := range lock.Others {
		a.say("another user's tare measures on this machine (%s): both disturb each other's measurements, and root does not wait for other users", h)
	}
	return nil
}

// telling adds the run's directory to what others are told who wait for this process.
func (a *App) telling(events func(run.Event)) func(run.Event) {
	return func(e run.Event) {
		if e.Kind == run.Opened && a.lock != nil {
			directory, err := filepath.Abs(e.Directory)
			if err == nil {
				_ = a.lock.Describe(directory, a.Home) // they wait without it
			}
		}
		events(e)
	}
}
