package anomaly

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/workload"
)

func plan(better, stresses string, environments ...string) *study.Plan {
	p := &study.Plan{Baseline: environments[0], Design: study.Design{Order: "unpaired", Margin: .02}}
	for _, e := range environments {
		p.Environments = append(p.Environments, study.Environment{Name: e})
	}
	p.Workloads = []study.Workload{{Name: "w", Levels: []study.Level{{}}, Pack: workload.Pack{Stresses: stresses,
		Metrics: []workload.Metric{{Name: "rate", Unit: "1/s", Better: better, Primary: true}, {Name: "other", Better: "lower"}}}}}
	return p
}

func trials(environment string, values ...float64) []rundir.Trial {
	var all []rundir.Trial
	for i, v := range values {
		all = append(all, rundir.Trial{Block: i + 1, Environment: environment, Workload: "w", Status: rundir.OK, Metrics: map[string]float64{"rate": v, "other": 1}})
	}
	return all
}

func figure(v float64, unit string) string { return fmt.Sprintf("%.4g %s", v, unit) }

func texts(found []Finding) string {
	var lines []string
	for _, f := range found {
		lines = append(lines, f.Code+" "+f.Environment+": "+f.Words(figure))
	}
	return strings.Join(lines, "\n")
}

var steady = []float64{100, 100.2, 99.9, 100.1, 99.8, 100.05, 99.95, 100.15, 99.85, 100.02}

func times(by float64, values []float64) []float64 {
	var all []float64
	for _, v := range values {
		all = append(all, by*v)
	}
	return all
}

func TestEachAnomalyHasASentence(t *testing.T) {
	for name, c := range map[string]struct {
		better, stresses string
		values           []float64
		want, not        []string
	}{
		"two modes, the better one as good as the baseline": {"higher", "cpu", []float64{70, 71, 100.1, 69.5, 100, 70.5, 99.9, 70.2, 70.8, 69.9},
			[]string{"two-modes b: two modes without values in between: 7 results at 69.5 1/s to 71 1/s (1-2, 4, 6, 8-10) and 3 at 99.9 1/s to 100.1 1/s (3, 5, 7), a factor of 1.42 apart",
				"same-best b: its best result equals that of a", "spread : the interquartile range of the results is"}, []string{"cores"}},
		"a mode of twice the figure": {"higher", "cpu", []float64{100, 100.1, 99.9, 100.2, 99.8, 200, 200.3, 199.8, 200.1, 199.9},
			[]string{"check whether the number of cores or threads changed, which would give a factor of 2"}, nil},
		"a drift": {"higher", "network", []float64{80, 82, 81.5, 84, 85, 84.5, 87, 88, 89, 90},
			[]string{"drift b: drift over the results: +11.2% from the first of 10 to the last (Mann-Kendall, p < 0.1%)"}, []string{"two-modes"}},
		"a cold start": {"lower", "start", []float64{180, 100, 100.3, 99.9, 100.1, 99.8, 100.2, 100.05, 99.97, 100.15},
			[]string{"alone b: the first result is far from the other 9: 180 1/s vs 99.8 1/s to 100.3 1/s, as after a cold start"}, []string{"two-modes"}},
		"more cores":                       {"higher", "cpu", times(3.96, steady), []string{"cores b: 3.96 times as fast as a"}, []string{"same-best"}},
		"more cores, where less is better": {"lower", "cpu", times(1/3.96, steady), []string{"cores b: 3.96 times as fast as a"}, nil},
		"a start that is faster":           {"lower", "start", times(1/3.96, steady), nil, []string{"cores", "b:"}},
		"nothing":                          {"higher", "cpu", times(.97, steady), nil, []string{"b:"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := append(trials("a", steady...), trials("b", c.values...)...)
			got := texts(Run(plan(c.better, c.stresses, "a", "b"), all, &rundir.Import{}))
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not said in\n%s", want, got)
				}
			}
			for _, not := range c.not {
				if strings.Contains(got, not) {
					t.Errorf("%q is said in\n%s", not, got)
				}
			}
		})
	}
}

func TestAValueThatAllEnvironmentsReachIsASharedLimit(t *testing.T) {
	same := append(append(trials("a", times(1, []float64{1, 1.0001, 1.0002, 1, 1.0001, 1})...), trials("b", 1, 1, 1.0001, 1, 1.0002, 1)...), trials("c", 1, 1, 1, 1, 1, 1)...)
	if got := texts(Run(plan("higher", "network", "a", "b", "c"), same, &rundir.Import{})); !strings.HasPrefix(got, "constant : all 18 results") || strings.Contains(got, "\n") {
		t.Errorf("a set rate: %s", got)
	}
	line := append(append(trials("a", 94, 93.9, 94.01, 93, 94, 92), trials("b", 94.02, 93, 91, 94, 93.5, 90)...), trials("c", 94.01, 89, 90, 91, 92, 93)...)
	if got := texts(Run(plan("higher", "network", "a", "b", "c"), line, &rundir.Import{})); !strings.Contains(got, "shared-limit : the best results of a, b, c agree") {
		t.Errorf("a line: %s", got)
	}
}

func TestDifferentSettingsAreNamedWithTheirEnvironments(t *testing.T) {
	all := append(trials("a", steady...), trials("b", steady...)...)
	for i := range all {
		threads := "1"
		if all[i].Environment == "b" && i >= 15 {
			threads = "2"
		}
		all[i].Source = &rundir.Source{File: "f", Result: i + 1, Settings: map[string]string{"threads": threads, "version": "1.0"}}
	}
	day := time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC)
	files := []rundir.ImportedFile{{File: "f", Workload: "w", Environment: "a", Taken: day}, {File: "f", Workload: "w", Environment: "b", Taken: day.Add(-60 * time.Hour)}}
	got := texts(Run(plan("higher", "cpu", "a", "b"), all, &rundir.Import{Files: files}))
	for _, want := range []string{"threads differs: 1 in a and b (results 1-5), 2 in b (results 6-10)", "measured days apart, b 2.5 days before a"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not said in\n%s", want, got)
		}
	}
	for i := range all {
		all[i].Source.Settings = map[string]string{"threads": []string{"8", "16", "100"}[i%3], "mode": []string{"r", "w"}[i%2]}
	}
	got = texts(Run(plan("higher", "cpu", "a", "b"), all, &rundir.Import{}))
	if want := "mode differs: r in a (results 1, 3, 5, 7, 9) and b (results 1, 3, 5, 7, 9), w in a (results 2, 4, 6, 8, 10) and b (results 2, 4, 6, 8, 10); threads is 8, 16 or 100. Import them with --level mode,threads (in"; !strings.Contains(got, want) {
		t.Errorf("%q is not said in\n%s", want, got)
	}
	if strings.Contains(got, "version differs") {
		t.Errorf("one version is called two:\n%s", got)
	}
}

// Two environments that do not differ: about 1 in 100 looks at two modes, a
// drift or a lone result finds one by chance, whatever the law of the noise.
func TestNormalValuesRarelyGiveARemark(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	for name, noise := range map[string]func() float64{
		"normal":      r.NormFloat64,
		"exponential": r.ExpFloat64,
		"uniform":     func() float64 { return 3 * r.Float64() },
	} {
		const runs = 1500
		counts := map[string]int{}
		for range runs {
			draw := func() []float64 {
				v := make([]float64, 10)
				for i := range v {
					v[i] = 100 * math.Exp(.05*noise())
				}
				return v
			}
			for _, f := range Run(plan("higher", "cpu", "a", "b"), append(trials("a", draw()...), trials("b", draw()...)...), &rundir.Import{}) {
				counts[f.Code]++
			}
		}
		// Two samples a run; 1% of 3000 is 30, and four standard deviations more 52.
		for code, most := range map[string]int{TwoModes: 52, Drift: 52, Alone: 52, Spread: 30, SameBest: 30, Cores: 0, Constant: 0} {
			if counts[code] > most {
				t.Errorf("%s noise: %s found %d times in %d runs", name, code, counts[code], runs)
			}
		}
	}
}

// A run of tare's own is looked at block by block: what both sides do alike is
// no remark.
func TestDriftOfTheMachineGivesNoRemarkOnABlockedRun(t *testing.T) {
	var a, b []float64
	for i := range 20 {
		a = append(a, 100*math.Exp(.02*float64(i)))
		b = append(b, 110*math.Exp(.02*float64(i)+.001*float64(i%3)))
	}
	all := append(trials("a", a...), trials("b", b...)...)
	if got := Run(plan("higher", "cpu", "a", "b"), all, nil); len(got) > 0 {
		t.Errorf("%s", texts(got))
	}
	for i := range b {
		b[i] *= math.Exp(.01 * float64(i))
	}
	got := texts(Run(plan("higher", "cpu", "a", "b"), append(trials("a", a...), trials("b", b...)...), nil))
	if !strings.Contains(got, "difference from a: drift over the blocks") {
		t.Errorf("a drift between the sides: %q", got)
	}
}

// The medians of the trials drift apart, the samples of the rounds do not.
func TestRoundsAreComparedInPairs(t *testing.T) {
	p := plan("higher", "cpu", "native", "docker")
	var drifting []float64
	for i := range 20 {
		drifting = append(drifting, 100+float64(i))
	}
	all := append(trials("native", times(1, slices.Repeat(steady, 2))...), trials("docker", drifting...)...)
	if found := texts(Run(p, all, nil)); !strings.Contains(found, Drift+" docker") {
		t.Errorf("without rounds: %s", found)
	}
	for i := range all {
		for round := range 8 {
			all[i].Rounds = append(all[i].Rounds, rundir.Round{Number: round + 1, Metrics: map[string]float64{"rate": steady[(i+round)%10]}})
		}
	}
	if found := texts(Run(p, all, nil)); found != "" {
		t.Errorf("with rounds: %s", found)
	}
}
