package study

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInstancesShareATotal(t *testing.T) {
	resolve := func(total string) (*Plan, error) {
		return Resolve(&File{Name: "x", Source: []byte("study: x\nbaseline: native\nenvironments: {native: {}, docker: {}}\nworkloads:\n  - {use: redis, port: [7000, 8000], instances: [1, 4], total: " + total + "}\n")}, Overrides{})
	}
	plan, err := resolve("[port]")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range plan.Workloads[0].Levels {
		want := l.Parameters["port"]
		if l.Instances == 4 {
			want = map[string]string{"7000": "1750", "8000": "2000"}[want]
		}
		if got := plan.Environments[0].Parameters("redis", l)["port"]; got != want {
			t.Errorf("at %s each has %s, want %s", l.Name, got, want)
		}
	}
	for total, want := range map[string]string{"[prot]": `"prot" is not a number that workload redis has`, "[tests]": `"tests" is not a number`, "[seconds]": "is not a multiple of 4 instances"} {
		if _, err := resolve(total); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", total, err)
		}
	}
}

func TestATotalIsTheWorkloadsAlone(t *testing.T) {
	for text, want := range map[string]string{
		"environments: {native: {}, docker: {with: {redis: {port: 7001}}}}\nworkloads: [{use: redis, port: 7000, instances: [1, 4], total: [port]}]": "share port as a total",
		"environments: {native: {}}\nworkloads: [{use: nginx-open, total: [rate], find: capacity, objective: p99 <= 50ms}]":                          "total: the rate of a search",
	} {
		if _, err := Resolve(&File{Name: "x", Source: []byte("study: x\nbaseline: native\n" + text + "\n")}, Overrides{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestOneInstanceBesideProgramsOnTheHostMeetsThemAlone(t *testing.T) {
	for _, c := range []struct {
		shape Shape
		want  bool
	}{
		{Shape{Together: true}, true},
		{Shape{Roles: []RoleShape{{Name: "server", Count: 1}, {Name: "driver", OnHost: true, Count: 1}}}, true},
		{Shape{Roles: []RoleShape{{Name: "server", Count: 1}, {Name: "driver", Count: 1}}}, false},
		{Shape{Roles: []RoleShape{{Name: "server", Count: 3}, {Name: "driver", OnHost: true, Count: 1}}}, false},
		{Shape{Together: true, Neighbours: &Shape{Together: true}}, false},
	} {
		if got := c.shape.MeetsHostOnly(); got != c.want {
			t.Errorf("%+v: %v", c.shape, got)
		}
	}
}

// Packs of before had parameters that are keys of studies now.
func TestAParameterOfAPackIsNoKeyOfTheStudy(t *testing.T) {
	plan, err := Resolve(&File{Name: "x", Source: []byte("study: x\nbaseline: native\nenvironments: {native: {}}\nworkloads: [{use: " + ownPack(t) + ", pause: [1, 2]}]\n")}, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if w := plan.Workloads[0]; w.Pause != 0 || len(w.Levels) != 2 || w.Levels[1].Parameters["pause"] != "2" {
		t.Errorf("it rests for %v and has %+v", w.Pause, w.Levels)
	}
}

func ownPack(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "own.yaml")
	text := "workload: own\ntitle: x\nstresses: cpu\nimage: {}\nparameters: {pause: {default: 0, min: 0, max: 9}}\ndriver: {run: 'sleep ${pause}; echo value 1'}\nparser: {regex: ['^value (?P<value>\\d+)\\n$']}\nmetrics: [{name: value, unit: op, better: higher, primary: true}]\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
