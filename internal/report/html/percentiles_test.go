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
	d := v.Distributions(v.Workloads[7])[0]
	for i, want := range []string{"p50", "p90", "p99", "largest"} {
		cell := d.Rows[2].Cells[i]
		text := model.Figure(cell.Median, "ms") + ` <span class="verdict slower" title="`
		if d.Heads()[i] != want || !strings.Contains(cells[i], text) {
			t.Errorf("%s: %s has no %s", want, cells[i], text)
		}
	}
	if d.Rows[2].Environment.Name != "gvisor" || d.Rows[0].Cells[2].Cell != nil {
		t.Errorf("%+v", d.Rows)
	}
}
