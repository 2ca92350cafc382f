package workload

import (
	"slices"
	"testing"
)

func TestVariablesOfAStudyReachEveryCommandAsTheyAre(t *testing.T) {
	own, err := Builtin("nginx")
	if err != nil {
		t.Fatal(err)
	}
	served, err := own.ServedByImage()
	if err != nil {
		t.Fatal(err)
	}
	p, err := served.WithEnv([]string{"A=1", "B=${port} $HOME"}).With(map[string]string{"port": "80", "requests": "5"}, InstanceVars{})
	if err != nil {
		t.Fatal(err)
	}
	steps := p.steps()
	if len(steps) < 3 {
		t.Fatalf("%d steps", len(steps))
	}
	for _, s := range steps {
		if !slices.Equal(s.Env, []string{"A=1", "B=${port} $HOME"}) {
			t.Errorf("%s %v has %q", s.Run, s.Argv, s.Env)
		}
	}
	for _, s := range own.steps() {
		if len(s.Env) > 0 {
			t.Errorf("the built-in pack has %q", s.Env)
		}
	}
}
