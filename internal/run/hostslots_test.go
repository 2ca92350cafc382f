package run

import (
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/workload"
)

func TestARolesHostIsCheckedBeforeAnImageIsBuilt(t *testing.T) {
	p := clusterPlan(t, ", nodes: 1, place: {driver: host}", "{a: {kind: wired}}")
	nobody := filepath.Join(t.TempDir(), "none")
	p.Hosts = map[string]study.Host{"far": {SSH: "root@127.0.0.1:1", Config: "none", KnownHosts: nobody}}
	p.Workloads[0].Pack.Roles["driver"] = workload.Role{Place: workload.OnHost, Hosts: []string{"far"}}
	var output []string
	_, err := Execute(t.Context(), Options{Home: t.TempDir(), Plan: p, Events: func(e Event) { output = append(output, e.Message) }})
	if err == nil || !strings.Contains(err.Error(), "a role is placed on host far, where it cannot run: needs host far") {
		t.Errorf("the error is %v", err)
	}
	if all := strings.Join(output, "\n"); !strings.Contains(all, "host far: opening") || strings.Contains(all, "image:") {
		t.Errorf("it said %q", output)
	}
}

func TestAFixFollowsItsReason(t *testing.T) {
	why := Why(rundir.EnvironmentFacts{Findings: []environment.Finding{
		{State: environment.Missing, What: "a thing", Reason: "there is none", Fix: environment.Run("mount it")},
	}})
	if why != "needs a thing: there is none; fix it with: mount it" {
		t.Error(why)
	}
}
