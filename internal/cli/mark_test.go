package cli

import (
	"bytes"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/base/term"
	"tare/internal/environment"
	"tare/internal/parity"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/serve"
	"tare/internal/serve/index"
	"tare/internal/study"
	"tare/internal/testing/reporttest"
	"tare/internal/workload"
)

// meaninglessRun is a run in which gVisor reads a disk that it does not reach 2.4 times as
// fast, and computes a tenth slower.
func meaninglessRun(t *testing.T, home, name string) {
	t.Helper()
	diskRun(t, home, name, "9p", func(int) float64 { return 2.39 })
}

// diskRun is a run in which gVisor's disk has files of this kind, and is so many times as fast
// in a block; and in which it computes a tenth slower.
func diskRun(t *testing.T, home, name, files string, faster func(block int) float64) {
	t.Helper()
	plan := &study.Plan{
		Format: 1, Study: "a disk", Name: "disk", Baseline: "native",
		Environments: []study.Environment{{Name: "native", Kind: "native"}, {Name: "gvisor", Kind: "gvisor"}},
		Design:       study.Design{Order: "interleaved", Blocks: study.Blocks{Min: 8, Max: 10}, Margin: .02, Confidence: .95, Family: "metric"},
	}
	for _, stresses := range []string{"disk", "cpu"} {
		plan.Workloads = append(plan.Workloads, study.Workload{Name: stresses + "-load", Fresh: "block", Levels: []study.Level{{Parameters: map[string]string{"direct": "1"}}},
			Pack: workload.Pack{Name: stresses, Stresses: stresses, Parameters: map[string]workload.Parameter{"direct": {Default: "1"}},
				Metrics: []workload.Metric{{Name: "rate", Unit: "op/s", Better: "higher", Primary: true}}}})
	}
	began := time.Date(2026, 11, 21, 1, 45, 0, 0, time.UTC)
	w, err := rundir.Create(filepath.Join(home, "runs", name), plan, rundir.Manifest{Run: name, Tare: "test", Created: began,
		Environments: map[string]rundir.EnvironmentFacts{"native": {State: environment.Usable}, "gvisor": {State: environment.Usable}}})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range plan.Environments {
		for _, load := range plan.Workloads {
			facts := map[string]parity.Fact{"path[/data].filesystem": {Value: []string{"ext4", files}[i], Seen: parity.Inside}}
			if err := w.KeepFingerprint(parity.Fingerprint{Environment: e.Name, Workload: load.Name, Facts: facts}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for block := 1; block <= 10; block++ {
		for i, e := range plan.Environments {
			for n, load := range plan.Workloads {
				x := (1000 + float64(block)) * [][]float64{{1, faster(block)}, {1, .9}}[n][i]
				at := began.Add(time.Duration(4*block+2*i+n) * time.Second)
				trial := rundir.Trial{Block: block, Position: 2*i + n + 1, Environment: e.Name, Workload: load.Name, Status: rundir.OK, Started: at, Ended: at.Add(time.Second), Metrics: map[string]float64{"rate": x}}
				if err := w.Append(trial); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	w.Manifest.Sessions = []rundir.Session{{Started: began, Ended: began.Add(time.Minute)}}
	if err := w.SaveManifest(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// printed is what a command prints, whatever its exit status.
func printed(app *App, make func(*App) *cobra.Command, args ...string) string {
	var out bytes.Buffer
	app.Stdout, app.Stderr = term.NewWriter(&out), io.Discard
	command := make(app)
	command.SetArgs(args)
	command.SilenceUsage, command.SilenceErrors = true, true
	_ = command.Execute() // the status of check is that of the rules
	return out.String()
}

// outputs are all outputs on the run disk-1, by their names; compare is with disk-2.
func outputs(t *testing.T, home string) map[string]string {
	t.Helper()
	app := &App{Home: home}
	all := map[string]string{
		"show":           printed(app, newShowCommand, "disk-1"),
		"show --json":    printed(app, newShowCommand, "disk-1", "--json"),
		"compare":        printed(app, newCompareCommand, "disk-1", "disk-2"),
		"compare --json": printed(app, newCompareCommand, "disk-1", "disk-2", "--json"),
	}
	rules := filepath.Join(home, "budget")
	if err := os.WriteFile(rules, []byte("disk-load rate gvisor/native >= 0.5\ncpu-load rate gvisor/native >= 0.5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"text", "json", "md", "junit", "github"} {
		all["check "+format] = printed(app, newCheckCommand, "disk-1", "--budget", rules, "--format", format)
	}
	for _, format := range []string{"text", "md", "html", "openmetrics"} {
		all["report "+format] = printed(app, newReportCommand, "disk-1", "--format", format, "--out", "-")
	}
	for _, format := range []string{"csv", "json", "svg", "tex", "methods"} {
		directory := t.TempDir()
		printed(app, newReportCommand, "disk-1", "--format", format, "--out", directory)
		err := filepath.WalkDir(directory, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			all["report "+filepath.Base(path)] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	runs, err := index.Open("", "test", false, filepath.Join(home, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.Listen(serve.Options{Address: "127.0.0.1:0", Version: "test", Log: func(text string) { t.Error(text) }})
	if err != nil {
		t.Fatal(err)
	}
	s.Begin(runs)
	defer s.Close()
	get := func(path string) string {
		answer, err := http.Get(s.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	get("") // fills the index
	one, two := index.Identity(filepath.Join(home, "runs", "disk-1")), index.Identity(filepath.Join(home, "runs", "disk-2"))
	all["serve run"], all["serve report"] = get("runs/"+one+"/"), get("runs/"+one+"/report")
	all["serve compare"] = get("compare?run=" + one + "&run=" + two)
	history := regexp.MustCompile(`href="/(history/of\?[^"]*disk-load[^"]*)"`).FindStringSubmatch(all["serve run"])
	if history == nil {
		t.Fatalf("the page of the run leads to no history of the disk:\n%s", all["serve run"])
	}
	all["serve history"] = get(strings.ReplaceAll(history[1], "&amp;", "&"))
	return all
}

// A comparison that a confound makes meaningless has the mark, or its words, and no verdict in
// every output; one beside it keeps its verdict.
func TestEveryOutputMarksAMeaninglessComparisonAndGivesItNoVerdict(t *testing.T) {
	home := t.TempDir()
	meaninglessRun(t, home, "disk-1")
	meaninglessRun(t, home, "disk-2")
	both := []string{"show", "show --json", "report text", "report md", "report html", "report openmetrics", "report contrasts.csv", "report verdicts.svg", "serve run", "serve report"}
	// Figures, tables and files that have no comparison of the disk.
	others := []string{"report observations.csv", "report ratios-cpu-load-rate.svg", "report table-cpu-load.tex", "report table-environments.tex", "report methods.tex", "report methods.txt"}
	style := regexp.MustCompile(`(?s)<style.*?</style>|<title>.*?</title>|<dl class="legend">.*?</dl>`)
	marks := regexp.MustCompile(model.Mark + "|" + model.Confounded + `|"confounds"`)
	figures := regexp.MustCompile(`tare_contrast_confounded\{[^}]*workload="disk-load"[^}]*\} 1`)
	none := regexp.MustCompile(`seems faster than it is|verdict="faster"[^}]*\} 0`)
	for name, text := range outputs(t, home) {
		text = none.ReplaceAllString(style.ReplaceAllString(reporttest.WithoutScript(text), ""), "")
		sign := marks
		if name == "report openmetrics" {
			sign = figures
		}
		if marked, other := sign.MatchString(text), slices.Contains(others, name); marked == other {
			t.Errorf("%s: marked is %t\n%s", name, marked, text)
		}
		if strings.Contains(text, "faster") {
			t.Errorf("%s gives a verdict:\n%s", name, text)
		}
		if slices.Contains(both, name) && !strings.Contains(text, "slower") {
			t.Errorf("%s: the other comparison has no verdict\n%s", name, text)
		}
	}
}

// A change of 8.82 times, whose interval goes beyond ten times, is one text in every output
// that prints changes.
func TestEveryOutputHasOneFigureForOneValue(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"disk-1", "disk-2"} {
		diskRun(t, home, name, "ext4", func(block int) float64 { return 8.82 * math.Exp(.05*(float64(block)-5.5)) })
	}
	figure, other := regexp.MustCompile(`(×|\\times\$?)\s?8\.82`), regexp.MustCompile(`[+]\d{3,}(\.\d+)?%|×8\.820`)
	// Files with numbers alone, tables of another workload; check prints in the form of its bound.
	numbers := regexp.MustCompile(`json|csv|openmetrics|methods|check|cpu-load|environments|observations|ratios`)
	for name, text := range outputs(t, home) {
		text = reporttest.WithoutScript(text)
		if found := other.FindString(text); found != "" && !numbers.MatchString(name) {
			t.Errorf("%s has another form of the value: %q", name, found)
		}
		if !figure.MatchString(text) && !numbers.MatchString(name) {
			t.Errorf("%s does not have the value:\n%s", name, text)
		}
	}
}
