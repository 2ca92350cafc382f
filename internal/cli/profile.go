package cli

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/author/bench"
	"tare/internal/base/term"
	"tare/internal/prices"
	"tare/internal/report/model"
	"tare/internal/run/doctor"
	"tare/internal/run/progress"
	"tare/internal/rundir"
)

type profileFlags struct {
	request prices.Request
	image   tryFlags // of an image, with the environments that are measured
	tryIt   bool
	file    string
	from    string
	out     string
	seed    uint64
	show    displayFlags
}

func newProfileCommand(app *App) *cobra.Command {
	var p profileFlags
	command := &cobra.Command{
		Use:   "profile WORKLOAD | IMAGE | -- COMMAND | --study STUDY | --run RUN",
		Short: "Count what an operation asks of the kernel, and predict what it costs elsewhere",
		Long: `Count natively what one operation asks of the kernel: reads and writes by what they go
to and by size, files opened, waits, threads, page faults. Where there is a price list of
this machine (tare prices), counts times prices predict what each environment of the list
adds to the CPU time of an operation, with an interval and the largest items first.

Counted trials alternate with uncounted ones, which show what counting costs, and with
the environments of --measure, to show what these add.

WORKLOAD is the name or the file of a pack; with --study, the study's name for it. IMAGE is
docker-daemon:NAME, tar:FILE, oci:DIRECTORY or NAME:TAG of a registry; ARGUMENTS after -- are
its. It is started once and driven as by tare try, with its --load, --port, --url, --env-var,
--secret and --wait. An operation of an image or COMMAND that ends by itself is one run.`,
		Example: `  tare profile redis
  tare profile nginx --measure docker,gvisor
  tare profile docker-daemon:my-api:1.4 --url /health
  tare profile -- gzip -k9 /usr/share/dict/words
  tare profile --run profile-redis-20261128-041500 --json`,
		Args: func(command *cobra.Command, args []string) error { return p.check(command.ArgsLenAtDash(), args) },
		RunE: func(command *cobra.Command, args []string) error {
			if p.from == "" {
				return p.take(command, app, args)
			}
			r, err := openRun(app, p.from)
			if err != nil {
				return err
			}
			return p.print(app, r)
		},
	}
	flags := command.Flags()
	flags.StringVar(&p.request.Study, "study", "", "take workload, limits and image from this `study`, a file or a built-in name")
	flags.StringArrayVar(&p.request.Set, "set", nil, "set a parameter of the workload, `NAME=VALUE`")
	flags.StringSliceVar(&p.request.Limits, "limits", nil, "`limits` of all environments: cpus=1,memory=512MiB,pids=100")
	flags.StringSliceVar(&p.request.Measure, "measure", nil, "measure these `environments` too, and show what they add beside the prediction")
	flags.BoolVar(&p.tryIt, "try-it", false, "measure those of --measure with the other options too of which the list has prices")
	p.image.addImage(flags)
	flags.IntVar(&p.request.Overrides.Blocks, "blocks", 6, "run this `number` of blocks")
	flags.DurationVar(&p.request.Overrides.Budget, "budget", 0, "end after this `time` (5m, 1h)")
	flags.Uint64Var(&p.seed, "seed", 0, "`seed` of the random order (default: random, and recorded)")
	flags.StringVar(&p.file, "prices", "", "the price list is this `file` (default: HOME/prices.json)")
	flags.StringVar(&p.from, "run", "", "print the profile of this `run`, given by its directory or its name")
	flags.StringVarP(&p.out, "out", "o", "", "`directory` of the run (default: HOME/runs/profile-WORKLOAD-TIME)")
	p.show.add(flags)
	app.addNoWait(flags)
	return command
}

// check the words of the command line; dash is how many are before --, or -1.
func (p *profileFlags) check(dash int, args []string) error {
	const forms = "name one of: a workload (redis), an image (docker-daemon:my-api:1.4), a command after --, --study STUDY, --run RUN"
	named := len(args)
	if dash >= 0 {
		named = dash
	}
	switch {
	case named > 1:
		return fmt.Errorf("%q is one word too many; the arguments of an image, and a command, are after --", args[1])
	case p.from != "" && (len(args) > 0 || p.request.Study != ""):
		return errors.New("--run prints a run that there is: leave out the workload, the image, the command and --study")
	case p.from == "" && len(args) == 0 && p.request.Study == "":
		return errors.New(forms)
	case dash >= 0 && p.request.Study != "":
		return errors.New("--study has its workloads: leave out what is after --")
	}
	return nil
}

// isImage says whether a word names an image, and not a workload: docker-daemon:app, tar:app.tar,
// redis:7, registry/app.
func isImage(word string) bool {
	return strings.Contains(word, ":") || strings.Contains(word, "/") && !strings.HasSuffix(word, ".yaml") && !strings.HasSuffix(word, ".yml")
}

func (p *profileFlags) take(command *cobra.Command, app *App, args []string) error {
	if err := positive(command, "blocks", "budget", "wait", "port"); err != nil {
		return err
	}
	if command.Flags().Changed("seed") {
		p.request.Overrides.Seed = &p.seed
	}
	list, _, err := p.list(app)
	if err != nil {
		return err
	}
	if err := p.addOptions(list); err != nil {
		return err
	}
	display := &once{Display: p.show.display(app), seen: map[string]bool{}}
	if err := p.subject(command, app, display, args); err != nil {
		display.Close()
		return err
	}
	plan, err := p.request.Plan()
	if err != nil {
		display.Close()
		return badInput("%w", err)
	}
	o := app.runOptions(plan)
	o.Directory = p.out
	result, err := executeShown(command.Context(), app, &o, p.show, display)
	if err != nil {
		return err
	}
	if result.Interrupted && !counted(result.Run) {
		return status(app, result)
	}
	return errors.Join(p.print(app, result.Run), status(app, result))
}

// counted says whether a run has a trial whose system calls were counted.
func counted(r *rundir.Run) bool {
	return slices.ContainsFunc(r.Trials, func(t rundir.Trial) bool { return t.Environment == prices.Counted })
}

// addOptions adds, with --try-it, the environments of the list that have other options than those
// that are measured.
func (p *profileFlags) addOptions(list *prices.List) error {
	switch {
	case !p.tryIt:
		return nil
	case p.request.Study != "":
		return badInput("--try-it: a study has its environments: add those with other options there, and name them with --measure")
	case len(p.request.Measure) == 0:
		return badInput("--try-it: name the environments with --measure, such as --measure docker")
	case list == nil:
		return badInput("--try-it: there is no price list that names what to try: `tare prices` measures one")
	}
	more := list.OtherOptions(p.request.Measure)
	if len(more) == 0 {
		return badInput("--try-it: the price list has no other options of %s: `tare prices --measure` measures those of docker and gvisor", strings.Join(p.request.Measure, " and "))
	}
	p.request.Measure = append(p.request.Measure, more...)
	return nil
}

// subject makes of the command line what is profiled.
func (p *profileFlags) subject(command *cobra.Command, app *App, display progress.Display, args []string) error {
	dash := command.ArgsLenAtDash()
	ofImage := len(args) > 0 && dash != 0 && isImage(args[0])
	if !ofImage {
		for _, flag := range imageFlags {
			if command.Flags().Changed(flag) {
				return badInput("--%s is about an image, such as docker-daemon:my-api:1.4 or redis:7, and none is named", flag)
			}
		}
	}
	if dash == 0 || ofImage {
		if len(p.request.Set)+len(p.request.Limits) > 0 {
			return badInput("--set and --limits are about a workload: write a study for other limits of an image or a command, and use --study")
		}
		if p.request.Study != "" {
			return badInput("--study has its image and its workloads: leave out %s", args[0])
		}
	}
	environments := append([]string{"native"}, p.request.Measure...)
	switch {
	case ofImage:
		o := &p.image.options
		o.Image, o.Arguments, o.Environments, o.Seed = args[0], args[1:], environments, p.request.Overrides.Seed
		made, err := p.image.visit(command.Context(), app, display)
		if err != nil {
			return err
		}
		for _, g := range made.Guesses {
			if !p.show.json && !p.show.quiet {
				app.say("guessed: %s", g)
			}
		}
		p.request.Made, err = made.Restricted(p.request.Overrides)
		return err
	case dash == 0:
		made, err := bench.Options{Argv: args, Environments: environments, Runs: p.request.Overrides.Blocks, Budget: p.request.Overrides.Budget, Seed: p.request.Overrides.Seed}.Plan()
		if err != nil {
			return badInput("%w", err)
		}
		p.request.Made = made
	case dash > 0:
		return badInput("%s is a workload, whose arguments are parameters: --set NAME=VALUE; only an image and a command have some after --", args[0])
	case len(args) > 0:
		p.request.Workload = args[0]
	}
	return nil
}

// list is the price list, and why there is none.
func (p *profileFlags) list(app *App) (l *prices.List, why string, err error) {
	path := p.file
	if path == "" {
		path = prices.File(app.Home)
	}
	list, err := prices.Load(path, doctor.Machine())
	switch {
	case err == nil:
		return &list, "", nil
	case p.file != "":
		return nil, "", badInput("%w", err)
	case errors.Is(err, prices.ErrNone):
		return nil, "there is no price list: `tare prices` measures one, and predicts with it what environments add", nil
	}
	return nil, err.Error(), nil
}

func (p *profileFlags) print(app *App, r *rundir.Run) error {
	if !counted(r) {
		return badInput("%s is no run of `tare profile`: nothing in it was counted", r.Manifest.Run)
	}
	list, why, err := p.list(app)
	if err != nil {
		return err
	}
	check := prices.Check{Without: why}
	var text bytes.Buffer
	columns := terminalOptions(app.Stdout, false).Width
	contrasts := model.Contrasts(r)
	for _, w := range r.Plan.Workloads {
		profile, err := prices.ProfileOf(r, w, contrasts)
		if err != nil {
			app.say("%s: no profile: %v", w.Name, err)
			continue
		}
		var predictions []prices.Prediction
		if list != nil {
			predictions = list.Predict(profile)
		}
		check.Add(profile, predictions)
		profile.Text(&text, columns)
		prices.TextOf(&text, profile, predictions, columns)
		text.WriteString("\n")
	}
	check.Text(&text, columns)
	if p.show.json {
		return p.show.document(app.Stdout, check)
	}
	_, err = app.Stdout.Write(text.Bytes())
	return err
}

// gaps says how much of what was measured the price list of the home explains; nothing
// where there is none of this machine.
func gaps(app *App, r *rundir.Run) (all []prices.Gap, without []string) {
	list, err := prices.Load(prices.File(app.Home), doctor.Machine())
	if err != nil {
		return nil, nil // a list is no part of what was asked for
	}
	return list.Gaps(r)
}

func printGaps(app *App, r *rundir.Run) {
	all, without := gaps(app, r)
	for _, g := range all {
		if text := g.Sentence(); text != "" {
			without = append(without, text)
		}
	}
	for _, text := range without {
		fmt.Fprintf(app.Stdout, "\n%s", term.Prose(text, terminalOptions(app.Stdout, false).Width))
	}
}
