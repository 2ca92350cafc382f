package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/author/bench"
	"tare/internal/author/scaffold"
	"tare/internal/base/bounded"
	"tare/internal/base/lists"
	"tare/internal/image/origin"
	"tare/internal/study"
)

type initFlags struct {
	options scaffold.Options
	force   bool
}

func newInitCommand(app *App) *cobra.Command {
	var f initFlags
	command := &cobra.Command{
		Use:   "init [flags] IMAGE | FILE... | -- CMD ARGS...",
		Short: "Write a study to begin with, from what you have",
		Long: `Write a study of an image's own server, of a service of a Compose file or of
Kubernetes manifests, or of a command, with a comment on each key. It is yours to
edit, and tare run takes it.

Nothing is started. Ports and health checks come from the image's metadata or from
the file; a line that they leave open is marked TODO, and tare run refuses the study
there. To start an image once and see what it does, use tare try.

IMAGE is docker-daemon:NAME, tar:FILE, oci:DIRECTORY or, from a registry, NAME:TAG.
FILE is a Compose file, in .yaml or .yml, or a directory with a compose.yaml; each
further file is merged into those before it. Or it has Kubernetes objects, as kubectl,
Helm and Kustomize write them. For a command, its workload is written beside the
study, as a file of its own.`,
		Example: `  tare init docker-daemon:my-api:1.4
  tare init compose.yaml -o shop.yaml
  helm template shop ./chart > app.yaml && tare init app.yaml
  tare init -- gzip -k -c /bin/bash`,
		Args: func(c *cobra.Command, args []string) error {
			switch dash := c.ArgsLenAtDash(); {
			case dash > 0:
				return fmt.Errorf("%s and a command after --: name one of them", args[0])
			case len(args) == 0:
				return scaffold.Suggest(".")
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			return f.init(command, app, args, command.ArgsLenAtDash() == 0)
		},
	}
	flags := command.Flags()
	flags.StringVarP(&f.options.File, "out", "o", "study.yaml", "`file` of the study; - is stdout")
	flags.StringSliceVarP(&f.options.Environments, "env", "e", nil, "`environments`; the first is the baseline (default: native, docker and gvisor, if they work; for Compose docker and gvisor)")
	flags.BoolVar(&f.force, "force", false, "replace files that exist")
	return command
}

func (f *initFlags) init(command *cobra.Command, app *App, args []string, isCommand bool) error {
	o := &f.options
	toStdout := o.File == "-"
	if toStdout {
		o.File = "study.yaml"
	} else if err := f.absent(o.File); err != nil {
		return err
	}
	o.Command = strings.Join(append([]string{"tare"}, app.Args[1:]...), " ")
	made, err := f.make(command.Context(), app, args, isCommand)
	if err != nil {
		return badInput("%w", err)
	}
	if made.Pack != nil && toStdout {
		return badInput("a command needs two files, the study and its workload: name the study with --out FILE")
	}
	for _, r := range made.Remarks {
		app.say("%s", r)
	}
	if toStdout {
		if todos := marked(made.Text); todos != "" {
			app.say("%s", todos)
		}
		_, err := app.Stdout.Write(made.Text.Bytes())
		return err
	}
	todos := len(made.Text.Todos())
	if made.Pack != nil {
		todos += len(made.Pack.Todos())
		if err := f.write(app, made.PackFile, made.Pack); err != nil {
			return err
		}
	}
	if err := f.write(app, o.File, made.Text); err != nil {
		return err
	}
	next := ""
	if todos > 0 {
		next = "fill in what is marked, then "
	}
	fmt.Fprintf(app.Stdout, "next: %stare run %s --dry-run\n", next, o.File)
	return nil
}

// make is the study of what the arguments name.
func (f *initFlags) make(ctx context.Context, app *App, args []string, isCommand bool) (*scaffold.Study, error) {
	o := &f.options
	if isCommand {
		f.choose(ctx, app, scaffold.Environments)
		return o.FromCommand(args)
	}
	files, isCompose, err := scaffold.ComposeFile(args[0])
	if err != nil {
		return nil, err
	}
	if isCompose {
		application, paths, err := scaffold.Application(ctx, append(files, args[1:]...))
		if err != nil {
			return nil, err
		}
		f.choose(ctx, app, scaffold.Networked)
		return o.FromApplication(application, paths...)
	}
	if len(args) > 1 {
		return nil, fmt.Errorf("%s is not a Compose file, and only those can be several: write a command after --", args[0])
	}
	if err := origin.Check(args[0]); err != nil {
		return nil, err
	}
	described, err := origin.Describe(ctx, args[0])
	if err != nil && !errors.Is(err, origin.ErrSilent) {
		return nil, err
	}
	f.choose(ctx, app, scaffold.Environments)
	return o.FromImage(args[0], described, err)
}

// choose takes the environments that work here, unless they are named, and says why others
// are left out.
func (f *initFlags) choose(ctx context.Context, app *App, from []string) {
	o := &f.options
	if len(o.Environments) > 0 {
		return
	}
	available := bench.Available(ctx, from)
	o.Choose(from, available)
	if len(available) == 0 {
		app.say("none of %s works here, see tare doctor: the study is one for another machine", strings.Join(from, ", "))
		return
	}
	for _, remark := range bench.LeftOut(ctx, o.Missing) {
		app.say("%s", remark)
	}
	if len(o.Environments) == 1 {
		app.say("only %s is left: nothing to compare with", o.Environments[0])
	}
}

// absent refuses a file that is there.
func (f *initFlags) absent(path string) error {
	if err := notWritable("--out", path); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil && !f.force {
		return badInput("%s exists: --force replaces it, and --out names another file", path)
	}
	return nil
}

// write writes one file, and says which of its lines are marked.
func (f *initFlags) write(app *App, path string, text *study.Text) error {
	if err := f.absent(path); err != nil {
		return err
	}
	if err := writeFile(path, text.Bytes()); err != nil {
		return fmt.Errorf("%s: %w", path, bounded.Cause(err))
	}
	fmt.Fprintf(app.Stdout, "%s: written\n", path)
	if todos := marked(text); todos != "" {
		fmt.Fprintf(app.Stdout, "  %s\n", todos)
	}
	return nil
}

// marked says which lines are marked; "" if none is.
func marked(text *study.Text) string {
	todos := lists.Map(text.Todos(), strconv.Itoa)
	switch len(todos) {
	case 0:
		return ""
	case 1:
		return "1 line is marked TODO: " + todos[0]
	}
	return fmt.Sprintf("%d lines are marked TODO: %s", len(todos), strings.Join(todos, ", "))
}
