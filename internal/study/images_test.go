package study

import (
	"encoding/json"
	"testing"

	"tare/internal/workload"
)

func TestAPlanOfAnEarlierVersionHasItsImageOfRolesOnTheHost(t *testing.T) {
	const older = `{"host_image": {"reference": "tar:drivers"}, "workloads": [{"name": "w", "pack": {
		"servers": [{"run": "serve", "role": "server", "ready": {}}], "driver": {"run": "drive", "role": "driver"},
		"roles": {"driver": {"place": "host", "image": "recipe"}}},
		"levels": [{"name": "", "parameters": {}, "shape": {"copies": 1, "together": true, "roles": [{"name": "driver", "on_host": true, "count": 1, "own_image": true}]}}]}]}`
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
