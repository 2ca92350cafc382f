package html

import (
	"regexp"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

func TestAWorkloadWithADistributionHasItsPercentiles(t *testing.T) {
	in := reporttest.Percentiles()
	page := reporttest.WithoutScript(htmlOf(t, in))
	if n := strings.Count(page, "<h3>Percentiles</h3>"); n != 1 {
		t.Errorf("%d workloads have percentiles; one percentile alone is no distribution", n)
	}
	_, table, _ := strings.Cut(page, `aria-label="Percentiles of latency in nginx"`)
	table, _, _ = strings.Cut(table, "</table>")
	heads := strings.Join(regexp.MustCompile(`scope="col">([^<]*)<`).FindAllString(table, -1), "")
	if want := `scope="col">environment<scope="col">p50<scope="col">p90<scope="col">p99<scope="col">largest<`; heads != want {
		t.Errorf("the columns are %s", heads)
	}
	_, gvisor, _ := strings.Cut(table, `<th scope="row">gvisor</th>`)
	gvisor, _, _ = strings.Cut(gvisor, "</tr>")
	cells := strings.Split(gvisor, "</td>")
	if len(cells) != 5 {
		t.Fatalf("gvisor has %d cells: %s", len(cells)-1, gvisor)
	}
	v := model.New(in)
	w := v.Workloads[7]
	for i, n := range v.Distributions(w)[0].Numbers {
		x, _ := w.Levels[0].Metric(w.AllMetrics()[n].Name).At(&v.Environments[2])
		if text := model.Figure(x, "ms") + ` <span class="verdict slower" title="`; !strings.Contains(cells[i], text) {
			t.Errorf("%s has no %s", cells[i], text)
		}
	}
}
