package study

import (
	"encoding/json"
	"slices"
	"testing"

	"tare/internal/workload"
)

func TestAPlanWithoutShapesGetsThem(t *testing.T) {
	const older = `{"images": {"` + workload.OwnImage + `": {"reference": "tar:drivers"}}, "workloads": [{"name": "w", "pack": {
		"servers": [{"run": "serve", "role": "server", "ready": {}}], "driver": {"run": "drive", "role": "driver"},
		"roles": {"driver": {"place": "host", "image": "` + workload.OwnImage + `"}}},
		"levels": [{"name": "", "parameters": {}}]}]}`
	var p Plan
	if err := json.Unmarshal([]byte(older), &p); err != nil {
		t.Fatal(err)
	}
	shape := p.Workloads[0].Levels[0].Shape
	if p.Images[workload.OwnImage].Reference != "tar:drivers" || len(shape.Roles) != 1 || shape.Roles[0].Image != workload.OwnImage {
		t.Errorf("images %v, shape %+v", p.Images, shape)
	}
	if here, host := p.ImageNames(false), p.ImageNames(true); len(here) != 1 || here[0] != "" || len(host) != 1 || host[0] != workload.OwnImage {
		t.Errorf("instances in %q, roles on the host in %q", here, host)
	}
}

func TestAWorkloadRunsInAnImageOfItsOwn(t *testing.T) {
	plan, err := resolveText(t, `
study: two images
environments: {native: {}, docker: {}}
workloads:
  - {use: startup, image: "tare:agent"}
  - use: redis
`, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if got := plan.ImageNames(false); !slices.Equal(got, []string{"", "tare:agent"}) {
		t.Errorf("images %q", got)
	}
	if own, other := plan.Workloads[0].Levels[0].Shape, plan.Workloads[1].Levels[0].Shape; !plan.AtOnce(own) || plan.AtOnce(other) || own.Key() == other.Key() {
		t.Errorf("the start runs in %q, redis in %q", own.Key(), other.Key())
	}
	if users := plan.UsersOf("tare:agent"); users != "startup" {
		t.Errorf("users %q", users)
	}
}
