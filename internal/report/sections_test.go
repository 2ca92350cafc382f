package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/parity"
	"tare/internal/report/model"
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
	for name, text := range map[string]string{"txt": terminalOf(t, in, model.Options{Width: 80}), "md": allFormats(t, in)["md"], "html": reporttest.WithoutScript(htmlOf(t, in))} {
		switch name {
		case "txt":
			_, text, _ = strings.Cut(text, "\nParity\n")
		case "md":
			_, text, _ = strings.Cut(text, "\n## Parity\n")
		case "html":
			sections := regexp.MustCompile(`(?s)<section id="(parity|kernel|score|against|costs|capacity|copies|start|paths|failures|notes)">.*?</section>`).FindAllString(text, -1)
			text = strings.Join(sections, "\n") + "\n"
		}
		for line := range strings.Lines(text) {
			if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); name == "txt" && n > 80 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		reporttest.Golden(t, "sections."+name, []byte(text))
	}
}
