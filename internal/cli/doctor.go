package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/doctor"
	"tare/internal/environment"
)

func newDoctorCommand(app *App) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Say which environments work on this machine, what is missing and what mends it",
		Long: `Say which environments work on this machine: usable, usable with a caveat, or
missing, each with the reason and the command that mends it. Whether KVM is
usable is found out by running code in a virtual CPU, not by looking for
/dev/kvm. Below stands what would spoil measurements.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			found := doctor.Examine(command.Context())
			if asJSON {
				return printJSON(app.Stdout, found)
			}
			printDoctor(app, found)
			return nil
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
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
			if f.Mend != "" {
				rows = append(rows, []string{"", "", "  mend: " + f.Mend})
			}
		}
	}
	table(app.Stdout, width, rows)
	fmt.Fprintln(app.Stdout)
	rows = [][]string{{"MEASURING", "STATE", "FINDING"}}
	for _, f := range found.Noise {
		rows = append(rows, []string{f.What, state(f), f.Reason})
		if f.Mend != "" {
			rows = append(rows, []string{"", "", "  mend: " + f.Mend})
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
