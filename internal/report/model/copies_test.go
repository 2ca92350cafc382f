package model_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"tare/internal/environment"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
)

func TestConcurrentCopiesAreTheMediansOverTrialsOfTheirDistributions(t *testing.T) {
	in := reporttest.Quick()
	w := in.Plan.Workload("nginx")
	w.Levels[0].Instances = 3
	for i := range in.Trials {
		trial := &in.Trials[i]
		if trial.Workload != w.Name || trial.Environment != "native" || trial.Status != rundir.OK {
			continue
		}
		trial.Metrics = map[string]float64{"requests": 300}
		for _, x := range []float64{90, 100, 110} {
			trial.Copies = append(trial.Copies, rundir.Copy{Metrics: map[string]float64{"requests": x}})
		}
	}
	rows := model.New(in).CopiesRows()
	if len(rows) != 1 || rows[0].Environment.Name != "native" || rows[0].Metric != "requests" {
		t.Fatalf("rows of environments without copies, or none: %+v", rows)
	}
	r := rows[0]
	if r.Copies != 3 || r.Together != 300 || r.Each != 100 || r.Mean != 100 || r.Least != 90 || r.Most != 110 || math.Abs(r.Spread-.1) > 1e-9 {
		t.Errorf("%+v", r)
	}
}

func TestThePhasesOfAStartAreMeansInTheOrderInWhichTheyFollow(t *testing.T) {
	in := reporttest.Quick()
	phase := func(name string, seconds time.Duration) environment.Phase {
		return environment.Phase{Name: name, Duration: seconds * time.Second}
	}
	for i := range in.Trials {
		in.Trials[i].Phases = nil
	}
	starts := [][]environment.Phase{
		{phase("agent", 1), phase("engine", 2), phase(environment.PreparePhase, 50)},
		{phase("agent", 3), phase("kernel", 4)},
	}
	n := 0
	for i := range in.Trials {
		if in.Trials[i].Environment == "docker" && n < len(starts) {
			in.Trials[i].Phases = starts[n]
			n++
		}
	}
	rows := model.New(in).Phases
	if len(rows) != 1 || rows[0].Starts != 2 || rows[0].Total != 5 {
		t.Fatalf("%+v", rows)
	}
	want := []model.Phase{{Name: "engine", Seconds: 1, Known: true}, {Name: "kernel", Seconds: 2, Known: true}, {Name: "agent", Seconds: 2, Known: true}}
	for i, p := range rows[0].Parts {
		if p != want[i] {
			t.Errorf("%+v, not %+v", p, want[i])
		}
	}
}

func TestWhatIsKnownOfImportedResultsNamesTheConditionsThatTheyDoNotMeet(t *testing.T) {
	in := reporttest.Quick()
	if facts := model.New(in).Imported(); facts != nil {
		t.Errorf("a run of tare's own: %+v", facts)
	}
	in.Manifest.Import = &rundir.Import{Order: rundir.ImportSequential, Known: "the names of the files"}
	text := ""
	for _, f := range model.New(in).Imported() {
		text += f.Name + ": " + f.Text + "\n"
	}
	for _, want := range []string{
		"imported: 528 results from 0 files", "order: one environment after another, by the names of the files; within a file",
		"not met: interleaved in random order", "not met: one image, equal limits",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
