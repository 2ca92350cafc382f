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
		for _, all := range []bool{false, true} {
			for line := range strings.Lines(help(c, 80, all)) {
				if ansi.StringWidth(strings.TrimRight(line, "\n")) > 80 {
					t.Errorf("%s: %d columns: %s", c.CommandPath(), ansi.StringWidth(line), line)
				}
			}
		}
	}
}

func TestHelpFitsAScreenAndHasTheExitStatuses(t *testing.T) {
	root := newRootCommand(&App{Home: "/var/lib/tare"})
	for _, c := range everyCommand(root) {
		c.InitDefaultHelpFlag()
		text := help(c, 80, false)
		if lines := strings.Count(text, "\n"); lines > 60 {
			t.Errorf("`%s --help` has %d lines", c.CommandPath(), lines)
		}
		if !strings.Contains(text, "\nExit status:\n  0    done\n") {
			t.Errorf("`%s --help` has no exit status", c.CommandPath())
		}
	}
}

func TestHelpAllHasTheRareFlags(t *testing.T) {
	root := newRootCommand(&App{Home: "/var/lib/tare"})
	for path, flags := range rare {
		c, _, err := root.Find(strings.Fields(path)[1:])
		if err != nil {
			t.Fatal(err)
		}
		_, short, _ := strings.Cut(help(c, 80, false), "\nFlags:")
		_, long, _ := strings.Cut(help(c, 80, true), "\nFlags:")
		for _, name := range flags {
			if strings.Contains(short, " --"+name+" ") || !strings.Contains(long, "--"+name+" ") {
				t.Errorf("%s: --%s is in the short help, or not in the long one", path, name)
			}
		}
	}
	var out strings.Builder
	app := &App{Home: t.TempDir(), Stdout: &out, Stderr: &out, Args: []string{"tare", "bench", "--help-all"}}
	if status := Main(t.Context(), app); status != 0 || !strings.Contains(out.String(), "--export-markdown") {
		t.Errorf("status %d: %s", status, out.String())
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
