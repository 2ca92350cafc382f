package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/base/term"
)

// helpAll is the flag that asks for the help with all flags. It makes no sense with others,
// so setting it ends the parsing of flags.
type helpAll bool

func (h *helpAll) Set(string) error { *h = true; return pflag.ErrHelp }
func (h *helpAll) String() string   { return strconv.FormatBool(bool(*h)) }
func (h *helpAll) Type() string     { return "bool" }

// rare are the flags of commands with many that --help leaves out.
var rare = map[string][]string{
	"tare bench": {"cleanup", "env-var", "export-csv", "export-markdown", "figure", "fresh", "ignore-failure", "input", "listen", "margin",
		"mount", "no-wait", "package", "parameter-scan", "secret", "seed", "setup", "workdir"},
	"tare report":  {"against", "figures"},
	"tare run":     {"listen", "no-wait", "parallel", "seed", "or-resume"},
	"tare try":     {"listen", "margin", "no-wait", "out", "secret", "seed", "wait"},
	"tare profile": {"env-var", "load", "no-wait", "port", "secret", "seed", "url", "wait"},
	"tare explain": {"blocks", "group", "limits", "margin", "method", "no-wait", "orders", "scale", "seed", "set-from", "set-to", "traced", "via"},
	"tare import": {"baseline", "block", "begins", "decimal-comma", "fresh", "interleaved", "margin", "metric-column", "names", "no-header", "separator",
		"skip-bad", "time-in", "time-layout", "title", "value", "zone"},
	"tare stats": {"blocks-fixed", "decimal-comma", "level", "metric-column", "no-header", "round", "separator", "workload"},
}

// isRare marks a rare flag.
const isRare = "tare_rare"

// markRare marks the rare flags of all commands below root.
func markRare(root *cobra.Command) {
	root.PersistentFlags().Lookup("trust-owner").Annotations = map[string][]string{isRare: {"true"}}
	for _, c := range root.Commands() {
		for _, name := range rare[c.CommandPath()] {
			if f := c.Flags().Lookup(name); f != nil {
				f.Annotations = map[string][]string{isRare: {"true"}}
			}
		}
	}
}

// common are the flags of a set without the rare ones, unless all are wanted.
func common(flags *pflag.FlagSet, all bool) *pflag.FlagSet {
	kept := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		if all || f.Annotations[isRare] == nil {
			kept.AddFlag(f)
		}
	})
	return kept
}

// exits are the statuses of a command besides 0, 1 and 2, with what they mean where that
// is less than what Statuses say.
var exits = map[string]map[int]string{
	"tare run":   {ExitSomeFailed: "", ExitConfounded: "", ExitBusy: "", ExitInterrupted: ""},
	"tare bench": measures, "tare try": measures, "tare explain": measures, "tare rerun": measures, "tare replicate": measures,
	"tare selftest": measures, "tare prices": measures, "tare profile": measures, "tare workload check": measures,
	"tare doctor": {ExitSomeFailed: "with --noise: some trials failed", ExitBusy: "", ExitInterrupted: ""},
	"tare parity": {ExitSomeFailed: "an environment has no fingerprint, or does not work here", ExitConfounded: "--strict found a confound", ExitBusy: "", ExitInterrupted: ""},
	"tare check":  {ExitSomeFailed: readIncomplete, ExitBroken: "a rule is broken", ExitUndecided: "no rule is broken, and one is undecided"},
	"tare report": reads, "tare show": reads, "tare compare": reads, "tare score": reads, "tare pack": reads,
	"tare save": {ExitInterrupted: ""},
}

const readIncomplete = "results of the run that was read are missing"

var (
	measures = map[int]string{ExitSomeFailed: "", ExitBusy: "", ExitInterrupted: ""}
	reads    = map[int]string{ExitSomeFailed: readIncomplete}
)

// exitRows are the statuses of a command with their meaning.
func exitRows(c *cobra.Command) (rows [][]string) {
	own := exits[c.CommandPath()]
	for _, s := range Statuses {
		meaning, has := own[s.Status]
		if has || s.Status <= ExitBadInput {
			rows = append(rows, []string{fmt.Sprintf("  %-3d", s.Status), cmp.Or(meaning, s.Meaning)})
		}
	}
	return rows
}

// setHelp makes the help of all commands fit the terminal, or 80 columns where
// there is none.
func setHelp(app *App, root *cobra.Command) {
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		columns := term.DefaultWidth
		if own, terminal := term.Width(app.Stdout); terminal {
			columns = min(own, term.DefaultWidth)
		}
		fmt.Fprint(c.OutOrStdout(), help(c, columns, app.helpAll))
	})
}

// help is the help text of a command. Usage and examples can be copied, so they are
// not wrapped. Rare flags are left out unless all are wanted.
func help(c *cobra.Command, columns int, all bool) string {
	about := c.Long
	about = cmp.Or(about, c.Short)
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
	out.WriteString("\nExit status:\n")
	term.Table(&out, columns, exitRows(c))
	for _, part := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"Flags", c.LocalFlags()}, {"Global flags", c.InheritedFlags()}} {
		if flags := common(part.flags, all); flags.HasAvailableFlags() {
			fmt.Fprintf(&out, "\n%s:\n%s", part.title, flags.FlagUsagesWrapped(columns))
		}
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&out, "\nRun `%s COMMAND --help` for more about a command.\n", c.CommandPath())
	}
	return out.String()
}
