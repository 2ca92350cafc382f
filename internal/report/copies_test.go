package report

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/rundir"
	"tare/internal/workload"
)

func TestCopiesAreShownTogetherAndApart(t *testing.T) {
	in := fixture()
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
	if err := Terminal(&terminal, in, TerminalOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&markdown, in); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&page, in); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(strings.Fields(terminal.String()), " "); !strings.Contains(text, "3 copies, together") || !strings.Contains(text, "spread 10%") {
		t.Errorf("terminal:\n%s", terminal.String())
	}
	for _, want := range []string{"## Copies at once", "| 10% |"} {
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

func TestCurvesOverTimeAreMediansOverTheTrials(t *testing.T) {
	curve := func(values ...float64) (c []rundir.Point) {
		for i, v := range values {
			c = append(c, rundir.Point{Second: float64(i), Value: v})
		}
		return c
	}
	got := windows([][]rundir.Point{curve(1, 2, 30), curve(3, 4, 10), curve(2, 6, 20)})
	var values []float64
	for _, p := range got {
		values = append(values, float64(p[1]))
	}
	if len(values) != 3 || values[0] != 2 || values[1] != 4 || values[2] != 20 {
		t.Errorf("got %v", values)
	}
	if one := windows([][]rundir.Point{{{Second: 0, Value: 7}}}); len(one) != 1 || one[0][1] != 7 {
		t.Errorf("a curve of one point became %v", one)
	}
	long := make([]rundir.Point, 1000)
	for i := range long {
		long[i] = rundir.Point{Second: float64(i), Value: 1}
	}
	if n := len(windows([][]rundir.Point{long})); n != mostWindows {
		t.Errorf("1000 points became %d", n)
	}
}

func TestAMetricThatNobodyHasIsNoRow(t *testing.T) {
	in := fixture()
	w := &in.Plan.Workloads[0]
	w.Pack.Metrics = append(w.Pack.Metrics, workload.Metric{Name: "of_another_test", Unit: "op/s", Better: "higher"})
	var all, page bytes.Buffer
	if err := Terminal(&all, in, TerminalOptions{All: true}); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&page, in); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(all.String()+page.String(), "of_another_test") {
		t.Error("a figure that no trial has is shown")
	}
}
