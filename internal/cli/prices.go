package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/prices"
	"tare/internal/run/doctor"
	"tare/internal/study"
)

type pricesFlags struct {
	measure bool
	study   string
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
time and CPU time over native: reads and writes, files, memory, pipes, sockets,
processes, threads, timers. The name of an environment shows that one alone, with its
CPU time and with intervals.

Where this machine has no list, and with --measure, tare first measures one, which takes
up to ten minutes: it runs the built-in study prices. It keeps the list in its home: on
another machine, or with another kernel, the list is refused. A study of yours with the
workload calls has the prices of its environments: pods of a cluster, other options.`,
		Example: `  tare prices
  tare prices gvisor
  tare prices --measure --only docker,gvisor --budget 5m
  tare prices --measure --study ./pods.yaml
  tare prices --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return p.run(command, app, args)
		},
	}
	flags := command.Flags()
	flags.BoolVar(&p.measure, "measure", false, "measure, also where there is a list, and keep that in its place")
	flags.StringVar(&p.study, "study", prices.Study, "measure this `study`, a file or a built-in name")
	flags.StringSliceVar(&p.over.Only, "only", nil, "measure only the environments of these `names`, of the study, besides native")
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
	for _, flag := range []string{"study", "only", "budget"} {
		if !p.measure && command.Flags().Changed(flag) {
			return badInput("--%s is about a measurement: add --measure", flag)
		}
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
	if o.Plan, err = p.plan(); err != nil {
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
	if err := p.keep(app, list, o.Plan, path); err != nil {
		return err
	}
	return errors.Join(p.print(app, list, args), status(app, result))
}

// keep the list in the home, but not in place of one with prices that this run should have
// measured and did not.
func (p *pricesFlags) keep(app *App, list prices.List, plan *study.Plan, path string) error {
	if before, err := prices.Load(path, doctor.Machine()); err == nil {
		if lost := list.Lost(before, plan); len(lost) > 0 {
			app.say("no prices of %s were measured; the earlier list, which has some, is kept: %s", strings.Join(lost, ", "), path)
			return nil
		}
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
	return nil
}

// plan of the study, with the workloads that have the calls.
func (p *pricesFlags) plan() (*study.Plan, error) {
	if len(p.over.Only) > 0 {
		whole, err := resolve(p.study, study.Overrides{})
		if err != nil {
			return nil, err
		}
		for _, w := range whole.Workloads {
			p.over.Only = append(p.over.Only, w.Name)
		}
	}
	plan, err := resolve(p.study, p.over)
	if err != nil {
		return nil, err
	}
	if err := prices.Able(plan); err != nil {
		return nil, badInput("%w", err)
	}
	return plan, nil
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
