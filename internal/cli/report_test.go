package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/base/term"
	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/workload"
)

// reportedRun is a run of ten blocks in which Docker takes a tenth longer.
func reportedRun(t *testing.T, home string) string {
	t.Helper()
	return runOfBlocks(t, home, 10)
}

func runOfBlocks(t *testing.T, home string, blocks int) string {
	t.Helper()
	plan := &study.Plan{
		Format: 1, Study: "a loop", Name: "loop", Baseline: "native",
		Environments: []study.Environment{{Name: "native", Kind: "native"}, {Name: "docker", Kind: "docker"}},
		Workloads: []study.Workload{{Name: "loop", Fresh: "block", Levels: []study.Level{{}},
			Pack: workload.Pack{Name: "loop", Metrics: []workload.Metric{{Name: "time", Unit: "s", Better: "lower", Primary: true}}}}},
		Design: study.Design{Order: "interleaved", Blocks: study.Blocks{Min: 8, Max: 10}, Margin: .02, Confidence: .95, Family: "metric"},
	}
	directory := filepath.Join(home, "runs", "loop-1")
	w, err := rundir.Create(directory, plan, rundir.Manifest{Run: "loop-1", Tare: "test", Environments: map[string]rundir.EnvironmentFacts{
		"native": {State: environment.Usable}, "docker": {State: environment.Usable}}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for block := 1; block <= blocks; block++ {
		for i, e := range []string{"native", "docker"} {
			x := 1 + .001*float64(block) + .1*float64(i)
			trial := rundir.Trial{Block: block, Position: i + 1, Environment: e, Workload: "loop", Status: rundir.OK, Metrics: map[string]float64{"time": x}}
			if err := w.Append(trial); err != nil {
				t.Fatal(err)
			}
		}
	}
	return directory
}

func runReport(t *testing.T, home string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	command := newReportCommand(&App{Home: home, Stdout: term.NewWriter(&out), Stderr: &out})
	command.SetArgs(args)
	command.SetOut(&out)
	command.SetErr(&out)
	command.SilenceUsage, command.SilenceErrors = true, true
	err := command.Execute()
	return out.String(), err
}

func TestReportFindsARunByNameAndWritesIntoIt(t *testing.T) {
	home := t.TempDir()
	directory := reportedRun(t, home)
	out, err := runReport(t, home, "loop-1", "--format", "html,md,text")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"report.html", "report.md"} {
		path := filepath.Join(directory, name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "slower") || !strings.Contains(out, path+"\n") {
			t.Errorf("%s says nothing of slower, or its path is not printed", name)
		}
	}
	if !strings.Contains(out, "+9.9%") || strings.Contains(out, "\x1b") {
		t.Errorf("the table is not as it should be:\n%s", out)
	}
}

func TestReportWritesOneFormatWhereItIsTold(t *testing.T) {
	home := t.TempDir()
	directory := reportedRun(t, home)
	out, err := runReport(t, home, directory, "--format", "md", "--out", "-")
	if err != nil || !strings.HasPrefix(out, "# a loop\n") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(directory, "report.md")); err == nil {
		t.Error("it wrote into the run directory as well")
	}
}

func TestReportRejectsInvalidInputWithTheReason(t *testing.T) {
	home := t.TempDir()
	reportedRun(t, home)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nothing"}, "there is no run nothing"},
		{[]string{"loop-1", "--format", "docx"}, "choose one of html, md, text, brief, openmetrics"},
		{[]string{"loop-1", "--format", "html,md", "--out", "-"}, "--out - is one file"},
		{[]string{"loop-1", "--format", "csv", "--out", "-"}, "csv is several files (observations.csv, contrasts.csv)"},
		{[]string{home}, "is not a run"},
	} {
		_, err := runReport(t, home, c.args...)
		var status *ExitError
		if !errors.As(err, &status) || status.Status != ExitBadInput || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.args, err)
		}
	}
}

func TestAFigureForAPaperPassesAPipeAsItIs(t *testing.T) {
	home, directory := t.TempDir(), t.TempDir()
	runOfBlocks(t, home, 0) // has no ratios to draw, so one figure
	if _, err := runReport(t, home, "loop-1", "--format", "pdf", "--out", directory); err != nil {
		t.Fatal(err)
	}
	figures, _ := filepath.Glob(filepath.Join(directory, "figures", "*.pdf"))
	if len(figures) != 1 {
		t.Fatalf("%q are not one figure", figures)
	}
	want, err := os.ReadFile(figures[0])
	if err != nil {
		t.Fatal(err)
	}
	out, err := runReport(t, home, "loop-1", "--format", "pdf", "--out", "-")
	if err != nil || out != string(want) {
		t.Errorf("%v: %d bytes pass a pipe, of %d in the file", err, len(out), len(want))
	}
}

func TestExportsAreWrittenIntoADirectory(t *testing.T) {
	home := t.TempDir()
	directory := reportedRun(t, home)
	other := filepath.Join(t.TempDir(), "paper", "data")
	for _, c := range []struct{ out, format, want string }{
		{"", "csv", filepath.Join(directory, "export", "contrasts.csv")},
		{"", "html,json", filepath.Join(directory, "export", "run.json")},
		{other, "csv", filepath.Join(other, "observations.csv")},
		{other, "md,text,json", filepath.Join(other, "report.md") + "\n" + filepath.Join(other, "report.txt") + "\n" + filepath.Join(other, "run.json")},
	} {
		out, err := runReport(t, home, "loop-1", "--format", c.format, "--out", c.out)
		if err != nil || !strings.Contains(out, c.want+"\n") {
			t.Errorf("%s to %q: %v\n%s", c.format, c.out, err, out)
		}
		for name := range strings.Lines(c.want) {
			if text, err := os.ReadFile(strings.TrimSpace(name)); err != nil || !strings.Contains(string(text), "loop") {
				t.Errorf("%s to %q: %v", c.format, c.out, err)
			}
		}
	}
	if out, err := runReport(t, home, "loop-1", "--format", "json", "--out", "-"); err != nil || !strings.HasPrefix(out, "{") {
		t.Errorf("an export of one file to stdout: %v\n%.100s", err, out)
	}
	if out, err := runReport(t, home, "loop-1", "--format", "csv", "--out", filepath.Join(directory, "plan.json")); err == nil || !strings.Contains(err.Error(), "choose another directory with --out") {
		t.Errorf("into a file: %v\n%s", err, out)
	}
}

func TestAReportReplacesALink(t *testing.T) {
	home := t.TempDir()
	directory, victim := reportedRun(t, home), filepath.Join(t.TempDir(), "victim")
	for _, out := range []string{"", filepath.Join(directory, "else.md")} {
		path := out
		if out == "" {
			path = filepath.Join(directory, "report.md")
		}
		if err := errors.Join(os.WriteFile(victim, []byte("old"), 0o600), os.Symlink(victim, path)); err != nil {
			t.Fatal(err)
		}
		if _, err := runReport(t, home, directory, "--format", "md", "--out", out); err != nil {
			t.Fatal(err)
		}
		if have, _ := os.ReadFile(victim); string(have) != "old" {
			t.Errorf("--out %q: the file that the report linked to was overwritten", out)
		}
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			t.Errorf("--out %q: %v %v", out, info, err)
		}
	}
}

func TestARunOfAnotherUserIsReadAndNotWrittenTo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory to another user")
	}
	t.Setenv("SUDO_UID", "")
	home := t.TempDir()
	directory := reportedRun(t, home)
	if err := os.Chown(directory, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	all := func(args ...string) error {
		var out bytes.Buffer
		root := newRootCommand(&App{Home: home, Stdout: &out, Stderr: &out})
		root.SetArgs(args)
		return root.Execute()
	}
	for _, args := range [][]string{{"report", directory}, {"run", "--resume", directory}} {
		if err := all(args...); err == nil || !strings.Contains(err.Error(), "belongs to user 12345, and tare runs as") {
			t.Errorf("%v: %v", args, err)
		}
	}
	for _, args := range [][]string{{"show", directory}, {"report", directory, "--format", "md", "--out", "-"}, {"report", directory, "--trust-owner"}} {
		if err := all(args...); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
	t.Setenv("SUDO_UID", "12345")
	if err := all("report", directory); err != nil {
		t.Errorf("through sudo by its owner: %v", err)
	}
}

func TestShowPrintsWhatTheRunPrintedLast(t *testing.T) {
	home := t.TempDir()
	directory := reportedRun(t, home)
	printed := func(args ...string) string {
		var out bytes.Buffer
		root := newRootCommand(&App{Home: home, Stdout: &out, Stderr: &out})
		root.SetArgs(args)
		if err := root.Execute(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return out.String()
	}
	for _, all := range [][]string{nil, {"--all"}} {
		if shown, text := printed(append([]string{"show", directory}, all...)...), printed(append([]string{"report", directory, "--format", "text", "--out", "-"}, all...)...); shown != text {
			t.Errorf("%v: show prints\n%s\nthe report has\n%s", all, shown, text)
		}
	}
}
