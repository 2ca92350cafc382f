package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"tare/internal/prices"
	"tare/internal/run/doctor"
	"tare/internal/study"
)

type pricesFlags struct {
	measure bool
	over    study.Overrides
	file    string
	show    displayFlags
}

func newPricesCommand(app *App) *cobra.Command {
	var p pricesFlags
	command := &cobra.Command{
		Use:   "prices [ENVIRONMENT]",
		Short: "List what each environment adds to one system call",
		Long: `List what each environment adds to one system call of each kind on this machine, in
time and CPU time over native, with intervals: reads and writes, files, memory, pipes,
sockets, processes, threads, timers. With the name of an environment, its CPU time and
its intervals.

The first time, and with --measure, tare runs the built-in study prices, which takes up
to ten minutes. It keeps the list in its home, for this machine: on another one, or
with another kernel, the list is refused.`,
		Example: `  tare prices
  tare prices gvisor
  tare prices --measure --only docker,gvisor --budget 5m
  tare prices --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return p.run(command, app, args)
		},
	}
	flags := command.Flags()
	flags.BoolVar(&p.measure, "measure", false, "measure, also where there is a list, and keep that in its place")
	flags.StringSliceVar(&p.over.Only, "only", nil, "measure only the environments of these `names`, of the study prices, besides native")
	flags.DurationVar(&p.over.Budget, "budget", 0, "measure for at most this `time` (default: 10m)")
	flags.StringVar(&p.file, "file", "", "read the list from this `file` (default: HOME/prices.json)")
	flags.BoolVarP(&p.show.quiet, "quiet", "q", false, "print only the list")
	flags.BoolVar(&p.show.json, "json", false, "print the list as JSON")
	app.addNoWait(flags)
	exclude(command, "measure", "file", "what is measured is kept in the home")
	return command
}

func (p *pricesFlags) run(command *cobra.Command, app *App, args []string) error {
	if err := positive(command, "budget"); err != nil {
		return err
	}
	if !p.measure && (command.Flags().Changed("only") || command.Flags().Changed("budget")) {
		return badInput("--only and --budget are about a measurement: add --measure")
	}
	path := p.file
	if path == "" {
		path = prices.File(app.Home)
	}
	if !p.measure {
		list, err := prices.Load(path, doctor.Machine())
		switch {
		case err == nil:
			return p.print(app, list, args)
		case !errors.Is(err, prices.ErrNone) || p.file != "":
			return badInput("%w", err)
		case len(args) > 0:
			return badInput("%w; `tare prices` measures one", err)
		}
	}
	return p.take(command, app, path, args)
}

// take measures a list, keeps and prints it.
func (p *pricesFlags) take(command *cobra.Command, app *App, path string, args []string) (err error) {
	o := app.runOptions(nil)
	if len(p.over.Only) > 0 {
		p.over.Only = append(p.over.Only, prices.Workload, prices.Packets)
	}
	if o.Plan, err = resolve(prices.Study, p.over); err != nil {
		return err
	}
	display := displayFlags{quiet: p.show.quiet}
	result, err := executeShown(command.Context(), app, &o, display, display.display(app))
	if err != nil {
		return err
	}
	if result.Interrupted { // what is kept is a whole list
		return status(app, result)
	}
	list, err := prices.Of(result.Run)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(app.Home, 0o755); err != nil {
		return err
	}
	if err := writeFile(path, append(text, '\n')); err != nil {
		return fmt.Errorf("keep the price list in %s: %w", path, err)
	}
	return errors.Join(p.print(app, list, args), status(app, result))
}

func (p *pricesFlags) print(app *App, list prices.List, args []string) error {
	if p.show.json {
		return printJSON(app.Stdout, list)
	}
	var text bytes.Buffer
	columns := terminalOptions(app.Stdout, false).Width
	if len(args) == 0 {
		list.Text(&text, columns)
	} else if err := list.Details(&text, args[0], columns); err != nil {
		return badInput("%w", err)
	}
	_, err := app.Stdout.Write(text.Bytes())
	return err
}
