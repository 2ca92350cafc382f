package cli

import (
	"github.com/spf13/cobra"

	"tare/internal/environment/remote"
)

// newHostCommand is tare as the answering side of a session: another tare starts
// it, on a host that it reaches.
func newHostCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:                remote.Command,
		Short:              "Run environments for a tare elsewhere, over the standard input and output",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(command *cobra.Command, args []string) error {
			return remote.Program(command.Context(), args, app.Home, app.Version)
		},
	}
}
