package html

import (
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// A rung is compared with the rung below it, so it has no place in tables of
// comparisons with the baseline.
func TestRungsAreNotComparedWithTheBaseline(t *testing.T) {
	in := reporttest.Ladder()
	page := htmlOf(t, in)
	matrix := page[strings.Index(page, `<section id="verdicts">`):]
	matrix = matrix[:strings.Index(matrix, "</section>")]
	if strings.Contains(matrix, "01-seccomp") || !strings.Contains(matrix, "docker") {
		t.Error("the matrix has the rungs, or not the end")
	}
	v := model.New(in)
	if l := v.Answer().Layers; len(l) != 1 || l[0].Name != "docker" || !strings.Contains(strings.Join(l[0].Lines[model.Safe], ""), "nginx -") {
		t.Errorf("%+v", l)
	}
	for _, c := range newChartData(v).Contrasts {
		if e := v.Environments[c.Environment].Name; e != "docker" {
			t.Errorf("a chart compares %s with the baseline", e)
		}
	}
}

func TestThePageOfALadderLeadsWithItsWaterfall(t *testing.T) {
	page := htmlOf(t, reporttest.Ladder())
	_, main, _ := strings.Cut(page, "<main>")
	first := main[strings.Index(main, "<section id="):]
	why := first[:strings.Index(first, "</section>")]
	waterfall, rest, drawn := strings.Cut(why, "</svg>")
	if !strings.HasPrefix(why, `<section id="attribution">`) || !drawn || strings.Contains(waterfall, "<table") {
		t.Fatalf("the page does not begin with the waterfall:\n%.400s", first)
	}
	for _, want := range []string{">overlay root</text>", ">−20.2%</text>", ">total: docker</text>", `fill="var(--slower)"`, `fill="var(--pale)"`, `stroke="var(--ink)"`} {
		if !strings.Contains(waterfall, want) {
			t.Errorf("the waterfall has no %s:\n%s", want, waterfall)
		}
	}
	if n := strings.Count(rest, `<a class="change" href="#b0-0">`); n != 5 || !strings.Contains(page, `<h3 id="b0-0">`) {
		t.Errorf("%d of 5 figures lead to their blocks", n)
	}
	if strings.Contains(waterfall, `="#`) {
		t.Error("the waterfall has colours that do not follow the theme")
	}
	for _, want := range []string{"engine and shim of docker", `native</th><td class="n" data-what="change">43.`, "cgroup namespace: engines give none", `title="what part 1 does &lt;to it&gt;"`} {
		if !strings.Contains(rest, want) {
			t.Errorf("the section has no %s:\n%s", want, rest)
		}
	}
	if strings.Contains(htmlOf(t, reporttest.Quick()), `id="attribution"`) {
		t.Error("a run without steps has the section")
	}
}

func TestACostWithoutAValueIsNamedAndNotDrawn(t *testing.T) {
	in := reporttest.Ladder()
	pack := &in.Plan.Workloads[0].Pack
	pack.Metrics = append(pack.Metrics, workload.Metric{Name: "energy_per_kop", Unit: "J/kop", Better: "lower"})
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	page := htmlOf(t, in)
	if !strings.Contains(page, `<p class="quiet">No value for nginx: energy per thousand operations.</p>`) || strings.Contains(page, ">n/a</text>") {
		t.Error("a cost without values has a waterfall, or is not named")
	}
	in.Trials = nil
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	page = htmlOf(t, in)
	if !strings.Contains(page, `<h3>nginx: `) || strings.Contains(page, `<figure class="waterfall">`) {
		t.Error("without trials, the primary metric has no table, or has a waterfall")
	}
}

func TestAPartThatIsNotDecidedHasNoShareOnThePage(t *testing.T) {
	in := reporttest.Ladder()
	for i := range in.Trials {
		if in.Trials[i].Environment == "02-root" { // noise that only two parts have
			in.Trials[i].Metrics["requests_per_second"] *= 1 + .2*float64(in.Trials[i].Block%3-1)
		}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	page := htmlOf(t, in)
	for part, undecided := range map[string]bool{"seccomp filter": false, "overlay root": true, "engine and shim of docker": false} {
		_, row, _ := strings.Cut(page, `>`+part+`</th>`)
		row, _, _ = strings.Cut(row, "</tr>")
		if strings.Contains(row, ">undecided</td>") != undecided || strings.Count(row, "%</td>")+strings.Count(row, "%</a></td>") != map[bool]int{true: 1, false: 2}[undecided] {
			t.Errorf("%s: %s", part, row)
		}
	}
}
