package study

import (
	"strings"
	"testing"
)

func TestParametersCanDifferByEnvironment(t *testing.T) {
	text := `study: x
environments:
  native: {with: {web: {access_log: /data/nginx/access.log, workers: 2}}}
  docker: {kind: docker, with: {web: {access_log: /dev/stdout}}}
  plain: {kind: docker}
workloads:
  - {use: nginx, as: web, connections: [1, 16], workers: 1}
  - {use: redis}
scales:
  small: {environments: {native: {with: {web: {workers: 1}}}}}
`
	plan, err := resolveText(t, text, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range plan.Environments {
		for _, l := range plan.Workloads[0].Levels {
			p := e.Parameters("web", l)
			got = append(got, strings.Join([]string{e.Name, p["connections"], p["access_log"], p["workers"]}, " "))
		}
	}
	check(t, "what nginx runs with", got, []string{"native 1 /data/nginx/access.log 2", "native 16 /data/nginx/access.log 2",
		"docker 1 /dev/stdout 1", "docker 16 /dev/stdout 1", "plain 1 off 1", "plain 16 off 1"})
	check(t, "another workload", plan.Environments[0].Parameters("redis", plan.Workloads[1].Levels[0])["port"], "13379")
	small, err := resolveText(t, text, Overrides{Scale: "small"})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "in another size", small.Environments[0].With["web"], map[string]string{"access_log": "/data/nginx/access.log", "workers": "1"})
	only, err := resolveText(t, text, Overrides{Only: []string{"redis"}})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "without the workload", len(only.Environments[0].With), 0)
}

func TestAParameterOfAnEnvironmentIsChecked(t *testing.T) {
	for with, want := range map[string]string{
		"{ngin: {workers: 2}}":       `study.yaml:3:19: with: unknown workload "ngin"; did you mean "nginx"?`,
		"{nginx: {worker: 2}}":       `study.yaml:3:27: with: workload nginx: unknown parameter "worker"; did you mean "workers"?`,
		"{nginx: {workers: 0}}":      "study.yaml:3:36: with: workers: 0 is out of range: 1 to 1024 are allowed",
		"{nginx: {workers: [1, 2]}}": "with: workers: needs one value",
		"{nginx: {connections: 5}}":  "study.yaml:3:27: with: connections is swept by workload nginx",
		"{nginx: workers}":           "with: nginx needs its parameters",
		"nginx":                      "with: needs a workload and its parameters",
		"{cassandra: {nodes: 2}}":    "study.yaml:3:31: with: nodes sets the instances of workload cassandra",
	} {
		_, err := resolveText(t, "study: x\nenvironments:\n  native: {with: "+with+"}\nworkloads: [{use: nginx, connections: [1, 2]}, {use: cassandra}]\n", Overrides{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", with, err, want)
		}
	}
}
