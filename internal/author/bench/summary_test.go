package bench

import (
	"encoding/json"
	"strings"
	"testing"

	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/study"
)

func TestAMetricThatNoRunHasIsAbsentNotZero(t *testing.T) {
	r := &run.Result{Run: &rundir.Run{
		Plan:   &study.Plan{Study: "gzip", Environments: []study.Environment{{Name: "native"}}},
		Trials: []rundir.Trial{{Environment: "native", Block: 1, Status: rundir.Failed}},
	}}
	s := Summarize(r)
	text, err := json.Marshal(s.Results)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"mean":null`, `"stddev":null`, `"median":null`, `"user":null`, `"min":null`, `"times":[]`, `"failed":1`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("there is no %s in %s", want, text)
		}
	}
	table, err := s.CSV()
	if err != nil || !strings.Contains(string(table), "gzip,,,,,,,,native,") {
		t.Errorf("%v\n%s", err, table)
	}
	if page, err := s.Markdown(); err != nil || strings.Contains(string(page), "0 s") {
		t.Errorf("%v\n%s", err, page)
	}
	var out strings.Builder
	if s.Text(&out, 80); strings.Contains(out.String(), "estimate") {
		t.Errorf("it explains estimates that it does not have:\n%s", out.String())
	}
}

func TestHostileTextIsShownInExports(t *testing.T) {
	const hostile = "x\x1b[2J\u202e|`y`\n| forged"
	s := Summary{Command: hostile, Results: []Result{{Command: hostile, Environment: hostile, Label: hostile}}, sentences: []string{hostile}}
	for name, render := range map[string]func() ([]byte, error){"CSV": s.CSV, "Markdown": s.Markdown} {
		text, err := render()
		if err != nil || strings.ContainsAny(string(text), "\x1b\u202e") || strings.Contains(string(text), "\n| forged") || !strings.Contains(string(text), `\u001b`) {
			t.Errorf("%s: %v: %q", name, err, text)
		}
	}
}
