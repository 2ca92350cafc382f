package verdict

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/usage"
	"tare/internal/usage/cost"
	"tare/internal/workload"
)

func planOf(blocks study.Blocks, environments ...string) *study.Plan {
	p := &study.Plan{Baseline: environments[0], Seed: 1, Design: study.Design{Order: "interleaved", Blocks: blocks,
		Margin: .02, Confidence: .95, Precision: .25, Family: "metric", Drop: "decided"}}
	for _, e := range environments {
		p.Environments = append(p.Environments, study.Environment{Name: e, Kind: "native"})
	}
	p.Workloads = []study.Workload{{Name: "w", Fresh: "trial", Levels: []study.Level{{}},
		Pack: workload.Pack{Name: "w", Metrics: []workload.Metric{{Name: "time", Unit: "s", Better: "lower", Primary: true}}}}}
	return p
}

var usual = study.Blocks{Min: 4, Max: 60}

// trialsOf makes one trial a block and environment from the values.
func trialsOf(metric string, values map[string][]float64) []rundir.Trial {
	var trials []rundir.Trial
	most := 0
	for _, v := range values {
		most = max(most, len(v))
	}
	for b := range most {
		for _, name := range slices.Sorted(func(yield func(string) bool) {
			for n := range values {
				if !yield(n) {
					return
				}
			}
		}) {
			if b < len(values[name]) {
				trials = append(trials, rundir.Trial{Block: b + 1, Environment: name, Workload: "w", Status: rundir.OK,
					Metrics: map[string]float64{metric: values[name][b]}})
			}
		}
	}
	return trials
}

// noisy are n values around middle.
func noisy(n int, middle, sd float64, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	v := make([]float64, n)
	for i := range v {
		v[i] = middle * math.Exp(sd*rng.NormFloat64())
	}
	return v
}

func one(t *testing.T, p *study.Plan, trials []rundir.Trial) Contrast {
	t.Helper()
	all := Contrasts(p, trials, rundir.Manifest{})
	if len(all) != 1 {
		t.Fatalf("%d contrasts", len(all))
	}
	return all[0]
}

func codes(c Contrast) (all []string) {
	for _, w := range c.Warnings {
		all = append(all, w.Code)
	}
	return all
}

func TestVerdictsFollowTheDirectionOfTheMetric(t *testing.T) {
	for _, c := range []struct {
		name, better string
		ratio        float64
		blocks       study.Blocks
		want         Verdict
		wording      string
	}{
		{"more time", "lower", 1.1, usual, Slower, "docker is 10.0% slower than native ["},
		{"less time", "lower", .9, usual, Faster, "docker is 10.0% faster than native ["},
		{"more throughput", "higher", 1.1, usual, Faster, "docker is 10.0% faster than native ["},
		{"less throughput", "higher", .9, usual, Slower, "docker is 10.0% slower than native ["},
		{"three times the time", "lower", 3, usual, Slower, "docker is slower than native: ×3.00 ["},
		{"a fifth of the throughput", "higher", .2, usual, Slower, "docker is slower than native: -80.0% ["},
		{"the same", "lower", 1, usual, Equivalent, "docker is equivalent to native within 2%: "},
		{"fixed number", "lower", 1.1, study.Blocks{Min: 20, Max: 20, Fixed: true}, Slower, "docker is 10.0% slower than native ["},
		{"open-ended", "lower", 1.1, study.Blocks{Min: 8, Open: true}, Slower, "docker is 10.0% slower than native ["},
		{"open-ended and the same", "lower", 1, study.Blocks{Min: 8, Open: true}, Equivalent, "docker is equivalent to native"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planOf(c.blocks, "native", "docker")
			p.Workloads[0].Pack.Metrics[0].Better = c.better
			base := noisy(20, 7, .0002, 3)
			env := noisy(20, 7*c.ratio, .0002, 4)
			got := one(t, p, trialsOf("time", map[string][]float64{"native": base, "docker": env}))
			if got.Verdict != c.want || !strings.HasPrefix(Wording(got), c.wording) {
				t.Errorf("%s: %q", got.Verdict, Wording(got))
			}
			if math.Abs(got.Ratio().Estimate-c.ratio) > .001*c.ratio || got.Low > got.Estimate || got.High < got.Estimate || got.Open {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestWordingSaysEverythingThatMatters(t *testing.T) {
	slower := Contrast{Environment: "vm", Baseline: "native", Better: "lower", Unit: "s", Verdict: Slower, Confidence: .95,
		Estimate: math.Log(1.031), Low: math.Log(1.022), High: math.Log(1.04), IntervalN: 10, Look: 10, N: 10, Margin: .02}
	emulation, memory, equivalent, open, few := slower, slower, slower, slower, slower
	emulation.Label = "tcg"
	memory.Unit = "MiB"
	costs := slower
	costs.Metric, costs.Unit = cost.CPU, "s/kop"
	costs.Environment = "docker"
	equivalent.Verdict, equivalent.InsideMargin = Equivalent, true
	equivalent.Estimate, equivalent.Low, equivalent.High = math.Log(1.01), math.Log(1.005), math.Log(1.015)
	open.Verdict, open.Projection, open.Low, open.Look = Inconclusive, 85, math.Log(.98), 12
	few.Verdict, few.N, few.Middle, few.Least, few.Most, few.Reason = None, 3, math.Log(1.03), math.Log(.99), math.Log(1.08), Reason{Code: FewBlocks, Number: 3}
	unbounded := open
	unbounded.Low, unbounded.High = math.Inf(-1), math.Inf(1)
	more := unbounded
	more.Open = true
	for want, c := range map[string]Contrast{
		"vm is 3.1% slower than native [2.2%, 4.0%] (95%), decided after 10 blocks":                                                       slower,
		"under software emulation (tcg) vm is 3.1% slower than native [2.2%, 4.0%] (95%), decided after 10 blocks":                        emulation,
		"vm takes 3.1% more than native [2.2%, 4.0%] (95%), decided after 10 blocks":                                                      memory,
		"docker takes 3.1% more than native [2.2%, 4.0%] (95%), decided after 10 blocks":                                                  costs,
		"vm is equivalent to native within 2%: +1.0% [+0.5%, +1.5%] (95%), decided after 10 blocks; a real difference, inside the margin": equivalent,
		"vm against native is inconclusive after 12 blocks: +3.1% [-2.0%, +4.0%] (95%); it would take about 85 blocks":                    open,
		"vm against native is inconclusive after 12 blocks: +3.1%, too few blocks yet for an interval at this level":                      more,
		"vm against native is inconclusive after 12 blocks: +3.1%, too few blocks for an interval at this level":                          unbounded,
		"vm against native has no verdict: 3 blocks: below 4 there is no interval; median +3.0%, range -1.0% to +8.0%":                    few,
	} {
		if got := Wording(c); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
}

func TestFewerThanFourBlocksHaveNoVerdict(t *testing.T) {
	for _, blocks := range []study.Blocks{usual, {Min: 3, Max: 3, Fixed: true}, {Min: 3, Open: true}} {
		c := one(t, planOf(blocks, "native", "docker"), trialsOf("time", map[string][]float64{"native": noisy(3, 1, .001, 1), "docker": noisy(3, 2, .001, 2)}))
		if c.Verdict != None || c.Bounded() || !slices.Contains(codes(c), FewBlocks) || math.Abs(c.Middle-math.Ln2) > .01 {
			t.Errorf("%+v: %+v", blocks, c)
		}
	}
}

func TestAFixedNumberGivesItsVerdictOnlyAtTheEnd(t *testing.T) {
	p := planOf(study.Blocks{Min: 12, Max: 12, Fixed: true}, "native", "docker")
	native, docker := noisy(12, 1, .001, 1), noisy(12, 2, .001, 2)
	c := one(t, p, trialsOf("time", map[string][]float64{"native": native[:11], "docker": docker[:11]}))
	if c.Verdict != Inconclusive || !c.Open {
		t.Errorf("after 11 of 12: %s, open %v", c.Verdict, c.Open)
	}
	c = one(t, p, trialsOf("time", map[string][]float64{"native": native, "docker": docker}))
	if c.Verdict != Slower || c.Open || c.Look != 12 || c.Alpha < .0499 || c.Alpha > .0501 {
		t.Errorf("after 12 of 12: %+v", c)
	}
}

func TestValuesOfOneBlockCollapseToTheirGeometricMean(t *testing.T) {
	p := planOf(usual, "native", "docker")
	trials := trialsOf("time", map[string][]float64{"native": {4}, "docker": {2}})
	trials = append(trials, trialsOf("time", map[string][]float64{"docker": {8}})...)
	c := one(t, p, trials)
	if c.N != 1 || math.Abs(c.Values.Median-4) > 1e-12 || math.Abs(c.Estimate) > 1e-12 {
		t.Errorf("%+v", c)
	}
}

func TestZeroHasNoRatio(t *testing.T) {
	p := planOf(usual, "native", "docker")
	values := noisy(12, 1, .001, 1)
	values[2] = 0
	c := one(t, p, trialsOf("time", map[string][]float64{"native": noisy(12, 1, .001, 2), "docker": values}))
	if c.Verdict != None || c.Open || c.Block != 3 || slices.Equal(codes(c), []string{Zero}) || c.Bounded() {
		t.Errorf("%+v", c)
	}
	if !c.NoRatio() || c.N != 0 || !math.IsNaN(c.Estimate) || !math.IsNaN(c.Middle) {
		t.Errorf("the ratios of the other blocks are shown: %+v", c)
	}
	if !strings.Contains(Wording(c), "time is 0 in docker in block 3") {
		t.Error(Wording(c))
	}
}

func TestFailedTrialsLeaveABlockWithoutAPair(t *testing.T) {
	p := planOf(usual, "native", "docker")
	trials := trialsOf("time", map[string][]float64{"native": noisy(12, 1, .001, 1), "docker": noisy(12, 1.5, .001, 2)})
	for i := range trials {
		if trials[i].Block == 4 && trials[i].Environment == "docker" {
			trials[i].Status, trials[i].Metrics, trials[i].Reason = rundir.Failed, nil, "no answer"
		}
	}
	c := one(t, p, trials)
	if c.N != 11 || c.Look != 6 || c.Block != 7 || c.Verdict != Slower || !slices.Contains(codes(c), MissingBlocks) {
		t.Errorf("%+v", c)
	}
}

func TestThreeFailuresFromTheStartOrOneSkipGiveUp(t *testing.T) {
	for status, block := range map[rundir.Status]int{rundir.Failed: 3, rundir.Skipped: 1} {
		var trials []rundir.Trial
		for b := 1; b <= block; b++ {
			trials = append(trials, trialsOf("time", map[string][]float64{"native": {1}})...)
			trials[len(trials)-1].Block = b
			trials = append(trials, rundir.Trial{Block: b, Environment: "docker", Workload: "w", Status: status, Reason: "no such device"})
			c := Contrasts(planOf(usual, "native", "docker"), trials, underWay)[0]
			if c.Open != (b < block) {
				t.Errorf("%s in %d blocks: open is %v", status, b, c.Open)
			}
			if !c.Open && (c.Block != block || c.Reason.String() != "no value from docker: no such device") {
				t.Errorf("%+v", c)
			}
		}
	}
}

func TestFamiliesShareTheErrorRate(t *testing.T) {
	p := planOf(usual, "native", "docker", "gvisor", "vm", "broken")
	p.Workloads[0].Levels = []study.Level{{Name: "a"}, {Name: "b"}}
	p.Workloads[0].Pack.Metrics = append(p.Workloads[0].Pack.Metrics, workload.Metric{Name: "other", Better: "lower"})
	facts := map[string]rundir.EnvironmentFacts{"broken": {State: environment.Missing}, "vm": {State: environment.Usable, Label: "tcg"}}
	for family, want := range map[string][2]int{"metric": {3, 3}, "study": {6, 3}} {
		p.Design.Family = family
		all := Contrasts(p, nil, rundir.Manifest{Environments: facts})
		if len(all) != 2*2*3 {
			t.Fatalf("%d contrasts", len(all))
		}
		for _, c := range all {
			if m := want[map[bool]int{true: 0, false: 1}[c.Primary]]; c.Family != m {
				t.Errorf("family %s, primary %v: m = %d, want %d", family, c.Primary, c.Family, m)
			}
			if (c.Label == "tcg") != (c.Environment == "vm") || (c.Label == "tcg") != slices.Contains(codes(c), Emulation) {
				t.Errorf("%s has the label %q and the warnings %v", c.Environment, c.Label, codes(c))
			}
		}
	}
}

func TestDesignsThatClaimLessCarryWarnings(t *testing.T) {
	for code, change := range map[string]func(*study.Plan){
		Sequential:  func(p *study.Plan) { p.Design.Order = "sequential" },
		OneInstance: func(p *study.Plan) { p.Workloads[0].Fresh = "run" },
		Earlier:     func(p *study.Plan) { p.Design.Precision = 0 },
	} {
		p := planOf(usual, "native", "docker", "gvisor")
		change(p)
		all := Contrasts(p, trialsOf("time", map[string][]float64{"native": noisy(61, 1, .001, 1), "docker": noisy(61, 1, .001, 2)}), rundir.Manifest{})
		if got := codes(all[0]); !slices.Contains(got, code) {
			t.Errorf("want the warning %s, got %v", code, got)
		}
	}
}

func TestASmallRealDifferenceIsInsideTheMargin(t *testing.T) {
	c := one(t, planOf(usual, "native", "docker"), trialsOf("time", map[string][]float64{"native": noisy(8, 1, .0005, 1), "docker": noisy(8, 1.01, .0005, 2)}))
	if c.Verdict != Equivalent || !c.InsideMargin {
		t.Errorf("%+v", c)
	}
}

// underWay is the manifest of a run that goes on.
var underWay = rundir.Manifest{Sessions: []rundir.Session{{}}}

func TestAVerdictStaysOpenUntilItIsPrecise(t *testing.T) {
	p := planOf(usual, "native", "docker")
	native, docker := noisy(60, 1, .03, 1), noisy(60, 1.1, .03, 2)
	after := func(n int) Contrast {
		return Contrasts(p, trialsOf("time", map[string][]float64{"native": native[:n], "docker": docker[:n]}), underWay)[0]
	}
	wide, narrow, later := after(14), after(45), after(60)
	if wide.Verdict != Slower || !wide.Open {
		t.Errorf("after 14: %+v", wide)
	}
	if narrow.Verdict != Slower || narrow.Open || !narrow.Precise || narrow.Alpha >= wide.Alpha {
		t.Errorf("after 45: %+v", narrow)
	}
	if later.Look != narrow.Look || later.High != narrow.High || later.Block != narrow.Block {
		t.Errorf("it has left, and is another after 60: %+v, %+v", narrow, later)
	}
}

func TestTheLastAnalysisUsesAllBlocksOnceTheRunIsOver(t *testing.T) {
	p := planOf(usual, "native", "docker")
	p.Design.Budget = 40 * time.Second
	trials := trialsOf("time", map[string][]float64{"native": noisy(11, 1, .02, 1), "docker": noisy(11, 1.04, .02, 2)})
	began := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for i := range trials {
		trials[i].Started = began.Add(time.Duration(2*trials[i].Block) * time.Second)
		trials[i].Ended = trials[i].Started.Add(2 * time.Second)
	}
	open := Contrasts(p, trials, underWay)[0]
	if !open.Open || !slices.Equal(open.Looks, []int{10}) || open.IntervalN != 11 {
		t.Errorf("under way: %+v", open)
	}
	end := trials[len(trials)-1].Ended
	over := rundir.Manifest{Sessions: []rundir.Session{{Ended: end, Over: true}}}
	closed := Contrasts(p, trials, over)[0]
	if closed.Open || !slices.Equal(closed.Looks, []int{10, 11}) || closed.Verdict != Slower || math.Abs(closed.Alpha-.05*.9) > 1e-12 {
		t.Errorf("over: %+v", closed)
	}
	interrupted := Contrasts(p, trials, rundir.Manifest{Sessions: []rundir.Session{{Ended: end, Stopped: rundir.Interrupted}}})[0]
	if !interrupted.Open || interrupted.Verdict != open.Verdict {
		t.Errorf("interrupted: %+v", interrupted)
	}
	more := slices.Clone(trials)
	for _, x := range trials[:2] {
		x.Block, x.Started, x.Ended = 12, end.Add(time.Second), end.Add(2*time.Second)
		more = append(more, x)
	}
	if c := Contrasts(p, more, over)[0]; c.N != 11 || c.Estimate != closed.Estimate || !slices.Contains(codes(c), UnusedBlocks) {
		t.Errorf("extended: %+v", c)
	}
}

func TestAnIntervalThatExcludesZeroWithoutAVerdictLeans(t *testing.T) {
	p := planOf(usual, "native", "docker", "gvisor", "vm", "wasm", "kata")
	values := map[string][]float64{}
	for i, e := range []string{"native", "docker", "gvisor", "vm", "wasm", "kata"} {
		values[e] = noisy(12, 1, .001, uint64(i))
	}
	for i := range values["docker"] {
		values["docker"][i] = values["native"][i] * (1.05 + .055*float64(i%3-1))
	}
	c := Contrasts(p, trialsOf("time", values), rundir.Manifest{})[0]
	if c.Verdict != Inconclusive || c.Leaning != Slower || c.Low <= 0 || c.Simultaneous.High == 0 || c.Simultaneous.Low > 0 {
		t.Errorf("%+v, simultaneous %+v", c, c.Simultaneous)
	}
	if !strings.Contains(Wording(c), "inconclusive after 12 blocks, leaning slower") {
		t.Error(Wording(c))
	}
}

func TestAContrastSurvivesJSON(t *testing.T) {
	p := planOf(usual, "native", "docker")
	for _, n := range []int{0, 4, 7, 8, 30} {
		c := one(t, p, trialsOf("time", map[string][]float64{"native": noisy(n, 1, .02, 1), "docker": noisy(n, 1.1, .02, 2)}))
		data, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if absent := `"values":{"n":0,"median":null,"least":null,"most":null}`; strings.Contains(string(data), absent) != (n == 0) || strings.Contains(string(data), `"outlier_share":null`) != (n == 0) {
			t.Errorf("n=%d: what no block has is not null: %s", n, data)
		}
		var back Contrast
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		words := cmp.Transformer("words", Reason.String) // which is what JSON has of a reason
		if diff := cmp.Diff(c, back, words, cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("n=%d: %s\n%s", n, diff, data)
		}
		for _, key := range []string{`"n":`, `"estimate":`, `"low":`, `"high":`, `"ratios":{"estimate"`, `"verdict":`} {
			if !strings.Contains(string(data), key) {
				t.Errorf("%s is not in %s", key, data)
			}
		}
	}
}

// A book that was asked on the way must say what one says that is asked once.
func TestABookUpdatedByTrialGivesTheSameContrasts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := rapid.SampledFrom([]study.Blocks{usual, {Min: 8, Open: true}, {Min: 12, Max: 12, Fixed: true}}).Draw(t, "blocks")
		p := planOf(blocks, "native", "docker", "gvisor")
		n := rapid.IntRange(0, 25).Draw(t, "n")
		seed := rapid.Uint64().Draw(t, "seed")
		sd := rapid.SampledFrom([]float64{.001, .02, .1}).Draw(t, "sd")
		trials := trialsOf("time", map[string][]float64{"native": noisy(n, 1, sd, seed), "docker": noisy(n, 1.03, sd, seed+1), "gvisor": noisy(n, 1, sd, seed+2)})
		for i := range trials {
			if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
				trials[i].Status, trials[i].Metrics = rundir.Failed, nil
			}
		}
		b := NewBook(p, []string{"native", "docker", "gvisor"})
		for _, trial := range trials {
			b.Add(trial)
			b.Contrasts()
		}
		if diff := cmp.Diff(Contrasts(p, trials, underWay), b.Contrasts(), cmpopts.EquateNaNs()); diff != "" {
			t.Fatal(diff)
		}
		b.End()
		if diff := cmp.Diff(Contrasts(p, trials, rundir.Manifest{}), b.Contrasts(), cmpopts.EquateNaNs()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestSwappingTheSidesTurnsTheVerdictRound(t *testing.T) {
	turned := map[Verdict]Verdict{Slower: Faster, Faster: Slower, Equivalent: Equivalent, Inconclusive: Inconclusive, None: None}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		a, b := noisy(n, 1, .05, rapid.Uint64().Draw(t, "a")), noisy(n, rapid.Float64Range(.9, 1.1).Draw(t, "effect"), .05, rapid.Uint64().Draw(t, "b"))
		one := Contrasts(planOf(usual, "x", "y"), trialsOf("time", map[string][]float64{"x": a, "y": b}), rundir.Manifest{})[0]
		other := Contrasts(planOf(usual, "x", "y"), trialsOf("time", map[string][]float64{"x": b, "y": a}), rundir.Manifest{})[0]
		if turned[one.Verdict] != other.Verdict || math.Abs(one.Estimate+other.Estimate) > 1e-12 {
			t.Fatalf("%+v\n%+v", one, other)
		}
	})
}

func BenchmarkTenThousandTrials(b *testing.B) {
	p := planOf(usual, "native", "docker", "gvisor", "podman", "vm")
	p.Workloads = nil
	var trials []rundir.Trial
	rng := rand.New(rand.NewPCG(5, 5))
	for w := range 34 {
		name := "w" + string(rune('a'+w))
		p.Workloads = append(p.Workloads, study.Workload{Name: name, Levels: []study.Level{{}}, Pack: workload.Pack{Operations: "ops", Metrics: []workload.Metric{
			{Name: "ops", Unit: "1/s", Better: "higher", Primary: true}, {Name: "p99", Unit: "ms", Better: "lower"}}}})
		for block := 1; block <= 60; block++ {
			for _, e := range p.Environments {
				trials = append(trials, rundir.Trial{Block: block, Environment: e.Name, Workload: name, Status: rundir.OK,
					Metrics: map[string]float64{"ops": math.Exp(rng.NormFloat64() / 10), "p99": math.Exp(rng.NormFloat64() / 10)},
					Usage:   &usage.Usage{CPUUser: usage.Known(1), CPUSystem: usage.Known(1)}})
			}
		}
	}
	b.ReportMetric(float64(len(trials)), "trials")
	b.ReportAllocs()
	for b.Loop() {
		Contrasts(p, trials, rundir.Manifest{})
	}
}

func TestAMissingFigureKeepsItsReason(t *testing.T) {
	for want, trial := range map[string]rundir.Trial{
		"no such controller":    {Status: rundir.OK, Missing: map[string]string{"time": "no such controller"}},
		"the trial has no time": {Status: rundir.OK},
		"it broke":              {Status: rundir.Failed, Reason: "it broke"},
		"the trial failed":      {Status: rundir.Failed},
	} {
		if _, ok, why := valueOf(trial, "time"); ok || why.cause() != want {
			t.Errorf("got %q, want %q", why, want)
		}
	}
}
