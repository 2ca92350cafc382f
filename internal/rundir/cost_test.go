package rundir

import (
	"math"
	"testing"

	"tare/internal/usage"
	"tare/internal/usage/cost"
	"tare/internal/workload"
)

// The recorded run knows the processor time of an operation, and no other cost.
func TestAnEarlierRunHasItsCostsFromWhatItRecorded(t *testing.T) {
	run, err := Open(recordedRun)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, trial := range run.Trials {
		if trial.Workload != "redis" {
			continue
		}
		found++
		n := trial.Metrics["requests"]
		for name, whole := range map[string]float64{
			"cpu_per_kop": trial.Usage.CPU().Value, "written_per_kop": trial.Usage.DiskWritten.Value,
		} {
			if want := whole / n * 1000; math.Abs(trial.Metrics[name]-want) > 1e-9*want {
				t.Errorf("%s in %s: %v, want %v", name, trial.Environment, trial.Metrics[name], want)
			}
		}
		if why := trial.Missing["memory_per_kop"]; why == "" {
			t.Error("memory over time was not recorded, and nothing says so")
		}
		for name := range trial.Metrics {
			if cost.Earlier(name) {
				t.Errorf("%s is still there", name)
			}
		}
	}
	if found == 0 {
		t.Fatal("the recorded run has no trial of redis")
	}
	for _, m := range run.Plan.Workload("redis").Pack.Metrics {
		if cost.Earlier(m.Name) {
			t.Errorf("the plan has %s", m.Name)
		}
	}
}

// Whoever has the trial can charge it again, and a failed one costs nothing.
func TestChargingTwiceIsChargingOnce(t *testing.T) {
	run, err := Open(recordedRun)
	if err != nil {
		t.Fatal(err)
	}
	pack := run.Plan.Workload("redis").Pack
	for _, trial := range run.Trials {
		before := len(trial.Metrics) + len(trial.Missing)
		cpu := trial.Metrics[cost.CPU]
		if trial.Workload == "redis" {
			trial.Charge(pack, nil)
		}
		if len(trial.Metrics)+len(trial.Missing) != before || trial.Metrics[cost.CPU] != cpu {
			t.Errorf("%v %v", trial.Metrics, trial.Missing)
		}
	}
	failed := Trial{Status: Failed}
	if failed.Charge(pack, nil); failed.Metrics != nil || failed.Missing != nil {
		t.Errorf("%+v", failed)
	}
}

func TestTheMeanMemoryIsThatOfTheWholeEnvironment(t *testing.T) {
	pack := workload.Pack{Metrics: []workload.Metric{{Name: "memory", Unit: "B", Field: workload.MemoryMean}}}
	used := usage.Unknown("not read")
	used.MemoryMean = usage.Known(5)
	trial := Trial{Status: OK, Metrics: map[string]float64{}, Usage: &used}
	if trial.Charge(pack, nil); trial.Metrics["memory"] != 5 {
		t.Errorf("%+v", trial.Metrics)
	}
	trial.Usage = nil
	if trial.Charge(pack, nil); trial.Missing["memory"] != "the resource use of the environment is unknown" || len(trial.Metrics) > 0 {
		t.Errorf("%+v %+v", trial.Metrics, trial.Missing)
	}
}
