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

func TestMessagesAreNotWrappedWithoutATerminal(t *testing.T) {
	var out strings.Builder
	long := strings.Repeat("word ", 60) + "end"
	(&App{Stderr: &out}).say("%s", long)
	if out.String() != long+"\n" {
		t.Errorf("%q", out.String())
	}
}
