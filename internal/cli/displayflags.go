package cli

import (
	"github.com/spf13/pflag"

	"tare/internal/progress"
)

// displayFlags choose how a run shows its progress.
type displayFlags struct {
	quiet, json bool
	listen      string // an address; "" for none
}

func (d *displayFlags) add(flags *pflag.FlagSet) {
	flags.BoolVarP(&d.quiet, "quiet", "q", false, "print only the result")
	flags.BoolVar(&d.json, "json", false, "print events as lines of JSON instead of text")
}

// display shows progress on stderr, so that a pipe gets the result alone. JSON
// events are the result, so they go to stdout.
func (d displayFlags) display(app *App) progress.Display {
	switch {
	case d.json:
		return progress.JSON(app.Stdout)
	case d.quiet:
		return progress.Quiet{}
	}
	return progress.New(app.Stderr)
}
