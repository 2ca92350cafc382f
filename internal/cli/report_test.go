package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/workload"
)

// reportedRun is a run of ten blocks in which docker takes a tenth longer.
func reportedRun(t *testing.T, home string) string {
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
	for block := 1; block <= 10; block++ {
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
	command := newReportCommand(&App{Home: home, Stdout: &out, Stderr: &out})
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
		{[]string{"loop-1", "--format", "pdf"}, "choose one of html, md, text, openmetrics"},
		{[]string{"loop-1", "--format", "html,md", "--out", "x"}, "--out names one file"},
		{[]string{home}, "is not a run"},
	} {
		_, err := runReport(t, home, c.args...)
		var status *ExitError
		if !errors.As(err, &status) || status.Status != ExitBadInput || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.args, err)
		}
	}
}
