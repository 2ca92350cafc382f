package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/strictyaml"
)

// Main runs the command line and returns the exit status.
func Main(ctx context.Context, app *App) int {
	root := newRootCommand(app)
	root.SetArgs(app.Args[1:])
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var exit *ExitError
	if errors.As(err, &exit) {
		if exit.Err != nil {
			app.say("tare: %v", exit.Err)
		}
		return exit.Status
	}
	if !app.started { // what cobra itself finds wrong about the words
		if text := unknownCommand(root, err); text != "" {
			app.say("tare: %s", text)
			return ExitBadInput
		}
		app.say("tare: %s; `tare --help` lists the commands", strings.Join(strings.Fields(err.Error()), " "))
		return ExitBadInput
	}
	app.say("tare: %v", err)
	if ctx.Err() != nil {
		return ExitInterrupted
	}
	return 1
}

func newRootCommand(app *App) *cobra.Command {
	root := &cobra.Command{
		Use:   "tare",
		Short: "Measure what an isolation layer costs a real workload",
		Long: `tare runs the same bytes natively, in containers, sandboxes and virtual
machines, interleaved in random order, and reports what each layer costs: an
estimate, an interval and a verdict with a known error rate.

A first look:
  tare doctor                        which environments work on this machine
  tare bench -- gzip -k -c /bin/bash one command, in every environment
  tare run quick                     a small study of everything, with a report`,
		Version:       app.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(app.Stdout)
	root.SetErr(app.Stderr)
	root.SetIn(app.Stdin)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		var invalid *pflag.InvalidValueError
		if wrong := new(strconv.NumError); errors.As(err, &invalid) && errors.As(err, &wrong) {
			err = fmt.Errorf("--%s %s: %s", invalid.GetFlag().Name, invalid.GetValue(), numberNeeded(invalid.GetFlag().Value.Type(), wrong))
		}
		return badInput("%w; `%s --help` lists the flags", err, c.CommandPath())
	})
	root.PersistentFlags().StringVar(&app.Home, "home", app.Home, "folder of runs, images and work in progress; $TARE_HOME")
	root.AddCommand(
		newDoctorCommand(app), newRunCommand(app), newBenchCommand(app), newExplainCommand(app), newParityCommand(app), newStatsCommand(app),
		newReportCommand(app), newScoreCommand(app), newImportCommand(app), newCompareCommand(app),
		newWorkloadCommand(app), newPublishedCommand(app), newListCommand(app), newShowCommand(app), newRemoveCommand(app), newCleanCommand(app), newHostCommand(app),
	)
	prepare(app, root)
	helped(app, root)
	return root
}

// numberNeeded says what is wrong with the value of a flag that takes a number.
func numberNeeded(kind string, err *strconv.NumError) string {
	switch {
	case kind == "bool":
		return "must be true or false"
	case errors.Is(err, strconv.ErrRange):
		return "is out of range"
	case strings.HasPrefix(kind, "float"):
		return "must be a number"
	case strings.HasPrefix(kind, "uint"):
		return "must be a number, whole and not negative"
	}
	return "must be a number, and whole"
}

// unknownCommand says in our words that there is no such command below one; ""
// where the error is another.
func unknownCommand(c *cobra.Command, err error) string {
	var word string
	if n, _ := fmt.Sscanf(err.Error(), "unknown command %q", &word); n == 0 {
		return ""
	}
	if !c.HasAvailableSubCommands() {
		return fmt.Sprintf("`%s` takes no argument, and %q is one; `%[1]s --help` says what it takes", c.CommandPath(), word)
	}
	var names []string
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, below.Name())
		}
	}
	// A letter that was left out is likelier than another one: rn is run, not rm.
	slices.SortStableFunc(names, func(a, b string) int { return len(b) - len(a) })
	text := fmt.Sprintf("unknown command %q", word)
	if near := strictyaml.Nearest(word, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Sprintf("%s (`%s --help` lists the commands)", text, c.CommandPath())
}

// exclude refuses two flags together, with the reason.
func exclude(c *cobra.Command, one, other, why string) {
	c.MarkFlagsMutuallyExclusive(one, other) // completion offers neither beside the other
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed(one) && c.Flags().Changed(other) {
			return badInput("--%s and --%s exclude each other: %s", one, other, why)
		}
		if before != nil {
			return before(c, args)
		}
		return nil
	}
}

// goesOn refuses beside --resume every flag that is not about how a run is shown
// or watched: the others are parts of the plan, which a run has already.
func goesOn(c *cobra.Command) error {
	var flags []string
	c.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"home", "resume", "strict", "quiet", "json", "listen"}, f.Name) {
			flags = append(flags, "--"+f.Name)
		}
	})
	if len(flags) == 0 {
		return nil
	}
	return badInput("--resume goes on with the run's own plan and in its folder: leave out %s, or begin a new run", strings.Join(flags, ", "))
}

// prepare makes every command tell when its own code runs, and mistakes in its
// arguments name its usage.
func prepare(app *App, parent *cobra.Command) {
	for _, c := range parent.Commands() {
		if run := c.RunE; run != nil {
			c.RunE = func(c *cobra.Command, args []string) error {
				app.started = true
				return run(c, args)
			}
		}
		if check := c.Args; check != nil {
			c.Args = func(c *cobra.Command, args []string) error {
				if err := check(c, args); err != nil {
					if text := unknownCommand(c, err); text != "" {
						return badInput("%s", text)
					}
					return badInput("%w; usage: %s", err, c.UseLine())
				}
				return nil
			}
		}
		prepare(app, c)
	}
}
