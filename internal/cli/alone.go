package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"tare/internal/host/machinelock"
	"tare/internal/run"
)

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
