package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/run"
)

func newCleanCommand(app *App) *cobra.Command {
	var dryRun bool
	command := &cobra.Command{
		Use:   "clean",
		Short: "Remove what killed runs left behind",
		Long: `Remove what killed runs left behind: containers, guests, cgroups, mounts, loop
devices and temporary directories that carry tare's label and whose owner process
is dead. Nothing else is removed, and run directories are kept. Every run does the
same when it starts.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			remove, done := run.Sweep, "removed"
			if dryRun {
				remove, done = run.Leftovers, "would remove"
			}
			removed, err := remove(command.Context(), app.Home)
			for _, line := range removed {
				fmt.Fprintln(app.Stdout, done, line)
			}
			if err == nil && len(removed) == 0 {
				fmt.Fprintln(app.Stdout, "nothing was left behind")
			}
			return inputError(err)
		},
	}
	command.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be removed, and remove nothing")
	return command
}
