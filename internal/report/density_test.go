package report

import (
	"bytes"
	"html"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
	"tare/internal/workload"
)

func TestCopiesAreShownTogetherAndSeparately(t *testing.T) {
	in := reporttest.Quick()
	w := &in.Plan.Workloads[0]
	l := &w.Levels[0]
	l.Instances = 3
	primary := ""
	for _, m := range w.Pack.Metrics {
		if m.Primary {
			primary = m.Name
			break
		}
	}
	for i := range in.Trials {
		trial := &in.Trials[i]
		if trial.Workload != w.Name || trial.Level != l.Name || trial.Status != rundir.OK {
			continue
		}
		trial.Copies = nil
		for _, x := range []float64{90, 100, 110} {
			trial.Copies = append(trial.Copies, rundir.Copy{Metrics: map[string]float64{primary: x}})
		}
		trial.Series = map[string][]rundir.Point{"pace": {{Second: 0, Value: 1}, {Second: 1, Value: 3}}}
	}
	var terminal, markdown, page bytes.Buffer
	if err := writeText(&terminal, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := writeMarkdown(&markdown, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := writeHTML(&page, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(strings.Fields(terminal.String()), " "); !strings.Contains(text, "3 copies, combined") || !strings.Contains(text, "spread 10%") {
		t.Errorf("terminal:\n%s", terminal.String())
	}
	for _, want := range []string{"## Concurrent copies", "| 10% |"} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("markdown has no %q", want)
		}
	}
	for _, want := range []string{`id="copies"`, `data-chart="series"`, `"name":"pace"`} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

func TestAMetricWithoutValuesHasNoRow(t *testing.T) {
	in := reporttest.Quick()
	w := &in.Plan.Workloads[0]
	w.Pack.Metrics = append(w.Pack.Metrics, workload.Metric{Name: "of_another_test", Unit: "op/s", Better: "higher"})
	var all, page bytes.Buffer
	if err := writeText(&all, in, model.Options{All: true}); err != nil {
		t.Fatal(err)
	}
	if err := writeHTML(&page, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(all.String()+page.String(), "of_another_test") {
		t.Error("a figure that no trial has is shown")
	}
}

// A run whose first workload was measured with one copy and with three: what
// adds up has a slope, and what does not is compared with the first level.
func TestDensityIsShownInEveryFormat(t *testing.T) {
	in := reporttest.Quick()
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
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	var terminal, markdown, page bytes.Buffer
	if err := writeText(&terminal, in, model.Options{Width: 200}); err != nil {
		t.Fatal(err)
	}
	if err := writeMarkdown(&markdown, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := writeHTML(&page, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"terminal": terminal.String(), "markdown": markdown.String(), "page": html.UnescapeString(page.String())} {
		for _, want := range []string{"Effect of more neighbours or copies", "Cost of each additional instance", "7.00 MiB", "×2.00"} {
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
