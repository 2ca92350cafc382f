package metrics_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tare/internal/metrics"
	"tare/internal/metrics/exporter"
	"tare/internal/run"
	"tare/internal/run/schedule"
	"tare/internal/rundir"
	"tare/internal/testing/metricstest"
	"tare/internal/testing/needs"
	"tare/internal/testing/prometheustest"
)

const (
	repository = "../.."
	directory  = repository + "/monitoring/dashboards"
)

// dashboards are the expressions of all panels by their titles, by the names of the files.
func dashboards(t *testing.T) map[string]map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no dashboards: %v", directory, err)
	}
	all := map[string]map[string][]string{}
	for _, file := range files {
		var d struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &d)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		queries := map[string][]string{}
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				queries[p.Title] = append(queries[p.Title], target.Expr)
			}
		}
		all[filepath.Base(file)] = queries
	}
	return all
}

var metricName = regexp.MustCompile(`\btare_\w+`)

func TestTheDashboardsUseMetricsThatExist(t *testing.T) {
	known := map[string]bool{metrics.Starts.Name + "_bucket": true}
	for _, f := range metrics.Families() {
		known[f.Name] = true
	}
	for file, queries := range dashboards(t) {
		for title, all := range queries {
			for _, name := range metricName.FindAllString(strings.Join(all, " "), -1) {
				if !known[name] {
					t.Errorf("%s: %s: there is no metric %s", file, title, name)
				}
			}
		}
	}
}

// filled replaces the variables as Grafana does.
func filled(expression string) string {
	return strings.NewReplacer("$run", metricstest.Name, "$environment", ".*", "$workload", ".*", "$metric", ".*",
		"$__rate_interval", "1m", "$__range", "1h").Replace(expression)
}

// begun is a listener with a value for every metric of a run.
func begun(t *testing.T) (*exporter.Listener, func()) {
	t.Helper()
	l, err := exporter.Listen("127.0.0.1:0", "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	trials := metricstest.Trials()
	l.Update(run.Event{Kind: run.Opened, Run: &rundir.Run{Manifest: metricstest.Manifest(), Plan: metricstest.Plan(), Trials: trials}})
	last := trials[len(trials)-1]
	slot := &schedule.Slot{Block: last.Block, Environment: last.Environment, Workload: last.Workload, Level: last.Level}
	progress := schedule.Progress{Block: last.Block, MaxBlock: 60, Remaining: time.Minute}
	l.Update(run.Event{Kind: run.Tried, Slot: slot, Trial: &last, Contrasts: metricstest.Contrasts(trials), Progress: progress})
	l.Update(run.Event{Kind: run.Trying, Slot: slot, Progress: progress})
	onReading, seconds := l.Watch(last.Node, last.Cell()), 0.0
	return l, func() { seconds += .1; onReading(metricstest.Reading(seconds)) }
}

func TestEveryQueryOfTheLiveDashboardHasAnAnswer(t *testing.T) {
	prometheustest.Needs(t)
	l, goOn := begun(t)
	s := prometheustest.Scrape(t, l.Address())
	for _, queries := range dashboards(t)["tare-live.json"] {
		for _, q := range queries {
			s.Until(t, filled(q), func(found []float64) bool { goOn(); return len(found) > 0 })
		}
	}
}

func TestEveryQueryOfTheDashboardOfFinishedRunsHasAnAnswer(t *testing.T) {
	prometheustest.Needs(t)
	trials := metricstest.Trials()
	var text bytes.Buffer
	if err := metrics.Text(&text, metrics.Past{Manifest: metricstest.Manifest(), Plan: metricstest.Plan(), Trials: trials, Contrasts: metricstest.Contrasts(trials)}); err != nil {
		t.Fatal(err)
	}
	file, storage := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	prometheustest.Promtool(t, "", "tsdb", "create-blocks-from", "openmetrics", file, storage)
	s := prometheustest.Serve(t, storage)
	end := trials[len(trials)-1].Ended
	for title, queries := range dashboards(t)["tare-runs.json"] {
		for _, q := range queries {
			if len(s.Query(t, filled(q), end)) == 0 {
				t.Errorf("%s: no answer to %s", title, filled(q))
			}
		}
	}
	for label, want := range map[string]int{"run": 1, "environment": 2} {
		if got := s.Labels(t, label, "tare_trials_total", metricstest.Began, end); len(got) != want {
			t.Errorf("to choose a %s from there is %q", label, got)
		}
	}
}

func TestEveryQuantityHasAPanelOnBothDashboards(t *testing.T) {
	for name, queries := range dashboards(t) {
		var all strings.Builder
		for _, expressions := range queries {
			all.WriteString(strings.Join(expressions, " "))
		}
		for _, f := range metrics.Uses {
			if !strings.Contains(all.String(), f.Name+"{") {
				t.Errorf("%s shows no %s", name, f.Name)
			}
		}
	}
}

// Grafana publishes the types of its dashboards and panels: the compiler holds
// the files to them, keys and values.
func TestTheDashboardsAreOfGrafanasOwnTypes(t *testing.T) {
	needs.Program(t, "node")
	web := filepath.Join(repository, "web")
	if _, err := os.Stat(filepath.Join(web, "node_modules", "@grafana", "schema")); err != nil {
		t.Skip("needs the package @grafana/schema: `npm ci` in web/ has not been run")
	}
	check := func(files ...string) (string, error) {
		cmd := exec.Command("node", append([]string{"dashboards.js"}, files...)...)
		cmd.Dir = web
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	var files []string
	for name := range dashboards(t) {
		file, err := filepath.Abs(filepath.Join(directory, name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if output, err := check(files...); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	// The check detects errors.
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	wrong := string(text)
	mistakes := []struct{ was, is, says string }{
		{`"legendFormat"`, `"legendFromat"`, "legendFromat"},
		{`"graphTooltip": 1`, `"graphTooltip": "1"`, "graphTooltip"},
		{`"displayMode": "list"`, `"displayMode": "lst"`, "displayMode"},
		{`"drawStyle": "line"`, `"drawStyle": "lines"`, "drawStyle"},
	}
	for _, m := range mistakes {
		if !strings.Contains(wrong, m.was) {
			t.Fatalf("the dashboard has no %s", m.was)
		}
		wrong = strings.Replace(wrong, m.was, m.is, 1)
	}
	file := filepath.Join(t.TempDir(), "wrong.json")
	if err := os.WriteFile(file, []byte(wrong), 0o644); err != nil {
		t.Fatal(err)
	}
	output, err := check(file)
	for _, m := range mistakes {
		if err == nil || !strings.Contains(output, m.says) {
			t.Errorf("%s was accepted: %v %s", m.is, err, output)
		}
	}
}
