package score

import (
	"strings"
	"testing"

	"tare/internal/subject"
)

func TestWhatIsJudgedStandsBesideWhatIsMeasured(t *testing.T) {
	p := load(t, `
profile: x
features:
  - {name: rate, group: machine, workload: w, metric: m, at_least: [50%, 90%]}
  - name: usability
    group: people
    minimum: 2
    judged:
      scale: [none, some, good, full]
      by:
        - {evaluator: A, scores: {docker: 3, gvisor: 1}, reason: it is known}
        - {evaluator: B, scores: {docker: 2, gvisor: 2, vm: 0}, reason: it is not}`)
	rate := func(e string, ratio float64) Figure {
		return Of(subject.Place{Workload: "w"}.In(e).Of("m"), ratio, 1)
	}
	s := Evaluate(p, []string{"docker", "gvisor", "kata"}, []Figure{rate("docker", .95), rate("gvisor", .4), rate("kata", .6)})
	docker, gvisor, kata := s.Rows[1].Cells[0], s.Rows[1].Cells[1], s.Rows[1].Cells[2]
	if r := docker.Result; r.Score != 2.5 || r.Least != 2 || r.Most != 3 || docker.Minimum != Met || len(r.Evaluators) != 2 {
		t.Errorf("docker: %+v, %s", r, docker.Minimum)
	}
	if r := gvisor.Result; r.Score != 1.5 || gvisor.Minimum != Open {
		t.Errorf("gvisor: %+v, %s", r, gvisor.Minimum)
	}
	if kata.Result != nil || !strings.Contains(kata.Missing, "nobody has judged it") {
		t.Errorf("kata: %+v", kata)
	}
	if total := s.Sums[2].Cells[0]; *total.Score != 4.5 || total.Judged != 2.5 || total.Least != 4 || total.Most != 5 {
		t.Errorf("the total is %+v", total)
	}
	if says := p.Features[1].Judged.Says(); !strings.Contains(says, "3 full; A: it is known; B: it is not") {
		t.Error(says)
	}
}
