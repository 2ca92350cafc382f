package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/doctor"
	"tare/internal/environment"
	"tare/internal/run"
	"tare/internal/study"
)

func newDoctorCommand(app *App) *cobra.Command {
	var asJSON, noise bool
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Say which environments work on this machine, what is missing and what mends it",
		Long: `Say which environments work on this machine: usable, usable with a caveat, or
missing, each with the reason and the command that mends it. Whether KVM is
usable is found out by running code in a virtual CPU, not by looking for
/dev/kvm. Below stands what would spoil measurements.

With --noise the built-in study "noise" is run as well: the native environment
against itself, for two minutes. What it cannot tell from nothing is this
machine's noise floor, and a verdict of slower or faster there is a false alarm,
which the procedure allows in at most 5% of such runs.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			found := doctor.Examine(command.Context())
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
			return execute(command.Context(), app, run.Options{Home: app.Home, Version: app.Version, Command: app.Args, Plan: plan}, displayFlags{})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	command.Flags().BoolVar(&noise, "noise", false, "measure the noise floor too: two minutes of the native environment against itself")
	exclude(command, "json", "noise", "the noise floor is a run of its own, with a report")
	return command
}

func printDoctor(app *App, found doctor.Report) {
	width := terminalOptions(app.Stdout, false).Width
	rows := [][]string{{"ENVIRONMENT", "STATE", "FINDINGS"}}
	for _, e := range found.Environments {
		name := e.Kind
		if e.Label != "" {
			name += " [" + e.Label + "]"
		}
		rows = append(rows, []string{name, string(e.State), e.About})
		for _, f := range e.Findings {
			rows = append(rows, []string{"", "", findingLine(f)})
			if f.Fix != "" {
				rows = append(rows, []string{"", "", "  mend: " + f.Fix})
			}
		}
	}
	table(app.Stdout, width, rows)
	fmt.Fprintln(app.Stdout)
	rows = [][]string{{"MEASURING", "STATE", "FINDING"}}
	for _, f := range found.Noise {
		rows = append(rows, []string{f.What, state(f), f.Reason})
		if f.Fix != "" {
			rows = append(rows, []string{"", "", "  mend: " + f.Fix})
		}
	}
	table(app.Stdout, width, rows)
}

// findingLine is a requirement with how it stands.
func findingLine(f environment.Finding) string {
	sign := map[environment.State]string{environment.Usable: "ok", environment.Caveat: "caveat", environment.Missing: "missing"}[f.State]
	text := sign + ": " + f.What
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
