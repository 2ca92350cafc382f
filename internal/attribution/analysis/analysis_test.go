package analysis

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// climbPlan is a plan over a ladder with these parts.
func climbPlan(better string, parts ...string) *study.Plan {
	p := &study.Plan{Baseline: "from", Environments: []study.Environment{{Name: "from"}},
		Workloads: []study.Workload{{Name: "w", Levels: []study.Level{{}},
			Pack: workload.Pack{Metrics: []workload.Metric{{Name: "requests_per_second", Unit: "op/s", Better: better, Primary: true}}}}},
		Design: study.Design{Order: "interleaved", Blocks: study.Blocks{Min: 8, Max: 60}, Margin: .02, Confidence: .95, Precision: .25, Family: "metric", Drop: "decided"}}
	base := "from"
	for i, part := range parts {
		name := fmt.Sprintf("r%d", i+1)
		p.Environments = append(p.Environments, study.Environment{Name: name})
		p.Steps = append(p.Steps, study.Step{Part: part, Name: part + " part", About: "what " + part + " does", Environment: name, Base: base})
		base = name
	}
	p.Steps = append(p.Steps, study.Step{Name: "all parts", Environment: base, Base: "from"})
	return p
}

// measured makes the trials of a plan whose environments have these effects, on
// a machine that drifts.
func measured(p *study.Plan, blocks int, seed uint64, noise float64, effect map[string]float64) (trials []rundir.Trial) {
	rng, drift := rand.New(rand.NewPCG(seed, 1)), 0.0
	for b := 1; b <= blocks; b++ {
		drift += .1 * rng.NormFloat64()
		for _, e := range p.Environments {
			trials = append(trials, rundir.Trial{Block: b, Environment: e.Name, Workload: "w", Status: rundir.OK,
				Metrics: map[string]float64{"requests_per_second": 40000 * math.Exp(drift+effect[e.Name]+noise*rng.NormFloat64())}})
		}
	}
	return trials
}

func analysed(t interface {
	Helper()
	Fatalf(string, ...any)
}, p *study.Plan, trials []rundir.Trial) Attribution {
	t.Helper()
	all := Of(p, trials, verdict.Contrasts(p, trials, rundir.Manifest{}), Seen{})
	if len(all) != 1 {
		t.Fatalf("%d attributions", len(all))
	}
	return all[0]
}

func TestEachPartHasItsCostAndMaterialOnesASentence(t *testing.T) {
	p := climbPlan("higher", "seccomp", "overlay", "log", RestPart)
	a := analysed(t, p, measured(p, 20, 1, .004, map[string]float64{"r1": -.001, "r2": -.05, "r3": -.25, "r4": -.28}))
	want := map[string]struct {
		cost     float64
		material bool
	}{"seccomp": {-.001, false}, "overlay": {-.049, true}, "log": {-.2, true}, RestPart: {-.03, true}}
	for _, s := range a.Parts {
		w := want[s.Part]
		if c := s.Contrast; c.Low > w.cost || c.High < w.cost || s.Material != w.material {
			t.Errorf("%s: %.4f [%.4f, %.4f], material %v; want %.3f, %v", s.Part, c.Estimate, c.Low, c.High, s.Material, w.cost, w.material)
		}
		if s.Of == nil || math.Abs(*s.Of-w.cost/-.28) > .05 {
			t.Errorf("%s has the share %v", s.Part, s.Of)
		}
	}
	if len(a.Sentences) != 3 || !strings.HasPrefix(a.Sentences[1], "The log part costs 18") || !strings.Contains(a.Sentences[1], "of requests per second, 7") || !strings.HasSuffix(a.Sentences[1], ": what log does.") {
		t.Errorf("%q", a.Sentences)
	}
	u := a.Unexplained
	if u.Exact || u.N != 20 || !u.Bounded() || u.Low > -.03 || u.High < -.03 {
		t.Errorf("unexplained: %+v", u)
	}
	if a.From != "from" || a.To != "r4" || a.Total.Contrast.Verdict != verdict.Slower {
		t.Errorf("%s to %s: %s", a.From, a.To, a.Total.Contrast.Verdict)
	}
	if _, err := json.Marshal(a); err != nil {
		t.Error(err)
	}
}

func TestAPartThatIsNotDecidedHasNoShareOfTheWhole(t *testing.T) {
	p := climbPlan("higher", "seccomp", "log")
	trials := measured(p, 20, 1, .004, map[string]float64{"r1": -.01, "r2": -.3})
	for i := range trials {
		if trials[i].Environment == "r1" {
			trials[i].Metrics["requests_per_second"] *= 1 + .3*float64(trials[i].Block%3-1)
		}
	}
	a := analysed(t, p, trials)
	first, second := a.Parts[0], a.Parts[1]
	if first.Contrast.Verdict != verdict.Inconclusive || first.Of != nil {
		t.Errorf("%s, with the share %v", first.Contrast.Verdict, first.Of)
	}
	if second.Contrast.Verdict != verdict.Slower || second.Of == nil {
		t.Errorf("%s, without a share of the decided whole", second.Contrast.Verdict)
	}
}

func TestSentencesSayWhetherAPartAddsOrSaves(t *testing.T) {
	for _, c := range []struct {
		better string
		effect float64
		want   string
	}{
		{"higher", -.1, "The x part costs 9.5% [9.5, 9.5] of requests per second, 100% of the whole"},
		{"higher", .1, "The x part gives 10.5% [10.5, 10.5] more requests per second"},
		{"lower", .1, "The x part adds 10.5% [10.5, 10.5] to requests per second"},
		{"lower", -.1, "The x part takes 9.5% [9.5, 9.5] off requests per second"},
		{"lower", math.Log(3), "The x part takes requests per second to ×3.00 [×3.00, ×3.00], 100% of the whole"},
		{"lower", math.Log(12), "The x part takes requests per second to ×12.0 [×12.0, ×12.0], 100% of the whole"},
	} {
		p := climbPlan(c.better, "x")
		a := analysed(t, p, measured(p, 12, 1, 0, map[string]float64{"r1": c.effect}))
		if len(a.Sentences) != 1 || !strings.HasPrefix(a.Sentences[0], c.want) {
			t.Errorf("%s, %+.1f: %q", c.better, c.effect, a.Sentences)
		}
	}
}

func TestSentencesBeginWithWhatTheStepIsCalled(t *testing.T) {
	for _, c := range []struct {
		step   study.Step
		better string
		effect float64
		want   string
	}{
		{study.Step{Name: "masked paths", Many: true, About: "hidden"}, "higher", -.1, "The masked paths cost 9.5% [9.5, 9.5] of requests per second, 100% of the whole: hidden."},
		{study.Step{Name: "a and b", Subject: "A and b, switched together,", Many: true, About: "x.a, x.b", Switched: "x.a, x.b"}, "lower", -.1, "A and b, switched together, take 9.5% [9.5, 9.5] off requests per second, 100% of the whole: x.a, x.b; no cause was measured."},
		{study.Step{Name: "a and b", Subject: "A and b, switched together,", Many: true}, "lower", math.Log(12), "A and b, switched together, take requests per second to ×12.0 [×12.0, ×12.0], 100% of the whole."},
		{study.Step{Name: "bridge", About: "packets pass a bridge (network: host → bridge)", Switched: "network: host → bridge"}, "lower", .1, "The bridge adds 10.5% [10.5, 10.5] to requests per second, 100% of the whole: packets pass a bridge (network: host → bridge)."},
		{study.Step{Name: "bridge", About: "packets pass a bridge (network: host → bridge)", Switched: "network: host → bridge"}, "lower", -.1, "The bridge takes 9.5% [9.5, 9.5] off requests per second, 100% of the whole: network: host → bridge; no cause was measured."},
		{study.Step{Name: "bridge", About: "packets pass a bridge", Switched: "network: host → bridge"}, "higher", .1, "The bridge gives 10.5% [10.5, 10.5] more requests per second, 100% of the whole: network: host → bridge; no cause was measured."},
		{study.Step{Name: "bridge", About: "packets pass a bridge"}, "higher", .1, "The bridge gives 10.5% [10.5, 10.5] more requests per second, 100% of the whole: no cause was measured."},
		{study.Step{Name: "clients of nginx", Subject: "Setting clients of nginx from 10 to 50", About: "with.nginx.clients: 10 → 50"}, "lower", .1, "Setting clients of nginx from 10 to 50 adds 10.5% [10.5, 10.5] to requests per second, 100% of the whole."},
	} {
		p := climbPlan(c.better, "x")
		c.step.Part, c.step.Environment, c.step.Base = "x", p.Steps[0].Environment, p.Steps[0].Base
		p.Steps[0] = c.step
		a := analysed(t, p, measured(p, 12, 1, 0, map[string]float64{"r1": c.effect}))
		if len(a.Sentences) != 1 || a.Sentences[0] != c.want {
			t.Errorf("%q, want %q", a.Sentences, c.want)
		}
	}
}

func TestWithoutARestTheNamedPartsAreTheTotal(t *testing.T) {
	p := climbPlan("higher", "a", "b")
	a := analysed(t, p, measured(p, 10, 3, .02, map[string]float64{"r1": -.1, "r2": -.2}))
	if !a.Unexplained.Exact || a.Unexplained.N != 10 || a.Unexplained.Estimate != 0 {
		t.Errorf("%+v", a.Unexplained)
	}
}

func TestAnIntervalThatBarelyLeavesZeroWithinTheMarginIsNotMaterial(t *testing.T) {
	p := climbPlan("higher", "a")
	a := analysed(t, p, measured(p, 10, 3, .0005, map[string]float64{"r1": -.01}))
	if s := a.Parts[0]; s.Material || s.Contrast.Low >= 0 || s.Contrast.High >= 0 {
		t.Errorf("%+v", s)
	}
}

// Whatever the costs and the noise, the parts telescope: in the blocks that have
// every rung the mean of the parts is the mean of the total.
func TestPartsAndTheRestAddUpInEveryBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "parts")
		var parts []string
		effect, sum := map[string]float64{}, 0.0
		for i := range n {
			parts = append(parts, fmt.Sprintf("p%d", i))
			sum += rapid.Float64Range(-.3, .3).Draw(t, "cost")
			effect[fmt.Sprintf("r%d", i+1)] = sum
		}
		p := climbPlan("higher", parts...)
		trials := measured(p, rapid.IntRange(6, 20).Draw(t, "blocks"), rapid.Uint64().Draw(t, "seed"), .05, effect)
		for i := range trials { // trials fail, and leave their block incomplete
			if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
				trials[i].Status, trials[i].Metrics = rundir.Failed, nil
			}
		}
		a := analysed(t, p, trials)
		if a.Unexplained.N > 0 && !a.Unexplained.Exact {
			t.Fatalf("%+v", a.Unexplained)
		}
	})
}

// The mean over orders is Shapley's value where all orders are there: it gives
// each part the same whatever the parts are called, and adds up to the total.
func TestOverAllOrdersThePartsHaveTheirShapleyValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c"}
		value := map[string]float64{"": 0}
		p := climbPlan("higher")
		p.Steps, p.Environments = nil, nil
		for mask := range 8 {
			var set []string
			for i, n := range names {
				if mask&(1<<i) != 0 {
					set = append(set, n)
				}
			}
			name := "s" + strings.Join(set, "")
			p.Environments = append(p.Environments, study.Environment{Name: name})
			if mask > 0 {
				value[name] = rapid.Float64Range(-.5, .5).Draw(t, name)
			}
		}
		p.Baseline = "s"
		for n, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			var set []string
			base := "s"
			for _, i := range order {
				set = append(set, names[i])
				sorted := slices.Sorted(slices.Values(set))
				with := "s" + strings.Join(sorted, "")
				p.Steps = append(p.Steps, study.Step{Part: names[i], Name: names[i], Environment: with, Base: base, Order: n + 1})
				base = with
			}
		}
		p.Steps = append(p.Steps, study.Step{Name: "all", Environment: "sabc", Base: "s"})
		a := analysed(t, p, measured(p, 8, 1, 0, value))
		v := func(set string) float64 { return value["s"+set] }
		want := v("a")/3 + (v("ab")-v("b"))/6 + (v("ac")-v("c"))/6 + (v("abc")-v("bc"))/3
		sum := 0.0
		for _, s := range a.Parts {
			if sum += s.Contrast.Estimate; s.Part == "a" {
				least := min(v("a"), v("ab")-v("b"), v("ac")-v("c"), v("abc")-v("bc"))
				if math.Abs(s.Contrast.Estimate-want) > 1e-9 || math.Abs(*s.Least-least) > 1e-9 || a.Orders != 6 {
					t.Fatalf("%+v, want %g with the least %g", s, want, least)
				}
			}
		}
		if math.Abs(sum-v("abc")) > 1e-9 || !a.Unexplained.Exact {
			t.Fatalf("the parts come to %g of %g", sum, v("abc"))
		}
	})
}

// Simulated ladders of random costs: all intervals of a ladder hold at once in
// at least 95% of them.
func TestIntervalsOfRandomLaddersHoldAtOnce(t *testing.T) {
	const ladders = 400
	rng := rand.New(rand.NewPCG(11, 12))
	missed := 0
	for range ladders {
		n := 2 + rng.IntN(5)
		var parts []string
		effect, truth, sum := map[string]float64{}, map[string]float64{}, 0.0
		for i := range n {
			parts = append(parts, fmt.Sprintf("p%d", i))
			cost := []float64{0, 0, -.01, -.05, .05, -.2}[rng.IntN(6)]
			sum += cost
			truth[parts[i]], effect[fmt.Sprintf("r%d", i+1)] = cost, sum
		}
		truth[""] = sum
		p := climbPlan("higher", parts...)
		blocks := 6 + 2*rng.IntN(4)
		a := analysed(t, p, measured(p, blocks, rng.Uint64(), []float64{.005, .02, .05}[rng.IntN(3)], effect))
		for _, s := range append(a.Parts, a.Total) {
			if c := s.Contrast; truth[s.Part] < c.Low || truth[s.Part] > c.High {
				missed++
				break
			}
		}
	}
	t.Logf("%d of %d ladders have an interval that misses its truth", missed, ladders)
	if float64(missed) > .05*ladders+3*math.Sqrt(.05*.95*ladders) {
		t.Errorf("%d of %d ladders have an interval that misses its truth", missed, ladders)
	}
}

// Locations are not additive: the parts' and the total's differ, and yet nothing
// remains where no part is the rest.
func TestNothingRemainsOfAlternatingSamplesWithoutARest(t *testing.T) {
	p := climbPlan("higher", "seccomp", "overlay", "log")
	rng := rand.New(rand.NewPCG(3, 0))
	var trials []rundir.Trial
	for b := 1; b <= 10; b++ {
		for _, e := range p.Environments {
			r := rundir.Trial{Block: b, Environment: e.Name, Workload: "w", Status: rundir.OK, Metrics: map[string]float64{"requests_per_second": 40000}}
			for n := range 16 {
				r.Rounds = append(r.Rounds, rundir.Round{Number: n + 1, Metrics: map[string]float64{"requests_per_second": 40000 * math.Exp(.1*rng.ExpFloat64())}})
			}
			trials = append(trials, r)
		}
	}
	a := analysed(t, p, trials)
	sum := 0.0
	for _, s := range a.Parts {
		sum += s.Contrast.Estimate
	}
	if u := a.Unexplained; !u.Exact || u.N != 10 || math.Abs(sum-a.Total.Contrast.Estimate) < 1e-6 {
		t.Errorf("%+v, and the parts add up to %.4f of %.4f", u, sum, a.Total.Contrast.Estimate)
	}
}

// A run of a fixed number of blocks has its verdicts at its end, and not before.
func TestAPartWithoutAVerdictIsNotMaterial(t *testing.T) {
	p := climbPlan("higher", "seccomp", "log")
	p.Design.Blocks = study.Blocks{Min: 30, Max: 30, Fixed: true}
	for blocks, material := range map[int]bool{15: false, 30: true} {
		a := analysed(t, p, measured(p, blocks, 1, .004, map[string]float64{"r1": -.1, "r2": -.3}))
		if got := a.Parts[0].Material; got != material {
			t.Errorf("after %d of 30 blocks a part that is %s is material: %v", blocks, a.Parts[0].Contrast.Verdict, got)
		}
	}
}
