package cli

import (
	"fmt"

	"github.com/spf13/pflag"

	"tare/internal/metrics/exporter"
	"tare/internal/run"
	"tare/internal/run/progress"
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

func (d *displayFlags) addListen(flags *pflag.FlagSet) {
	flags.Var((*listenAddress)(&d.listen), "listen", "serve metrics of the run for Prometheus on this `address`, such as 127.0.0.1:9464")
}

// listenAddress is checked with the flags, also where nothing is started.
type listenAddress string

func (a *listenAddress) Set(text string) error {
	*a = listenAddress(text)
	return exporter.CheckAddress(text)
}

func (a *listenAddress) String() string { return string(*a) }
func (a *listenAddress) Type() string   { return "string" }

// serve serves the metrics of a run with --listen, from before the run starts until
// stop is called.
func (d displayFlags) serve(app *App, o *run.Options) (stop func(), err error) {
	if d.listen == "" {
		return func() {}, nil
	}
	l, err := exporter.Listen(d.listen, app.Version)
	if err != nil {
		return nil, badInput("--listen: %w", err)
	}
	line := fmt.Sprintf("metrics of the run: http://%s/metrics", l.Address())
	if !l.Local() {
		line += " (reachable from other machines, without authentication)"
	}
	app.say("%s", line)
	shown := o.Events
	o.Watch = l.Watch
	o.Events = func(e run.Event) {
		l.Update(e)
		shown(e)
	}
	return func() { l.Close() }, nil
}
