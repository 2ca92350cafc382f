package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
)

// A run that was interrupted before its second end had run shows no figure of it,
// and no line of what has not run.
func TestAnEnvironmentThatHasNotRunHasNoRow(t *testing.T) {
	in := reporttest.Ladder()
	in.Trials = in.Trials[:2] // native and the first rung
	in.Manifest.Sessions = []rundir.Session{{Ended: in.Trials[1].Ended, Stopped: rundir.Interrupted}}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	var out, document bytes.Buffer
	if err := writeWhy(&out, in, model.Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if err := writeMarkdown(&document, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{`\n  docker +no value\n`, `\n  native +4\d\.\dk/s\n`, `\n  seccomp filter`, `No row for 3 of 4 parts`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	_, section, _ := strings.Cut(document.String(), "## Attribution")
	for _, absent := range []string{" 0/s", " 0 s", "range n/a", "overlay root", "= total", "**total**"} {
		if strings.Contains(text, absent) || strings.Contains(section, "| overlay root") {
			t.Errorf("there is %q in\n%s\n%s", absent, text, section)
		}
	}
	if !strings.Contains(section, "| docker | no value |") {
		t.Errorf("the document has no line for the second end:\n%s", section)
	}
	if page := htmlOf(t, in); !strings.Contains(page, `<tr class="total"><th scope="row">docker</th><td class="n" data-what="change">no value</td>`) {
		t.Error("the page has no line for the second end")
	}
	in.Trials = nil
	in.Contrasts = verdict.Contrasts(in.Plan, nil, in.Manifest)
	out.Reset()
	if err := writeWhy(&out, in, model.Options{Width: 80}); err != nil || strings.Contains(out.String(), " 0/s") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestOverSeveralOrdersTheIntervalAndTheSpreadHaveHeadsOfTheirOwn(t *testing.T) {
	in := reporttest.Ladder()
	for i := range in.Plan.Steps {
		step := &in.Plan.Steps[i]
		if step.Part == "" {
			continue
		}
		step.Order = 1
		again := *step
		again.Order = 2
		in.Plan.Steps = append(in.Plan.Steps, again)
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	var out, document bytes.Buffer
	if err := writeWhy(&out, in, model.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if err := writeMarkdown(&document, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	page := htmlOf(t, in)
	if text := out.String(); !regexp.MustCompile(`\n  part +change  95% interval +verdict +share +blocks\n  native`).MatchString(text) || strings.Contains(text, "range n/a") {
		t.Errorf("the table has no heads:\n%s", text)
	}
	if want := "| part | change | 95% interval | verdict | share | blocks | spread over orders |\n"; !strings.Contains(document.String(), want) {
		t.Errorf("the document has no %s", want)
	}
	for _, want := range []string{`<th scope="col">95% interval</th>`, `<th scope="col">spread over orders</th>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
