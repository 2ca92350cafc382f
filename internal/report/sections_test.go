package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/parity"
	"tare/internal/report/model"
	"tare/internal/report/section"
	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
)

// everything is a run that has each section but those of ladders and imported results.
func everything(t *testing.T) model.Input {
	t.Helper()
	in := searched()
	unfair := reporttest.Unfair()
	in.Parity, in.Score, in.Against = unfair.Parity, scoredFixture(t).Score, reporttest.Beside().Against
	in.Across = parity.Nodes{Names: []string{"node-a", "node-b"}}
	w := in.Plan.Workload("nginx")
	for _, one := range reporttest.Traced().Traced {
		one.Workload, one.Level, one.Metrics = w.Name, "", map[string]float64{w.Pack.Operations: 1e5}
		in.Traced = append(in.Traced, one)
	}
	w.Levels[0].Instances = 3
	for i := range in.Trials {
		if trial := &in.Trials[i]; trial.Workload == w.Name && trial.Status == rundir.OK {
			for _, x := range []float64{90, 100, 110} {
				trial.Copies = append(trial.Copies, rundir.Copy{Metrics: map[string]float64{"requests": x}})
			}
		}
	}
	return in
}

// A section is built once: this is what it looks like in each format.
func TestEachSectionInEveryFormat(t *testing.T) {
	in := everything(t)
	page := reporttest.WithoutScript(htmlOf(t, in))
	var inPage strings.Builder
	for _, s := range section.Of(model.New(in), section.All, section.Options{}) {
		_, text, found := strings.Cut(page, `<section id="`+s.ID+`">`)
		text, _, _ = strings.Cut(text, "</section>")
		if !found || !strings.Contains(page, `<li><a href="#`+s.ID+`">`) {
			t.Errorf("the page does not have %s, or does not lead to it", s.ID)
		}
		fmt.Fprintf(&inPage, "<section id=%q>%s</section>\n", s.ID, text)
	}
	_, text, _ := strings.Cut(terminalOf(t, in, model.Options{Width: 80}), "\nClaims of example\n")
	_, document, _ := strings.Cut(allFormats(t, in)["md"], "\n## Claims of example\n")
	for line := range strings.Lines(text) {
		if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	tex := texOf(t, in) + texOf(t, reporttest.Ladder())
	for _, s := range section.Of(model.New(in), section.Paper, section.Options{Paper: true}) {
		if !strings.Contains(tex, "==> table-"+s.Paper+".tex <==") {
			t.Errorf("LaTeX does not have %s", s.Title)
		}
	}
	for name, text := range map[string]string{"txt": text, "md": document, "html": inPage.String(), "tex": tex} {
		reporttest.Golden(t, "sections."+name, []byte(text))
	}
}

// texOf are the tables for papers, below the names of their files.
func texOf(t *testing.T, in model.Input) string {
	t.Helper()
	f, _ := Find("tex")
	files, err := f.Files(in, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, one := range files {
		fmt.Fprintf(&all, "==> %s <==\n%s\n", one.Name, one.Data)
	}
	return all.String()
}
