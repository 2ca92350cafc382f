package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/report"
	"tare/internal/score"
	"tare/internal/strictyaml"
)

func newScoreCommand(app *App) *cobra.Command {
	var (
		profile, format, out string
		asJSON               bool
	)
	command := &cobra.Command{
		Use:   "score RUN --profile NAME|FILE",
		Short: "Rate the environments of a run by an evaluation profile",
		Long: `Rate the environments of a run by an evaluation profile: each feature's figure,
as a share of the baseline's, gives a score, and scores are added up by group.
Where a figure has an interval, the scores that it allows stand beside the
score, and environments whose sums cannot be told apart tie.

A profile is a built-in one (tare ls profiles) or a file; docs/scoring.md says
how to write one.`,
		Example: `  tare score karna-2021-20261121-014500 --profile karna-2021
  tare score ./my-run --profile ./my-profile.yaml --format md`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if write := scoreFormats[format]; write == nil {
				return badInput("--format %s is not known: choose text, md or html", format)
			}
			if profile == "" {
				return badInput("--profile is missing: name one of %s, or a file", strings.Join(score.Names(), ", "))
			}
			p, err := loadProfile(profile)
			if err != nil {
				return err
			}
			in, err := openReport(app, args[0])
			if err != nil {
				return err
			}
			in.Score = new(report.Score(in, p))
			var text bytes.Buffer
			if asJSON {
				err = printJSON(&text, scored(in, p))
			} else {
				o := terminalOptions(app.Stdout, false)
				if out != "-" {
					o = report.TerminalOptions{}
				}
				err = scoreFormats[format](&text, in, o)
			}
			if err != nil {
				return err
			}
			if out == "-" {
				_, err = app.Stdout.Write(text.Bytes())
				return err
			}
			if err := os.WriteFile(out, text.Bytes(), 0o644); err != nil {
				return fmt.Errorf("write the score sheet: %w; choose another place with --out", err)
			}
			_, err = fmt.Fprintln(app.Stdout, out)
			return err
		},
	}
	flags := command.Flags()
	flags.StringVar(&profile, "profile", "", "a built-in profile's name, or a file")
	flags.StringVar(&format, "format", "text", "text, md or html")
	flags.StringVarP(&out, "out", "o", "-", "the file to write; - is the standard output")
	flags.BoolVar(&asJSON, "json", false, "print as JSON")
	command.RegisterFlagCompletionFunc("profile", completeProfile)
	command.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "md", "html"}, cobra.ShellCompDirectiveNoFileComp))
	return command
}

var scoreFormats = map[string]func(io.Writer, report.Input, report.TerminalOptions) error{
	"text": report.ScoreTerminal,
	"md":   func(w io.Writer, in report.Input, _ report.TerminalOptions) error { return report.ScoreMarkdown(w, in) },
	"html": func(w io.Writer, in report.Input, _ report.TerminalOptions) error { return report.ScoreHTML(w, in) },
}

// scored is a run's score sheet as JSON: with the labels that must stand beside
// an environment's figures, and the profile that it follows from.
func scored(in report.Input, p *score.Profile) any {
	labels := map[string]string{}
	for name, facts := range in.Manifest.Environments {
		if facts.Label != "" {
			labels[name] = facts.Label
		}
	}
	return struct {
		Run      string            `json:"run"`
		Baseline string            `json:"baseline"`
		Labels   map[string]string `json:"labels"`
		Sheet    *score.Sheet      `json:"sheet"`
		Profile  *score.Profile    `json:"profile"`
	}{in.Manifest.Run, in.Plan.Baseline, labels, in.Score, p}
}

// loadProfile reads a file where the name looks like one, else the built-in
// profile of the name.
func loadProfile(name string) (*score.Profile, error) {
	if !strictyaml.IsPath(name) {
		p, err := score.Builtin(name)
		if err != nil {
			return nil, badInput("%w", err)
		}
		return p, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, badInput("read the profile: %w; the built-in ones are %s", err, strings.Join(score.Names(), ", "))
	}
	p, err := score.Load(strings.TrimSuffix(filepath.Base(name), ".yaml"), name, data)
	if err != nil {
		return nil, badInput("%w", err)
	}
	return p, nil
}

// completeProfile offers the built-in profiles, and files as well.
func completeProfile(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return score.Names(), cobra.ShellCompDirectiveDefault
}
