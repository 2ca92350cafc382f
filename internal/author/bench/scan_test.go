package bench

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tare/internal/base/lists"
	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/workload"
)

func TestAScanMakesALevelOfEachValue(t *testing.T) {
	o := Options{
		Argv: []string{"sh", "-c", "work -j{threads} ${threads} ${HOME}"}, Prepare: []string{"sync {threads}"},
		Environments: []string{"native"}, Margin: "2%", Scan: "threads,1,2,0.5",
	}
	plan, err := o.Plan()
	if err != nil {
		t.Fatal(err)
	}
	w := plan.Workloads[0]
	if names := lists.Map(w.Levels, func(l study.Level) string { return l.Name }); !slices.Equal(names, []string{"threads=1", "threads=1.5", "threads=2"}) {
		t.Errorf("the levels are %q", names)
	}
	pack, err := w.Pack.With(w.Levels[1].Parameters, workload.InstanceVars{})
	if err != nil {
		t.Fatal(err)
	}
	if got := pack.Driver.Argv[2] + "; " + pack.Setup[0].Run; got != "work -j1.5 ${threads} ${HOME}; sync 1.5" {
		t.Error(got)
	}
	s := Summarize(&run.Result{Run: &rundir.Run{Plan: plan, Trials: []rundir.Trial{
		{Environment: "native", Level: "threads=2", Metrics: map[string]float64{"wall_seconds": 3}},
		{Environment: "native", Level: "threads=1", Metrics: map[string]float64{"wall_seconds": 5}},
	}}})
	var text strings.Builder
	s.Text(&text, 80)
	document, _ := json.Marshal(s)
	for of, want := range map[string]string{text.String(): "\nnative threads=1 (1 runs)\n  wall          5.000 s\n", string(document): `"level":"threads=2","parameters":{"threads":"2"}`} {
		if !strings.Contains(of, want) {
			t.Errorf("there is no %q in\n%s", want, of)
		}
	}
}

func TestAScanThatMeansNothingIsRefused(t *testing.T) {
	for scan, want := range map[string]string{
		"threads 1 8":       "expected NAME,FROM,TO or NAME,FROM,TO,STEP",
		"threads,1,8,1,1":   "expected NAME,FROM,TO",
		"jobs,1,8":          "no command has {jobs}",
		"instances,1,8":     "a workload of a study has a key of this name",
		"threads,8,1":       "from is greater than to",
		"threads,1,8,0":     "step must be above 0",
		"threads,1,x":       `"x" is not a`,
		"threads,1,9999999": "more than 1000 levels",
	} {
		o := Options{Argv: []string{"true", "{threads}"}, Environments: []string{"native"}, Margin: "2%", Scan: scan}
		if _, err := o.Plan(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", scan, err)
		}
	}
}
