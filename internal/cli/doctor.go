package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/base/term"
	"tare/internal/environment"
	"tare/internal/run/doctor"
	"tare/internal/study"
)

func newDoctorCommand(app *App) *cobra.Command {
	var asJSON, noise bool
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check which environments work here, and how to fix the others",
		Long: `Check which environments work on this machine and how to fix those that don't.
Each is usable, usable with a caveat, or missing, with the reason and the command
that fixes it. KVM is tested by running code in a virtual CPU, not by the presence
of /dev/kvm. A second table lists what makes measurements noisy.

--noise also runs the built-in study "noise" for two minutes: the native
environment against itself. The interval that it reports is the noise floor of
this machine. A verdict of slower or faster is a false alarm, which the procedure
allows in at most 5% of such runs.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			found := doctor.Examine(command.Context())
			if command.Context().Err() != nil {
				return &ExitError{Status: ExitInterrupted, Err: errors.New("interrupted before everything was checked")}
			}
			if asJSON {
				return printJSON(app.Stdout, found)
			}
			printDoctor(app, found)
			if !noise {
				return nil
			}
			plan, err := resolve("noise", study.Overrides{})
			if err != nil {
				return err
			}
			return execute(command.Context(), app, app.runOptions(plan), displayFlags{})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	command.Flags().BoolVar(&noise, "noise", false, "also measure the noise floor: the native environment against itself, for two minutes")
	app.addNoWait(command.Flags())
	exclude(command, "json", "noise", "the noise floor is measured by a run, which has its own report")
	return command
}

func printDoctor(app *App, found doctor.Report) {
	width := terminalOptions(app.Stdout, false).Width
	rows := [][]string{{"ENVIRONMENT", "STATE", "FINDINGS"}}
	fix := func(f environment.Finding) {
		if !f.Fix.IsZero() {
			rows = append(rows, []string{"", "", "  fix: " + f.Fix.String()})
		}
	}
	for _, e := range found.Environments {
		name := e.Kind
		if e.Label != "" {
			name += " [" + e.Label + "]"
		}
		rows = append(rows, []string{name, string(e.State), e.About})
		for _, f := range e.Findings {
			rows = append(rows, []string{"", "", findingLine(f)})
			fix(f)
		}
	}
	term.Table(app.Stdout, width, rows)
	fmt.Fprintln(app.Stdout)
	rows = [][]string{{"MEASURING", "STATE", "FINDING"}}
	for _, f := range found.Noise {
		rows = append(rows, []string{f.What, state(f), f.Reason})
		fix(f)
	}
	term.Table(app.Stdout, width, rows)
}

// findingLine is a requirement with its state.
func findingLine(f environment.Finding) string {
	text := state(f) + ": " + f.What
	if f.Reason != "" {
		text += ": " + f.Reason
	}
	return text
}

func state(f environment.Finding) string {
	if f.State == environment.Usable {
		return "ok"
	}
	return string(f.State)
}
