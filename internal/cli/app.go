// Package cli is the command line: one file a command, flags in, calls out, no
// logic. What it prints goes through App, so that tests replace the world.
package cli

import (
	"fmt"
	"io"
	"os"
)

// App is the world that the commands run in.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Home           string // folder of runs, images and work in progress
	Version        string
	Args           []string // as typed, for the run's manifest
	started        bool     // a command's own code runs
}

// NewApp is the real world.
func NewApp(version string) *App {
	return &App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Home: defaultHome(), Version: version, Args: os.Args}
}

// defaultHome is $TARE_HOME, else /var/lib/tare for root and
// ~/.local/share/tare for everybody else.
func defaultHome() string {
	if h := os.Getenv("TARE_HOME"); h != "" {
		return h
	}
	if os.Getuid() == 0 {
		return "/var/lib/tare"
	}
	if h, err := os.UserHomeDir(); err == nil {
		return h + "/.local/share/tare"
	}
	return "tare-home"
}

// The exit statuses.
const (
	ExitBadInput    = 2   // the study, a flag or a file is wrong; nothing was started
	ExitSomeFailed  = 3   // some trials failed, the rest is reported
	ExitConfounded  = 4   // --strict, and something besides the layer differs
	ExitInterrupted = 130 // Ctrl-C or SIGTERM; what was measured is kept
)

// ExitError carries the exit status with the message.
type ExitError struct {
	Status int
	Err    error
}

func (e *ExitError) Error() string { return e.Err.Error() }
func (e *ExitError) Unwrap() error { return e.Err }

// badInput is an error for which nothing was started.
func badInput(format string, args ...any) error {
	return &ExitError{Status: ExitBadInput, Err: fmt.Errorf(format, args...)}
}
