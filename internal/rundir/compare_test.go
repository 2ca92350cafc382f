package rundir

import (
	"slices"
	"testing"

	"tare/internal/study"
	"tare/internal/workload"
)

// The length of samples, and what runs between them, can move a ratio.
func TestAnotherOrderIsADifferenceOfTwoRuns(t *testing.T) {
	run := func(d study.Design) *Run { return &Run{Plan: &study.Plan{Design: d}} }
	one := study.Design{Order: study.Alternating, Rounds: 16, Waiting: "idle"}
	got := Differences(run(one), run(study.Design{Order: "interleaved"}))
	if want := []string{"order: alternating, 16 rounds of samples in each block, waiting instances idle, then interleaved"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := Differences(run(one), run(one)); got != nil {
		t.Errorf("%q", got)
	}
}

// Pinned samples differ less, and a server that shares its core is slower.
func TestOtherPinsAreADifferenceOfTwoRuns(t *testing.T) {
	run := func(p study.Plan) *Run { return &Run{Plan: &p} }
	w := []study.Workload{{Name: "w", Levels: make([]study.Level, 1), Pack: workload.Pack{
		Driver: &workload.Step{Role: "driver"}, Servers: []workload.Server{{Step: workload.Step{Role: "server"}}},
	}}}
	auto, none, own := run(study.Plan{AutoPin: true, Workloads: w}), run(study.Plan{Workloads: w}), run(study.Plan{Workloads: w, Pin: map[string][]int{"server": {0}, "driver": {1}}})
	got := slices.Concat(Differences(none, auto), Differences(auto, own), Differences(own, own))
	if want := []string{"pin: none, then auto: driver and servers to a half of the cores each", "pin: auto: driver and servers to a half of the cores each, then driver to core 1, server to core 0"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestTwoCommandLinesAreNotOneStudy(t *testing.T) {
	run := func(command string) *Run {
		return &Run{Plan: &study.Plan{Name: "bench", Origin: "tare bench", Study: command, Baseline: "native"}}
	}
	if err := SameStudy(run("gzip x"), run("sleep 1")); err == nil {
		t.Error("gzip is compared with sleep")
	}
	if err := SameStudy(run("gzip x"), run("gzip x")); err != nil {
		t.Error(err)
	}
}
