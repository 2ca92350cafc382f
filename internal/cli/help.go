package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/report"
)

// helped makes all commands below root, and root, explain themselves in lines
// that fit the terminal, and 80 columns elsewhere.
func helped(app *App, root *cobra.Command) {
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		columns := usualWidth
		if own, terminal := terminalWidth(app.Stdout); terminal {
			columns = min(own, usualWidth)
		}
		fmt.Fprint(c.OutOrStdout(), help(c, columns))
	})
}

// help is all that a command says of itself. Usage and examples are there to be
// copied and stay as they are; everything else fits the columns.
func help(c *cobra.Command, columns int) string {
	about := c.Long
	if about == "" {
		about = c.Short
	}
	var out strings.Builder
	out.WriteString(flowed(about, columns) + "\n\nUsage:\n")
	if c.Runnable() {
		fmt.Fprintf(&out, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&out, "  %s [command]\n", c.CommandPath())
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
		table(&out, columns, rows)
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(&out, "\nFlags:\n%s", c.LocalFlags().FlagUsagesWrapped(columns))
	}
	if c.HasAvailableInheritedFlags() {
		fmt.Fprintf(&out, "\nGlobal flags:\n%s", c.InheritedFlags().FlagUsagesWrapped(columns))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&out, "\n`%s [command] --help` says more about a command.\n", c.CommandPath())
	}
	return out.String()
}

// flowed lays paragraphs out anew. An indented line is one of a list or a command,
// and stays as it is.
func flowed(text string, columns int) string {
	var paragraphs []string
	for _, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		var lines []string
		open := false
		for _, line := range strings.Split(paragraph, "\n") {
			indented := strings.TrimLeft(line, " \t") != line
			if open && !indented {
				lines[len(lines)-1] += " " + line
			} else {
				lines = append(lines, line)
			}
			open = !indented
		}
		var laid []string
		for _, line := range lines {
			if strings.TrimLeft(line, " \t") == line {
				laid = slices.Concat(laid, report.Wrap(line, columns))
			} else {
				laid = append(laid, line)
			}
		}
		paragraphs = append(paragraphs, strings.Join(laid, "\n"))
	}
	return strings.Join(paragraphs, "\n\n")
}
