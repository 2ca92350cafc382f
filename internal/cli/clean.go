package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/run"
)

func newCleanCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Remove what a killed run left: containers, guests, cgroups, mounts, folders",
		Long: `Remove what a killed run left behind: containers, guests, cgroups, mounts, loop
devices and folders that carry tare's label and whose owner is dead. Nothing
else is touched, and neither are the runs themselves. Every start of tare does
the same.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			removed, err := run.Sweep(command.Context(), app.Home)
			for _, line := range removed {
				fmt.Fprintln(app.Stdout, "removed", line)
			}
			if err == nil && len(removed) == 0 {
				fmt.Fprintln(app.Stdout, "nothing was left behind")
			}
			return err
		},
	}
}
