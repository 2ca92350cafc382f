package cli

import "github.com/spf13/cobra"

// Tree are the commands as they are, for reference pages and manuals.
func Tree(version string) *cobra.Command {
	app := NewApp(version)
	app.Home = "$TARE_HOME"
	return newRootCommand(app)
}
