package report

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/papers/score"
	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

// scoredFixture is the fixture with its score sheet.
func scoredFixture(t *testing.T) model.Input {
	t.Helper()
	text, err := os.ReadFile("testdata/profile.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := score.Load("profile", "profile.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	in := reporttest.Quick()
	in.Score = new(model.Score(in, p))
	return in
}

func TestTheScoreSheetAlone(t *testing.T) {
	in := scoredFixture(t)
	var text, md bytes.Buffer
	for _, width := range []int{80, 120} {
		if err := writeScoreText(&text, in, model.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		text.WriteString("\n")
	}
	if err := writeScoreMarkdown(&md, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "score.txt", text.Bytes())
	reporttest.Golden(t, "score.md", md.Bytes())
}

func TestNoLineOfAScoreSheetIsWiderThanTheTerminal(t *testing.T) {
	in := scoredFixture(t)
	for _, width := range []int{40, 60, 80, 200} {
		var text bytes.Buffer
		if err := writeScoreText(&text, in, model.Options{Width: width, Colour: true}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("at %d columns a line has %d: %s", width, n, line)
			}
		}
		for _, e := range in.Score.Environments {
			if !strings.Contains(text.String(), e) {
				t.Errorf("at %d columns %s is lost:\n%s", width, e, text.String())
			}
		}
	}
}

func TestEveryReportHasTheScoreSheetWhereThereIsOne(t *testing.T) {
	with, without := scoredFixture(t), reporttest.Quick()
	write := map[string]func(in model.Input) string{
		"html": func(in model.Input) string { return reporttest.WithoutScript(htmlOf(t, in)) },
		"terminal": func(in model.Input) string {
			var b bytes.Buffer
			if err := writeText(&b, in, model.Options{}); err != nil {
				t.Fatal(err)
			}
			return b.String()
		},
		"markdown": func(in model.Input) string {
			var b bytes.Buffer
			if err := writeMarkdown(&b, in, model.Options{}); err != nil {
				t.Fatal(err)
			}
			return b.String()
		},
	}
	for format, of := range write {
		if page := of(with); !strings.Contains(page, "What a small web service needs") || !strings.Contains(page, "sum of machine") {
			t.Errorf("%s has no score sheet", format)
		}
		if page := of(without); strings.Contains(page, "Score sheet") {
			t.Errorf("%s has a score sheet that nobody asked for", format)
		}
	}
}

func TestTheSheetAsAPageNeedsNothingAndLabelsEmulation(t *testing.T) {
	in := scoredFixture(t)
	in.Plan.Study = "<script>alert(1)</script>"
	var page bytes.Buffer
	if err := writeScoreHTML(&page, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if strings.Contains(text, "<script") || strings.Contains(text, "http") && strings.Contains(text, "src=") {
		t.Error("the page has a script, or asks for something")
	}
	for _, want := range []string{"vm [tcg]", "say nothing about a virtual machine with KVM", "<strong>sum of service</strong>", "not acceptable, below the minimum in", "</html>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}

func TestAProfileOfWhatWasNotMeasuredHasNoTables(t *testing.T) {
	p, err := score.Builtin("karna-2021")
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Features {
		p.Features[i].Workload += "-elsewhere"
	}
	in := reporttest.Quick()
	in.Score = new(model.Score(in, p))
	var text bytes.Buffer
	if err := writeScoreText(&text, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "no value for any feature") || strings.Contains(text.String(), "MAX") {
		t.Error(text.String())
	}
}
