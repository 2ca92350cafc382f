package cli

import (
	"fmt"

	"github.com/spf13/pflag"

	"tare/internal/metrics/exporter"
	"tare/internal/run"
)

func (d *displayFlags) addListen(flags *pflag.FlagSet) {
	flags.StringVar(&d.listen, "listen", "", "serve metrics of the run for Prometheus on this `address`, such as 127.0.0.1:9464")
}

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
		l.Hear(e)
		shown(e)
	}
	return func() { l.Close() }, nil
}
