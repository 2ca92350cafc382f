package cli

import (
	"bytes"

	"github.com/spf13/cobra"

	"tare/internal/cli/guide"
	"tare/internal/run"
)

// next says what to do next on this machine; it is what tare does without a command.
func (a *App) next(command *cobra.Command, asJSON bool) error {
	a.started = true
	if a.DefaultSignals != nil { // it starts nothing
		a.DefaultSignals()
		a.endAtOnce = true
	}
	found := guide.Look(command.Context(), a.Home, run.Images(a.Home), run.Runs(a.Home))
	if found.Runs == 0 {
		found.Elsewhere = run.RootsRuns(a.Home)
	}
	if asJSON {
		return printJSON(a.Stdout, found)
	}
	var text bytes.Buffer
	found.Text(&text, terminalOptions(a.Stdout, false).Width)
	_, err := a.Stdout.Write(text.Bytes())
	return err
}
