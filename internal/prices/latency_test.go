package prices

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/testing/reporttest"
	"tare/internal/workload"
)

// simulated is the mean time that a request stays, where they come at random and take random
// times of work on so many cores (Kiefer and Wolfowitz's recursion).
func simulated(work, rate float64, cores int) float64 {
	const requests = 400_000
	random := rand.New(rand.NewPCG(1, 2))
	free := make([]float64, cores) // when each core is
	now, total := 0., 0.
	for range requests {
		now += random.ExpFloat64() / rate
		slices.Sort(free)
		free[0] = max(free[0], now) + work*random.ExpFloat64()
		total += free[0] - now
	}
	return total / requests
}

func TestARequestStaysAsLongAsInASimulatedQueue(t *testing.T) {
	for _, cores := range []int{1, 2, 4} {
		for _, use := range []float64{.1, .5, .8} {
			got, want := sojourn(1, use, float64(cores)), simulated(1, use*float64(cores), cores)
			if math.Abs(got/want-1) > .06 {
				t.Errorf("%d cores, %.0f%% in use: %.3f, and %.3f simulated", cores, 100*use, got, want)
			}
		}
	}
}

func TestMoreWorkStaysLongerAndTooMuchForEver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate, cores := rapid.Float64Range(1, 1e5).Draw(t, "rate"), float64(rapid.IntRange(1, 64).Draw(t, "cores"))
		work, more := rapid.Float64Range(1e-7, 1).Draw(t, "work"), rapid.Float64Range(0, 1).Draw(t, "more")
		a, b := sojourn(work, work*rate/cores, cores), sojourn(work+more, (work+more)*rate/cores, cores)
		if b < a || a < work || math.IsInf(b, 1) != ((work+more)*rate/cores >= 1) {
			t.Errorf("%g s of work stay %g s, %g s stay %g s", work, a, work+more, b)
		}
	})
}

// loaded is a profile of 10 µs of CPU time, at a rate at which requests take 100 µs, on one core.
func loaded(t *testing.T, rate string) Profile {
	t.Helper()
	r := profiled(6, map[string]float64{"syscall.getuid": 1000})
	pack, err := workload.Builtin("nginx-open")
	if err != nil {
		t.Fatal(err)
	}
	pack.Operations = "requests"
	w := &r.Plan.Workloads[0]
	w.Pack, w.Levels[0].Parameters = *pack, map[string]string{"rate": rate}
	for i := range r.Plan.Environments {
		r.Plan.Environments[i].Limits.Cores = []int{0}
	}
	for i := range r.Trials {
		m := r.Trials[i].Metrics
		m["latency_mean"], m["latency_p50"], m["latency_p99"], m["latency_max"] = 100, 80, 400, 5000
	}
	p, err := profileOf(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLatenciesAreStretchedByHowMuchLongerARequestStays(t *testing.T) {
	p := loaded(t, "20000")
	one := priced(map[string]float64{"getpid": 20_000}).Predict(p)[0]
	// 10 µs of work at 20% of a core stay 12.5 µs, 30 µs at 60% stay 75 µs: 62.5 more of 100.
	if one.Load == nil || one.Load.Stretch == nil || math.Abs(one.Load.Stretch.Estimate-1.625) > 1e-9 || math.Abs(one.Load.Use.Estimate-.6) > 1e-9 {
		t.Fatalf("%+v", one.Load)
	}
	if l := one.Load.Latencies; len(l) != 3 || l[0].Metric != "latency_mean" || math.Abs(l[2].Value.Estimate-650) > 1e-6 || !l[2].Value.bounded() {
		t.Errorf("%+v", l)
	}
	var text strings.Builder
	TextOf(&text, p, []Prediction{one}, 80)
	reporttest.Golden(t, "load.txt", []byte(text.String()))
}

func TestARequestWaitsForNoTimerButSharesTheCoresWithIt(t *testing.T) {
	p := loaded(t, "20000")
	p.Items = append(p.Items, Item{Name: timers, Count: 1, Kinds: map[string]float64{"timer": 1}})
	one := priced(map[string]float64{"getpid": 10_000, "timer": 10_000}).Predict(p)[0]
	// 10 µs of work at 20% of a core stay 12.5 µs, 20 µs at 60% stay 50 µs: 37.5 more of 100.
	if one.Load == nil || one.Load.Stretch == nil || math.Abs(one.Load.Stretch.Estimate-1.375) > 1e-9 || math.Abs(one.Load.Use.Estimate-.6) > 1e-9 {
		t.Errorf("%+v", one.Load)
	}
}

func TestALatencyIsNeverNegative(t *testing.T) {
	if a := positive([]float64{1.4, 1.5, 1.6, 2, 102}); a == nil || !a.bounded() || *a.Low <= 0 || a.Estimate < 1.4 || a.Estimate > 3 {
		t.Errorf("%+v", a)
	}
}

func TestARateThatTheCoresDoNotHoldHasNoLatency(t *testing.T) {
	p := loaded(t, "40000")
	one := priced(map[string]float64{"getpid": 20_000}).Predict(p)[0]
	if one.Load == nil || one.Load.Stretch != nil || one.Load.Latencies != nil || math.Abs(one.Load.Use.Estimate-1.2) > 1e-9 {
		t.Fatalf("%+v", one.Load)
	}
	var text strings.Builder
	TextOf(&text, p, []Prediction{one}, 80)
	if !strings.Contains(text.String(), "120%, not held") {
		t.Error(text.String())
	}
}
