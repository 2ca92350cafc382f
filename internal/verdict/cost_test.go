package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tare/internal/rundir"

	"tare/internal/usage"
	"tare/internal/usage/cost"
	"tare/internal/workload"
)

// costly are the contrasts of a workload that counts operations, where one side
// needs so much for its 100 and the other for its 50.
func costly(native, docker func(block int) usage.Usage) []Contrast {
	p := planOf(usual, "native", "docker")
	pack := &p.Workloads[0].Pack
	pack.Operations = "time"
	for _, c := range cost.Asked(false, false, nil) {
		pack.Metrics = append(pack.Metrics, workload.Metric{Name: c.Name, Unit: c.Unit, Better: "lower"})
	}
	trials := trialsOf("time", map[string][]float64{"native": noisy(8, 100, 0, 1), "docker": noisy(8, 50, 0, 1)})
	for i := range trials {
		used := native(trials[i].Block)
		if trials[i].Environment == "docker" {
			used = docker(trials[i].Block)
		}
		trials[i].Usage = &used
		trials[i].Charge(*pack, nil)
	}
	return Contrasts(p, trials, rundir.Manifest{})
}

func contrastOf(t *testing.T, all []Contrast, metric string) Contrast {
	t.Helper()
	i := slices.IndexFunc(all, func(c Contrast) bool { return c.Metric == metric })
	if i < 0 {
		t.Fatalf("no contrast of %s", metric)
	}
	return all[i]
}

func TestCostsHaveContrastsLikeAnyMetric(t *testing.T) {
	same := func(int) usage.Usage {
		u := usage.Unknown("not given")
		u.CPUUser, u.CPUSystem, u.MemorySeconds = usage.Known(1), usage.Known(1), usage.Known(4096)
		return u
	}
	all := costly(same, same)
	if time := contrastOf(t, all, "time"); time.Companion != cost.CPU {
		t.Errorf("%+v", time)
	}
	// Half the work with as much of everything costs twice as much.
	for metric, base := range map[string]float64{cost.CPU: 20, "memory_per_kop": 40960} {
		c := contrastOf(t, all, metric)
		if math.Abs(c.Base.Median-base) > 1e-9 || math.Abs(c.Ratio().Estimate-2) > 1e-12 || c.Verdict != Slower || c.Primary || c.Companion != "" {
			t.Errorf("%+v", c)
		}
	}
	if c := contrastOf(t, all, "switches_per_kop"); c.Verdict != None || !strings.Contains(c.Reason.String(), "not given") {
		t.Errorf("%+v", c)
	}
}

func TestAZeroCostHasNoRatioAndIsNoError(t *testing.T) {
	written := func(by func(block int) float64) func(int) usage.Usage {
		return func(block int) usage.Usage {
			u := usage.Unknown("not given")
			u.DiskWritten = usage.Known(by(block))
			return u
		}
	}
	none, some := func(int) float64 { return 0 }, func(int) float64 { return 4096 }
	once := func(block int) float64 { return float64(block/3%2) * 4096 }
	for _, test := range []struct {
		native, docker func(int) float64
		reason         string
	}{
		{none, none, "0 on both sides: there is no ratio"},
		{some, none, "0 in docker in block 1: there is no ratio"},
		{none, some, "0 in native in block 1: there is no ratio"},
		{once, some, "0 in native in block 1: there is no ratio"},
	} {
		c := contrastOf(t, costly(written(test.native), written(test.docker)), "written_per_kop")
		if c.Verdict != None || c.Reason.String() != test.reason || c.Open || slices.Contains(codes(c), NotPositive) {
			t.Errorf("%q, want %q; warnings %v", c.Reason, test.reason, codes(c))
		}
	}
}
