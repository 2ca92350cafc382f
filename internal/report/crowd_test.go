package report

import (
	"bytes"
	"html"
	"strings"
	"testing"

	"tare/internal/rundir"
	"tare/internal/verdict"
)

// A run whose first workload was measured with one copy and with three: what
// adds up has a slope, and what does not is compared with the first level.
func TestWhatComesWithMoreInstancesIsShownInEveryFormat(t *testing.T) {
	in := fixture()
	w := &in.Plan.Workloads[0]
	w.Levels = append(w.Levels[:1:1], w.Levels[0])
	w.Levels[0].Instances, w.Levels[1].Instances = 1, 3
	w.Levels[0].Name, w.Levels[1].Name = "instances=1", "instances=3"
	primary := -1
	for i, m := range w.Pack.Metrics {
		if m.Primary && primary < 0 {
			primary = i
		}
	}
	total := w.Pack.Metrics[primary]
	total.Name, total.Across, total.Unit = "held", "sum", "MiB"
	w.Pack.Metrics[primary].Across = "mean"
	w.Pack.Metrics = append(w.Pack.Metrics, total)
	var more []rundir.Trial
	for i := range in.Trials {
		trial := &in.Trials[i]
		if trial.Workload != w.Name || trial.Status != rundir.OK {
			continue
		}
		crowd := *trial
		trial.Level, crowd.Level = "instances=1", "instances=3"
		trial.Metrics = map[string]float64{w.Pack.Metrics[primary].Name: 1, "held": 10}
		crowd.Metrics = map[string]float64{w.Pack.Metrics[primary].Name: 2, "held": 24}
		more = append(more, crowd)
	}
	in.Trials = append(in.Trials, more...)
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest.Environments)
	var terminal, markdown, page bytes.Buffer
	if err := Terminal(&terminal, in, TerminalOptions{Width: 200}); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&markdown, in); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&page, in); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"terminal": terminal.String(), "markdown": markdown.String(), "page": html.UnescapeString(page.String())} {
		for _, want := range []string{withinTitle, growthTitle, "7.00 MiB", "+100%"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
	}
	for _, want := range []string{`id="within"`, `id="growth"`, `href="#growth"`} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
