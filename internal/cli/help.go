package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/base/term"
)

// setHelp makes the help of all commands fit the terminal, or 80 columns where
// there is none.
func setHelp(app *App, root *cobra.Command) {
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		columns := term.DefaultWidth
		if own, terminal := term.Width(app.Stdout); terminal {
			columns = min(own, term.DefaultWidth)
		}
		fmt.Fprint(c.OutOrStdout(), help(c, columns))
	})
}

// help is the help text of a command. Usage and examples can be copied, so they are
// not wrapped.
func help(c *cobra.Command, columns int) string {
	about := c.Long
	if about == "" {
		about = c.Short
	}
	var out strings.Builder
	out.WriteString(term.Flow(about, columns) + "\n\nUsage:\n")
	if c.Runnable() {
		fmt.Fprintf(&out, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&out, "  %s COMMAND\n", c.CommandPath())
	}
	if len(c.Aliases) > 0 {
		fmt.Fprintf(&out, "\nAliases:\n  %s\n", c.NameAndAliases())
	}
	if c.HasExample() {
		fmt.Fprintf(&out, "\nExamples:\n%s\n", strings.TrimRight(c.Example, "\n"))
	}
	if c.HasAvailableSubCommands() {
		out.WriteString("\nCommands:\n")
		var rows [][]string
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() || below.Name() == "help" {
				rows = append(rows, []string{"  " + below.Name(), below.Short})
			}
		}
		term.Table(&out, columns, rows)
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(&out, "\nFlags:\n%s", c.LocalFlags().FlagUsagesWrapped(columns))
	}
	if c.HasAvailableInheritedFlags() {
		fmt.Fprintf(&out, "\nGlobal flags:\n%s", c.InheritedFlags().FlagUsagesWrapped(columns))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&out, "\nRun `%s COMMAND --help` for more about a command.\n", c.CommandPath())
	}
	return out.String()
}
