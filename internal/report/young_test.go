package report

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
)

// cut is the fixture after its first blocks.
func cut(blocks int) model.Input {
	in := reporttest.Quick()
	var kept []rundir.Trial
	for _, t := range in.Trials {
		if t.Block <= blocks {
			kept = append(kept, t)
		}
	}
	in.Trials = kept
	in.Contrasts = verdict.Contrasts(in.Plan, kept, in.Manifest)
	return in
}

func allFormats(t *testing.T, in model.Input) map[string]string {
	t.Helper()
	var text, md bytes.Buffer
	if err := writeText(&text, in, model.Options{All: true}); err != nil {
		t.Fatal(err)
	}
	if err := writeMarkdown(&md, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"text": text.String(), "md": md.String(), "html": strings.ReplaceAll(reporttest.WithoutScript(htmlOf(t, in)), "−", "-")}
}

func TestBelowSixBlocksThereIsARangeAndNoVerdict(t *testing.T) {
	for name, text := range allFormats(t, cut(4)) {
		if !strings.Contains(text, "no verdict") || !strings.Contains(text, "range [") {
			t.Errorf("%s does not say that there is a range and no verdict", name)
		}
		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s shows what is no figure", name)
		}
	}
}

func TestARunWithoutTrialsHasAReport(t *testing.T) {
	for name, text := range allFormats(t, cut(0)) {
		if !strings.Contains(text, "quick: what isolation costs") || strings.Contains(text, "NaN") {
			t.Errorf("%s of a run without a trial is not as it should be", name)
		}
	}
	bare := cut(0)
	bare.Manifest, bare.Contrasts = rundir.Manifest{}, nil
	allFormats(t, bare)
	if page := htmlOf(t, cut(1)); !strings.Contains(page, "raw/block-001") {
		t.Error("the first block's trials are not listed")
	}
}

func TestEveryValueOfAnEmulatedGuestHasItsLabel(t *testing.T) {
	formats := allFormats(t, reporttest.Quick())
	for _, line := range strings.Split(formats["text"], "\n") {
		if strings.HasPrefix(line, "  vm ") && !strings.HasPrefix(line, "  vm [tcg]") {
			t.Errorf("a line of the terminal lacks the label: %s", line)
		}
	}
	for _, row := range strings.Split(formats["html"], "<tr") {
		for _, shown := range []string{`<th scope="row">vm</th>`, `<td>vm</td>`} {
			if strings.Contains(row, shown) {
				t.Errorf("a row of the page lacks the label: %.200s", row)
			}
		}
	}
	if !strings.Contains(formats["md"], "| vm [tcg] |") {
		t.Error("the column of the table in Markdown lacks the label")
	}
}
