package study

import (
	"fmt"
	"strings"
	"testing"
)

func TestAServerThatIsDrivenFromAnotherPlaceHasItsPortPublished(t *testing.T) {
	for _, c := range []struct{ ports, workload, want string }{
		{"[6379]", "{use: redis, place: {driver: host}}", "study.yaml:4:28: ports: workload redis listens on 13379, which is not among 6379"},
		{"[6379, 80]", "{use: redis, as: r, port: [6379, 7000], place: {driver: apart}}", "ports: workload r listens on 7000, which is not among 6379 and 80"},
		{"[13379]", "{use: redis, place: {driver: host}}", ""},
		{"[6379]", "{use: redis, port: 6379, place: {driver: host}}", ""},
		{"[6379]", "{use: redis}", ""}, // together: nobody outside asks
		{"[]", "{use: redis, place: {driver: host}}", ""},
	} {
		_, err := resolveText(t, fmt.Sprintf(`study: a
environments:
  native: {}
  d: {kind: docker, ports: %s}
workloads:
  - %s
`, c.ports, c.workload), Overrides{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s: %v, want %q", c.ports, c.workload, err, c.want)
		}
	}
}

func TestAPortOfAnExcludedWorkloadIsNotPublished(t *testing.T) {
	_, err := resolveText(t, `study: a
environments:
  native: {}
  d: {kind: docker, ports: [13379]}
workloads:
  - {use: redis, place: {driver: host}}
  - {use: nginx, place: {driver: host}}
`, Overrides{Only: []string{"redis"}})
	if err != nil {
		t.Error(err)
	}
}
