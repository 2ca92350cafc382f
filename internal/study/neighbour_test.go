package study

import (
	"fmt"
	"strings"
	"testing"
)

func neighbourly(entries, limits string) (*Plan, error) {
	text := "study: x\nenvironments: {native: {}}\nworkloads: [" + entries + "]\nlimits: " + limits + "\n"
	return Resolve(&File{Origin: "study.yaml", Name: "x", Source: []byte(text)}, Overrides{})
}

func TestNeighboursRunTheWorkloadItselfOrTheOneThatIsNamed(t *testing.T) {
	p, err := neighbourly(`{use: redis, neighbours: [0, 2], clients: 7}, {use: sysbench-cpu, neighbours: 1, neighbour: {use: stress-ng-cpu, workers: 3}}`, "{pin: {neighbour: [1]}}")
	if err != nil {
		t.Fatal(err)
	}
	same, other := p.Workloads[0], p.Workloads[1]
	if same.Neighbour.Name != "redis" || same.Levels[0].Neighbour != nil || same.Levels[1].Neighbour["clients"] != "7" {
		t.Errorf("%s beside %v", same.Neighbour.Name, same.Levels)
	}
	if other.Neighbour.Name != "stress-ng-cpu" || other.Levels[0].Neighbour["workers"] != "3" || other.Levels[0].Neighbour["method"] == "" {
		t.Errorf("%s beside %v", other.Neighbour.Name, other.Levels)
	}
	packages := strings.Join(p.Image.Recipe.Packages, " ")
	if !strings.Contains(packages, "stress-ng") {
		t.Errorf("the image has %s", packages)
	}
}

func TestJoiningANetworkDoesNotDependOnTheNumberOfNeighbours(t *testing.T) {
	p, err := neighbourly(`{use: redis, neighbours: [0, 2]}, {use: sysbench-cpu, neighbours: [0, 2]}, {use: redis, as: alone}, {use: startup-many, instances: [1, 3], starting: [0, 2]}`, "{}")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"true true", "false false", "false", "false false false false"} {
		var got []string
		for _, l := range p.Workloads[i].Levels {
			got = append(got, fmt.Sprint(l.Shape.Joined))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: joined %v, not %s", p.Workloads[i].Name, got, want)
		}
	}
	var crowds []string
	for _, w := range p.Workloads {
		for _, c := range w.CountSeries() {
			crowds = append(crowds, fmt.Sprintf("%s by %s, %d levels, %q", w.Name, c.By, len(c.Levels), c.Rest()))
		}
	}
	want := `redis by neighbours, 2 levels, ""; sysbench-cpu by neighbours, 2 levels, ""; startup-many by instances, 2 levels, "starting=0"; startup-many by instances, 2 levels, "starting=2"`
	if got := strings.Join(crowds, "; "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestInvalidNeighboursAreRejected(t *testing.T) {
	for _, c := range []struct{ entry, limits, says string }{
		{"{use: redis, neighbour: {use: redis}}", "{}", "neighbour: has no effect without neighbours"},
		{"{use: startup, neighbours: 2}", "{}", "so it cannot have neighbours"},
		{"{use: redis, neighbours: 1, neighbour: {use: startup}}", "{}", "has no driver that could run as a neighbour"},
		{"{use: redis, neighbours: 1, neighbour: {use: redis, clients: [1, 2]}}", "{}", "sweep only neighbours:"},
		{"{use: redis, neighbours: 1, neighbour: {use: redis, instances: 2}}", "{}", "instances: not possible for neighbours"},
		{"{use: redis, neighbours: -1}", "{}", "out of range: 0 to 1000"},
		{"{use: redis, starting: many}", "{}", "not a whole number"},
		{"{use: redis}", "{pin: {neighbour: [1]}}", `unknown role "neighbour"`},
	} {
		if _, err := neighbourly(c.entry, c.limits); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, not %q", c.entry, err, c.says)
		}
	}
}
