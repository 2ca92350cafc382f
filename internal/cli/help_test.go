package cli

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
)

func everyCommand(c *cobra.Command) (all []*cobra.Command) {
	all = append(all, c)
	for _, below := range c.Commands() {
		all = append(all, everyCommand(below)...)
	}
	return all
}

func TestHelpFitsEightyColumns(t *testing.T) {
	root := newRootCommand(&App{Home: "/var/lib/tare"})
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	all := everyCommand(root)
	if len(all) < 20 {
		t.Fatalf("only %d commands", len(all))
	}
	for _, c := range all {
		for line := range strings.Lines(help(c, 80)) {
			if ansi.StringWidth(strings.TrimRight(line, "\n")) > 80 {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), ansi.StringWidth(line), line)
			}
		}
	}
}

func TestHelpFlowsAndKeepsListsAndCommands(t *testing.T) {
	got := flowed("One two three four\nfive six.\n\nA list:\n  tare doctor        which environments work\n  tare run\nand on.", 20)
	want := "One two three four\nfive six.\n\nA list:\n  tare doctor        which environments work\n  tare run\nand on."
	if got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if got := flowed("One two three four\nfive six.", 40); got != "One two three four five six." {
		t.Errorf("%q", got)
	}
}

func TestProseIsBrokenOnATerminalAndItsCommandsAreNot(t *testing.T) {
	const text = "tare: interrupted in the middle of all; go on with `tare run --resume quick-20261121-014500`\nstudy.yaml:3:5: margin: needs a share, such as 2%"
	want := "tare: interrupted in the middle of all;\n  go on with\n  `tare run --resume quick-20261121-014500`\nstudy.yaml:3:5: margin: needs a share,\n  such as 2%\n"
	if got := prose(text, 42); got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

func TestAMessageStaysInOneLineWhereNoTerminalShowsIt(t *testing.T) {
	var out strings.Builder
	long := strings.Repeat("word ", 60) + "end"
	(&App{Stderr: &out}).say("%s", long)
	if out.String() != long+"\n" {
		t.Errorf("%q", out.String())
	}
}
