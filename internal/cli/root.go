package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/base/crash"
	"tare/internal/base/strictyaml"
	"tare/internal/base/term"
	"tare/internal/base/visible"
	"tare/internal/cli/guide"
	"tare/internal/run"
	"tare/internal/study"
)

// Main runs the command line and returns the exit status.
func Main(ctx context.Context, app *App) int {
	crash.Version = app.Version
	app.Stdout, app.Stderr = term.NewWriter(app.Stdout), term.NewWriter(app.Stderr)
	root := newRootCommand(app)
	root.SetArgs(app.Args[1:])
	return execRoot(ctx, app, root)
}

// execRoot executes the command line. A panic is an error like others: what the command
// started has been stopped on the way here.
func execRoot(ctx context.Context, app *App, root *cobra.Command) (status int) {
	defer func() {
		if panicked := recover(); panicked != nil {
			app.say("tare: %s", crash.Sentence(panicked))
			status = 1
		}
	}()
	err := root.ExecuteContext(ctx)
	for _, end := range app.atEnd {
		err = errors.Join(err, end())
	}
	if out, is := app.Stdout.(*term.Writer); is && err == nil && out.Err() != nil {
		app.started, err = true, fmt.Errorf("the output is not complete: %w", out.Err())
	}
	switch {
	case err == nil && app.incomplete:
		return ExitSomeFailed
	case err == nil:
		return 0
	}
	if exit := (*ExitError)(nil); errors.As(err, &exit) {
		text := exit.Error()
		if exit.Status != ExitBadInput { // which is a list of problems, a line each
			text = visible.Indent(text)
		}
		app.say("tare: %s", text)
		return exit.Status
	}
	if !app.started { // an error of cobra itself
		if text := unknownCommand(root, err); text != "" {
			app.say("tare: %s", text)
			return ExitBadInput
		}
		app.say("tare: %s (`tare --help` lists the commands)", strings.Join(strings.Fields(err.Error()), " "))
		return ExitBadInput
	}
	app.say("tare: %s", visible.Indent(err.Error())) // it may hold the output of a server
	if ctx.Err() != nil {
		return ExitInterrupted
	}
	return 1
}

func newRootCommand(app *App) *cobra.Command {
	var asJSON bool
	root := &cobra.Command{
		Use:   "tare",
		Short: "Measure what an isolation layer costs a real workload",
		Long: `tare runs the same workload natively and in containers, sandboxes and virtual
machines, alternating in random order, and reports the overhead of each layer: an
estimate, an interval and a verdict with a known error rate.

Get started:
  tare                                see what works here, and what to do next
  tare doctor                         check which environments work here
  tare bench -- gzip -k -c /bin/bash  measure one command in each of them
  tare run quick                      run a small study and write its report`,
		Version:       app.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			return app.next(command, asJSON)
		},
	}
	root.Flags().BoolVar(&asJSON, "json", false, "print what works and what to do next as JSON")
	root.SetOut(app.Stdout)
	root.SetErr(app.Stderr)
	root.SetIn(app.Stdin)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if app.helpAll {
			return pflag.ErrHelp
		}
		var invalid *pflag.InvalidValueError
		if errors.As(err, &invalid) {
			value, needed := invalid.GetValue(), valueNeeded(invalid.GetFlag().Value.Type(), err)
			value = cmp.Or(value, `""`)
			if needed == "" {
				needed = invalid.Unwrap().Error()
			}
			err = fmt.Errorf("--%s %s: %s", invalid.GetFlag().Name, value, needed)
		}
		if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
			var known []string
			c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
			if near := strictyaml.Nearest(unknown.GetSpecifiedName(), known); near != "" {
				err = fmt.Errorf("%w; did you mean --%s?", err, near)
			} else if unknown.GetSpecifiedName() == "parallel" {
				err = fmt.Errorf("%w; only `tare run` works on several machines side by side, the nodes of a study", err)
			}
		}
		return badInput("%w (`%s --help` lists the flags)", err, c.CommandPath())
	})
	root.PersistentFlags().StringVar(&app.Home, "home", app.Home, "`directory` of runs, images and temporary state (env: $TARE_HOME)")
	root.PersistentFlags().BoolVar(&app.trustOwner, "trust-owner", false, "write into a run that belongs to another user")
	root.PersistentFlags().VarPF((*helpAll)(&app.helpAll), "help-all", "", "help with the rare flags too").NoOptDefVal = "true"
	root.AddCommand(
		newDoctorCommand(app), newRunCommand(app), newBenchCommand(app), newTryCommand(app), newInitCommand(app), newExplainCommand(app), newParityCommand(app), newStatsCommand(app), newSelftestCommand(app), newPricesCommand(app), newProfileCommand(app),
		newReportCommand(app), newScoreCommand(app), newImportCommand(app), newCompareCommand(app), newCheckCommand(app), newPackCommand(app), newRerunCommand(app), newReplicateCommand(app), newServeCommand(app),
		newWorkloadCommand(app), newPublishedCommand(app), newListCommand(app), newShowCommand(app), newSaveCommand(app), newRemoveCommand(app), newCleanCommand(app), newVersionCommand(app), newHostCommand(app),
	)
	markRare(root)
	refuseUnknown(root)
	addCompletions(app, root, "")
	prepare(app, root)
	setHelp(app, root)
	return root
}

// valueNeeded says what is wrong with the value of a flag of this type; "" for other
// errors.
func valueNeeded(kind string, err error) string {
	if kind == "duration" {
		return "must be a duration with a unit, such as 90s, 5m or 1h30m"
	}
	number := new(strconv.NumError)
	switch {
	case !errors.As(err, &number):
		return ""
	case kind == "bool":
		return "must be true or false"
	case errors.Is(number, strconv.ErrRange):
		return "is out of range"
	case strings.HasPrefix(kind, "float"):
		return "must be a number"
	case strings.HasPrefix(kind, "uint"):
		return "must be a whole number that is not negative"
	}
	return "must be a whole number"
}

// unknownCommand rewords cobra's error about an unknown command below c; "" for
// other errors.
func unknownCommand(c *cobra.Command, err error) string {
	var word string
	if n, _ := fmt.Sscanf(err.Error(), "unknown command %q", &word); n == 0 {
		return ""
	}
	if !c.HasAvailableSubCommands() {
		return fmt.Sprintf("`%s` takes no argument, but got %q; see `%[1]s --help`", c.CommandPath(), word)
	}
	var names []string
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, below.Name())
		}
	}
	// A missing letter is likelier than a wrong one: rn means run, not rm.
	slices.SortStableFunc(names, func(a, b string) int { return len(b) - len(a) })
	text := fmt.Sprintf("unknown command %q", word)
	if near := strictyaml.Nearest(word, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	} else if slices.Contains(study.Names(), word) {
		text += fmt.Sprintf("; it is a study: `tare run %s`", word)
	}
	return fmt.Sprintf("%s (`%s --help` lists the commands)", text, c.CommandPath())
}

// argumentError rewords cobra's error about the number of arguments; other errors stay
// as they are.
func argumentError(err error, got int) error {
	for _, form := range []string{"accepts %d arg(s)", "accepts at most %d arg(s)", "requires at least %d arg(s)"} {
		var wanted int
		if n, _ := fmt.Sscanf(err.Error(), form, &wanted); n == 1 {
			if got < wanted {
				return errors.New("an argument is missing")
			}
			return errors.New("too many arguments")
		}
	}
	return err
}

// refuseUnknown makes the commands that cobra adds, completion and help, refuse unknown
// words like all others; cobra prints a help text and succeeds.
func refuseUnknown(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Args, c.RunE = cobra.NoArgs, func(c *cobra.Command, _ []string) error { return c.Help() }
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if _, _, err := root.Find(args); err != nil {
					return badInput("%s", unknownCommand(root, err))
				}
				return nil
			}
		}
	}
}

// exclude refuses two flags together, with the reason why.
func exclude(c *cobra.Command, one, other, why string) {
	c.MarkFlagsMutuallyExclusive(one, other) // completion then offers only one of them
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed(one) && c.Flags().Changed(other) {
			return badInput("--%s and --%s cannot be combined: %s", one, other, why)
		}
		if before != nil {
			return before(c, args)
		}
		return nil
	}
}

// checkResume refuses flags that change the plan, which a resumed run already has.
// Flags about its display are allowed.
func checkResume(c *cobra.Command) error {
	var flags []string
	c.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"home", "resume", "strict", "quiet", "json", "listen", "parallel", "trust-owner"}, f.Name) {
			flags = append(flags, "--"+f.Name)
		}
	})
	if len(flags) == 0 {
		return nil
	}
	return badInput("--resume uses the plan and the directory of the run: leave out %s, or start a new run", strings.Join(flags, ", "))
}

// startNothing are the commands that a signal ends at once: what they write is replaced
// as a whole, or, as an import, checked before it is used.
var startNothing = []string{"stats", "report", "compare", "check", "score", "published", "import", "ls", "show", "version"}

// checkEmpty refuses what a shell makes of a variable that is not set. The command that
// is measured, and that of an image, may have empty arguments.
func checkEmpty(c *cobra.Command, args []string) (err error) {
	if at := slices.Index(args, ""); at == 0 || at > 0 && !slices.Contains([]string{"bench", "try", "init"}, c.Name()) {
		return badInput("argument %d is empty; usage: %s", at+1, c.UseLine())
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		list, isList := f.Value.(pflag.SliceValue)
		if f.Value.String() == "" || isList && (len(list.GetSlice()) == 0 || slices.Contains(list.GetSlice(), "")) {
			err = badInput("--%s is empty: give it a value, or leave it out", f.Name)
		}
	})
	return err
}

// prepare wraps every command: it records when its own code runs, and errors about
// arguments show the usage.
func prepare(app *App, parent *cobra.Command) {
	for _, c := range parent.Commands() {
		if run := c.RunE; run != nil {
			c.RunE = func(c *cobra.Command, args []string) error {
				app.started = true
				if err := checkEmpty(c, args); err != nil {
					return err
				}
				if info, err := os.Stat(app.Home); errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() {
					return badInput("tare's home %s is not a directory: name one with --home", app.Home)
				}
				if app.DefaultSignals != nil && slices.Contains(startNothing, c.Name()) {
					app.DefaultSignals()
					app.endAtOnce = true
				}
				return run(c, args)
			}
		}
		if check := c.Args; check != nil {
			c.Args = func(c *cobra.Command, args []string) error {
				if err := check(c, args); err != nil {
					if exit := (*ExitError)(nil); errors.As(err, &exit) {
						return err
					}
					if text := unknownCommand(c, err); text != "" {
						return badInput("%s", text)
					}
					return badInput("%w; usage: %s", argumentError(err, len(args)), c.UseLine())
				}
				return nil
			}
		}
		prepare(app, c)
	}
}

// Tree are the commands as they are, for reference pages and manuals.
func Tree(version string) *cobra.Command {
	app := NewApp(version)
	app.Home, app.helpAll = "$TARE_HOME", true
	return newRootCommand(app)
}

// next says what to do next on this machine; it is what tare does without a command.
func (a *App) next(command *cobra.Command, asJSON bool) error {
	a.started = true
	if a.DefaultSignals != nil { // it starts nothing
		a.DefaultSignals()
		a.endAtOnce = true
	}
	found := guide.Look(command.Context(), a.Home, run.Images(a.Home), run.Runs(a.Home))
	if found.Runs == 0 {
		found.Elsewhere = run.RootsRuns(a.Home)
	}
	if asJSON {
		return printJSON(a.Stdout, found)
	}
	var text bytes.Buffer
	found.Text(&text, terminalOptions(a.Stdout, false).Width)
	_, err := a.Stdout.Write(text.Bytes())
	return err
}
