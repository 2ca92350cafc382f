package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tare/internal/rundir"
	"tare/internal/study"
)

func unpairedPlan() *study.Plan {
	p := planOf(study.Blocks{Min: 10, Max: 10, Fixed: true}, "native", "docker")
	p.Design.Order, p.Workloads[0].Fresh = OrderUnpaired, UnknownFresh
	return p
}

func TestUnpairedResultsGetAnIntervalAndNoVerdict(t *testing.T) {
	for _, c := range []struct {
		name, better, looks string
		ratio               float64
	}{
		{"more time", "lower", "looks slower", 1.1},
		{"more throughput", "higher", "looks faster", 1.1},
		{"the same", "lower", "looks equivalent", 1},
		{"within the noise", "lower", "looks undecided", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := unpairedPlan()
			p.Workloads[0].Pack.Metrics[0].Better = c.better
			noise := .001
			if c.looks == "looks undecided" {
				noise = .05
			}
			native := noisy(10, 7, noise, 3)
			var docker []float64
			for _, v := range append(slices.Clone(native), native[2], native[5]) {
				docker = append(docker, v*c.ratio)
			}
			got := one(t, p, trialsOf("time", map[string][]float64{"native": native, "docker": docker}))
			if got.Verdict != None || !got.Unpaired || got.Reason.String() != c.looks || got.Open || got.N != 10 || got.Values.N != 12 {
				t.Errorf("%+v", got)
			}
			if !got.Bounded() || got.Low > got.Estimate || got.High < got.Estimate || math.Abs(got.Ratio().Estimate-c.ratio) > 2*noise {
				t.Errorf("%g [%g, %g]", got.Estimate, got.Low, got.High)
			}
			if want := []string{Unpaired, FreshUnknown}; !slices.Equal(codes(got), want) {
				t.Errorf("warnings %v, want %v", codes(got), want)
			}
			if text := Wording(got); !strings.Contains(text, c.looks) || !strings.Contains(text, "from 12 and 10 unpaired results: no verdict") {
				t.Errorf("%q", text)
			}
		})
	}
}

func TestFewUnpairedResultsAreCalledFew(t *testing.T) {
	p := unpairedPlan()
	p.Workloads[0].Fresh = "run"
	got := one(t, p, trialsOf("time", map[string][]float64{"native": {1, 1.1, 1.2}, "docker": {2, 2.1, 2.2}}))
	if got.Bounded() || got.Reason.String() != "too few results for an interval" || !slices.Equal(codes(got), []string{Unpaired, OneInstance, FewResults}) {
		t.Errorf("%v %+v", codes(got), got)
	}
	if text := Wording(got); strings.Contains(text, "[") {
		t.Errorf("an interval that is none: %q", text)
	}
}

func TestASideWithoutFiguresIsNamed(t *testing.T) {
	failed := rundir.Trial{Block: 1, Environment: "docker", Workload: "w", Status: rundir.Failed, Reason: "cut off"}
	got := one(t, unpairedPlan(), append(trialsOf("time", map[string][]float64{"native": {1, 2}}), failed))
	if got.N != 0 || !strings.Contains(got.Reason.String(), "no value from docker") {
		t.Errorf("%q", got.Reason)
	}
	got = one(t, unpairedPlan(), trialsOf("time", map[string][]float64{"native": {1, 2}, "docker": {0, 3}}))
	if got.N != 0 || !slices.Contains(codes(got), NotPositive) {
		t.Errorf("%q %v", got.Reason, codes(got))
	}
}

// The interval must not depend on which results share a number.
func TestTheOrderOfUnpairedResultsDoesNotMatter(t *testing.T) {
	native, docker := noisy(10, 7, .05, 3), noisy(10, 8, .05, 4)
	first := one(t, unpairedPlan(), trialsOf("time", map[string][]float64{"native": native, "docker": docker}))
	slices.Reverse(docker)
	second := one(t, unpairedPlan(), trialsOf("time", map[string][]float64{"native": native, "docker": docker}))
	if first.Estimate != second.Estimate || first.Low != second.Low || first.High != second.High {
		t.Errorf("%v and %v", first.Ratio(), second.Ratio())
	}
}
