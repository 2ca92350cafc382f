package html

import (
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

// A rung is compared with the rung below it, so it has no place in tables of
// comparisons with the baseline.
func TestRungsAreNotComparedWithTheBaseline(t *testing.T) {
	in := reporttest.Ladder()
	page := htmlOf(t, in)
	matrix := page[strings.Index(page, `<section id="verdicts">`):strings.Index(page, `<section id="attribution">`)]
	if strings.Contains(matrix, "01-seccomp") || !strings.Contains(matrix, "docker") {
		t.Error("the matrix has the rungs, or not the end")
	}
	v := model.New(in)
	if h := v.Headlines(); len(h) != 1 || h[0].Environment != "docker" || !strings.Contains(h[0].Text, "slower in 1 of 1") {
		t.Errorf("%+v", h)
	}
	for _, c := range newChartData(v).Contrasts {
		if e := v.Environments[c.Environment].Name; e != "docker" {
			t.Errorf("a chart compares %s with the baseline", e)
		}
	}
}

func TestThePageHasTheWaterfallWithoutAScript(t *testing.T) {
	page := htmlOf(t, reporttest.Ladder())
	why := page[strings.Index(page, `<section id="attribution">`):]
	why = why[:strings.Index(why, "</section>")]
	if n := strings.Count(why, `<svg class="fall"`); n != 5 {
		t.Errorf("%d bars, want one a part and one for all", n)
	}
	for _, want := range []string{"engine and shim of docker", "cgroup namespace: engines give none", `title="what part 1 does &lt;to it&gt;"`, `class="slower"`, `class="equivalent light"`} {
		if !strings.Contains(why, want) {
			t.Errorf("the section has no %s:\n%s", want, why)
		}
	}
	if strings.Contains(htmlOf(t, reporttest.Quick()), `id="attribution"`) {
		t.Error("a run without steps has the section")
	}
}
