package report

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"tare/internal/papers/published"
	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

// besideFixture is the fixture with a study that printed some of the same.
func besideFixture(t *testing.T) model.Input {
	t.Helper()
	text, err := os.ReadFile("testdata/published.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := published.Parse("published.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	in := reporttest.Quick()
	in.Against = model.ComparePublished(in, s)
	return in
}

func TestPrintedRatiosAreOnThePage(t *testing.T) {
	in := besideFixture(t)
	page := reporttest.WithoutScript(htmlOf(t, in))
	for _, want := range []string{`id="against"`, `href="#against"`, "Ratios to the baseline: Metal in the study", "Table 2, bad luck"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestARunWithAnotherBaselineReportsThatNothingCompares(t *testing.T) {
	in := besideFixture(t)
	for i := range in.Plan.Environments {
		if in.Plan.Environments[i].Name == in.Plan.Baseline {
			in.Plan.Environments[i].Kind = "podman"
		}
	}
	in.Against = model.ComparePublished(in, in.Against.Study)
	var text bytes.Buffer
	if err := writeText(&text, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	if want := "so there is nothing to compare"; len(in.Against.Rows) != 0 || !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
		t.Errorf("%d rows; the report says:\n%s", len(in.Against.Rows), text.String())
	}
}
