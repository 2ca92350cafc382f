package cli

import (
	"github.com/spf13/cobra"

	"tare/internal/environment/remote"
)

// newHostCommand is the server side of a session: tare on another machine starts it
// over SSH.
func newHostCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:                remote.Command,
		Short:              "Run environments for tare on another machine, over stdin and stdout",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(command *cobra.Command, args []string) error {
			return remote.Program(command.Context(), args, app.Home, app.Version)
		},
	}
}
