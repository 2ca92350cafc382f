package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/papers/score"
	"tare/internal/report"
	"tare/internal/report/model"
)

func newScoreCommand(app *App) *cobra.Command {
	var (
		profile, format, out string
		asJSON               bool
	)
	command := &cobra.Command{
		Use:   "score RUN --profile NAME|FILE",
		Short: "Score the environments of a run by an evaluation profile",
		Long: `Score the environments of a run by an evaluation profile. The value of each feature
relative to the baseline gives a score, and scores are summed by group. If a value
has an interval, the range of scores that it allows is shown, and environments
whose sums cannot be distinguished tie.

A profile is a built-in one (tare ls profiles) or a file; docs/how-to/scoring.md describes
the format.`,
		Example: `  tare score karna-2021-20261121-014500 --profile karna-2021
  tare score ./my-run --profile ./my-profile.yaml --format md`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			sheet, known := report.Find(format)
			if !known || sheet.Score == nil {
				return badInput("--format %s is not known: choose one of %s", format, strings.Join(report.ScoreNames(), ", "))
			}
			if profile == "" {
				return badInput("--profile is missing: name a built-in profile (%s) or a file", strings.Join(score.Names(), ", "))
			}
			p, err := findProfile(profile)
			if err != nil {
				return err
			}
			in, err := openReport(app, args[0])
			if err != nil {
				return err
			}
			in.Score = new(model.Score(in, p))
			var text bytes.Buffer
			if asJSON {
				err = printJSON(&text, scored(in, p))
			} else {
				o := terminalOptions(app.Stdout, false)
				if out != "-" {
					o = model.Options{}
				}
				err = sheet.Score(&text, in, o)
			}
			if err != nil {
				return err
			}
			if err := app.deliver(out, "score sheet", text.Bytes()); err != nil || out == "-" {
				return err
			}
			_, err = fmt.Fprintln(app.Stdout, out)
			return err
		},
	}
	flags := command.Flags()
	flags.StringVar(&profile, "profile", "", "`profile`: a built-in name or a file")
	flags.StringVar(&format, "format", "text", "`format`: "+strings.Join(report.ScoreNames(), ", "))
	flags.StringVarP(&out, "out", "o", "-", "`file` to write, - for stdout")
	flags.BoolVar(&asJSON, "json", false, "print as JSON")
	_ = command.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(report.ScoreNames(), cobra.ShellCompDirectiveNoFileComp))
	return command
}

// scored is the score sheet of a run as JSON, with the labels of environments and
// the profile.
func scored(in model.Input, p *score.Profile) any {
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

func findProfile(name string) (*score.Profile, error) {
	p, err := score.Find(name)
	if err != nil {
		return nil, badInput("%w", err)
	}
	return p, nil
}
