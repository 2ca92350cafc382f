package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tare/internal/cli"
)

// The tutorial shows commands with what they print. Those that measure nothing are
// repeated here: plans, and reports of the run that is kept beside the page. A line of
// three dots stands for lines that are left out.
func TestTheTutorialShowsWhatTarePrints(t *testing.T) {
	page, err := os.ReadFile("../../docs/tutorial/README.md")
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	if err := os.CopyFS(directory, os.DirFS("../../docs/tutorial")); err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(directory)
	if err := os.Symlink(examples, "examples"); err != nil {
		t.Fatal(err)
	}
	repeated := 0
	for _, block := range regexp.MustCompile("(?ms)^```\n\\$ tare (.*?)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		command, shown := strings.Fields(block[1]), block[2]
		if command[0] == "run" && command[len(command)-1] != "--dry-run" {
			continue
		}
		repeated++
		var out, errs strings.Builder
		app := &cli.App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Home: t.TempDir(), Version: "test", Args: append([]string{"tare"}, command...)}
		if status := cli.Main(t.Context(), app); status != 0 || errs.Len() > 0 {
			t.Errorf("tare %s: status %d: %s", block[1], status, errs.String())
		}
		printed, rest := out.String(), out.String()
		for part := range strings.SplitSeq(shown, "...\n") {
			before, after, found := strings.Cut(rest, part)
			if !found || part == shown && before != "" {
				t.Errorf("tare %s does not print\n%s\nbut\n%s", block[1], part, printed)
				break
			}
			rest = after
		}
	}
	if repeated < 2 {
		t.Errorf("only %d commands are repeated", repeated)
	}
}
