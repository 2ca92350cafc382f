package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/goccy/go-yaml"

	"tare/internal/author/bench"
	"tare/internal/author/try"
	"tare/internal/environment"
	"tare/internal/report/model"
	"tare/internal/report/text"
	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/verdict"
)

func showRun(app *App, directory string, asJSON, verify, all bool) error {
	in, err := openReport(app, directory)
	if err != nil {
		return err
	}
	if verify {
		return verifyRun(app, directory)
	}
	if asJSON {
		return printJSON(app.Stdout, runDocument(in))
	}
	in.Explained = app.explained(in)
	return showVerdicts(app, in, all)
}

// showVerdicts prints what the command that made a run printed last, or with all the tables
// of all runs.
func showVerdicts(app *App, in model.Input, all bool) error {
	o := terminalOptions(app.Stdout, all)
	switch {
	case all:
	case in.Plan.Origin == study.CommandLine:
		bench.Summarize(&run.Result{Run: &rundir.Run{Plan: in.Plan, Manifest: in.Manifest, Trials: in.Trials}, Contrasts: in.Contrasts}).Text(app.Stdout, o.Width)
		return nil
	case in.Plan.Origin == try.MadeBy:
		return text.WriteColumns(app.Stdout, in, try.Figure, o)
	case len(in.Plan.Steps) > 0:
		return text.WriteWhy(app.Stdout, in, o)
	}
	return text.Write(app.Stdout, in, o)
}

// runDocument is what --json prints of a run.
func runDocument(in model.Input) any {
	return struct {
		Manifest   rundir.Manifest `json:"manifest"`
		Plan       any             `json:"plan"`
		Contrasts  any             `json:"contrasts"`
		Within     any             `json:"within,omitempty"`  // each environment against itself
		Growths    any             `json:"growths,omitempty"` // the cost of an additional copy
		Capacities any             `json:"capacities,omitempty"`
		AtLoads    any             `json:"at_loads,omitempty"`
		Lengths    any             `json:"length_biases,omitempty"`
		Stolen     any             `json:"stolen,omitempty"` // shares of a core that the hypervisor took during samples
		Rounds     any             `json:"rounds,omitempty"` // numbers that the first blocks chose
	}{
		in.Manifest, in.Plan, in.Contrasts, verdict.Within(in.Plan, in.Trials, in.Manifest),
		verdict.Growths(in.Plan, in.Trials, in.Manifest.Environments), verdict.Capacities(in.Plan, in.Trials, in.Contrasts, in.Manifest.Environments), verdict.AtLoads(in.Plan, in.Trials, in.Contrasts, in.Manifest.Environments), verdict.LengthBiases(in.Plan, in.Trials), model.StolenShares(in.Plan, in.Trials), model.RoundsChosen(in.Plan, in.Trials),
	}
}

func verifyRun(app *App, directory string) error {
	r, err := rundir.Open(directory)
	if err != nil {
		return err
	}
	wrong, err := r.Verify()
	if err != nil {
		return err
	}
	if len(wrong) > 0 && !r.Manifest.HasEnded() {
		return fmt.Errorf("%s has not ended: checksums are written when a run ends; continue it with `tare run --resume %[1]s`", directory)
	}
	for _, line := range wrong {
		fmt.Fprintln(app.Stdout, app.named(line))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s was changed; the lines above say where", directory)
	}
	fmt.Fprintf(app.Stdout, "%s: %d trials, all files are unchanged\n", app.named(directory), len(r.Trials))
	return nil
}

func showEnvironment(ctx context.Context, app *App, kind string, asJSON bool) error {
	r, _ := environment.Lookup(kind)
	options := r.Options()
	state, findings := environment.Check(ctx, kind, options)
	if asJSON {
		return printJSON(app.Stdout, map[string]any{"kind": kind, "about": r.About, "options": options, "state": state, "findings": findings})
	}
	text, err := yaml.Marshal(options)
	if err != nil {
		return err
	}
	fmt.Fprintf(app.Stdout, "%s: %s\n\noptions and their defaults:\n%s\nrequires:\n", kind, r.About, text)
	for _, f := range findings {
		fmt.Fprintf(app.Stdout, "  %s\n", findingLine(f))
		if !f.Fix.IsZero() {
			fmt.Fprintf(app.Stdout, "    fix: %s\n", f.Fix)
		}
	}
	return nil
}

func showYAML(app *App, value any, asJSON bool) error {
	if asJSON {
		return printJSON(app.Stdout, value)
	}
	text, err := yaml.MarshalWithOptions(value, yaml.OmitEmpty(), yaml.UseLiteralStyleIfMultiline(true),
		yaml.CustomMarshaler(func(v float64) ([]byte, error) { return strconv.AppendFloat(nil, v, 'f', -1, 64), nil }))
	if err != nil {
		return err
	}
	_, err = app.Stdout.Write(text)
	return err
}
