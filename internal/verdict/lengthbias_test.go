package verdict

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
)

// started makes trials of a rate whose samples contain a start: of each environment the
// share of the whole length that it takes. The machine's speed drifts from round to
// round, and one short sample follows every fourth round.
func started(p *study.Plan, seed uint64, blocks, rounds int, noise float64, starts map[string]float64) (trials []rundir.Trial) {
	rng := rand.New(rand.NewPCG(seed, uint64(blocks)))
	for block := 1; block <= blocks; block++ {
		made := make([]rundir.Trial, len(p.Environments))
		speed := 0.0
		for i, e := range p.Environments {
			made[i] = rundir.Trial{Block: block, Environment: e.Name, Workload: "w", Status: rundir.OK, HalfShare: .5}
		}
		sample := func(environment string, share float64, number int) rundir.Round {
			rate := 1 / (1 + starts[environment]/share) * math.Exp(speed+noise*rng.NormFloat64()/math.Sqrt(share))
			return rundir.Round{Number: number, Metrics: map[string]float64{"time": rate}}
		}
		for number := 1; number <= rounds; number++ {
			speed += .02 + .05*rng.NormFloat64()
			for i, e := range p.Environments {
				made[i].Rounds = append(made[i].Rounds, sample(e.Name, 1, number))
			}
			if number%4 == 2 {
				speed += .01
				for i, e := range p.Environments {
					made[i].HalfRounds = append(made[i].HalfRounds, sample(e.Name, .5, number))
				}
			}
		}
		for i := range made {
			var all []float64
			for _, r := range made[i].Rounds {
				all = append(all, r.Metrics["time"])
			}
			made[i].Metrics = map[string]float64{"time": stats.Median(all)}
		}
		trials = append(trials, made...)
	}
	return trials
}

func TestTheLengthBiasIsThatOfTheWholeLength(t *testing.T) {
	p := planOf(usual, "native", "docker")
	for name, c := range map[string]struct {
		starts          map[string]float64
		within, exceeds bool
	}{
		"a start in one":     {map[string]float64{"docker": .02}, false, true},
		"the same in both":   {map[string]float64{"native": .02, "docker": .02}, true, false},
		"a little more":      {map[string]float64{"native": .02, "docker": .022}, true, false},
		"twice that":         {map[string]float64{"native": .02, "docker": .04}, false, true},
		"at about the limit": {map[string]float64{"docker": .005}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			trials := started(p, 1, 30, 16, .002, c.starts)
			got := one(t, p, trials)
			l := got.LengthBias
			want := math.Log1p(c.starts["native"]) - math.Log1p(c.starts["docker"])
			if l == nil || l.N != 30 || math.Abs(l.Interval.Estimate-want) > .002 || l.Within() != c.within || l.Exceeds() != c.exceeds {
				t.Fatalf("%+v, want %.4f", l, want)
			}
			warned := ""
			for _, w := range got.Warnings {
				if w.Code == LengthBiased {
					warned = w.String()
				}
			}
			if (warned != "") != c.exceeds || c.exceeds && !strings.Contains(warned, "more than a quarter of the margin: samples that are 4 times as long would not") {
				t.Errorf("the warning is %q", warned)
			}
			own := LengthBiases(p, trials)
			if len(own) != 2 || own[1].Environment != "docker" || math.Abs(own[1].LengthBias.Interval.Estimate+c.starts["docker"]) > .01 {
				t.Errorf("%+v", own)
			}
			var back Contrast
			text, err := json.Marshal(got)
			if err == nil {
				err = json.Unmarshal(text, &back)
			}
			if err != nil || *back.LengthBias != *l {
				t.Errorf("%v: %+v from %s", err, back.LengthBias, text)
			}
		})
	}
}

func TestALengthBiasNeedsSamplesOfHalfTheLength(t *testing.T) {
	p := planOf(usual, "native", "docker")
	trials := started(p, 1, 8, 8, .01, nil)
	half, whole := one(t, p, trials), trials
	for i := range whole {
		whole[i].HalfRounds, whole[i].HalfShare = nil, 0
	}
	if c := one(t, p, whole); c.LengthBias != nil || c.Estimate != half.Estimate || c.Low != half.Low || c.N != half.N {
		t.Errorf("%+v without them, %+v with them", c, half)
	}
	if few := one(t, p, started(p, 1, 3, 8, .001, nil)).LengthBias; few == nil || few.Within() || few.Exceeds() || few.N != 3 {
		t.Errorf("3 blocks: %+v", few)
	}
}

// The interval is read once, at the end, and contains the bias in 95% of the runs.
func TestFalseLengthBiasesAreRare(t *testing.T) {
	p := planOf(usual, "native", "docker")
	for noise, starts := range map[float64]map[string]float64{.01: nil, .05: {"docker": .05}} {
		const runs = 300
		missed := 0
		for seed := range runs {
			l := one(t, p, started(p, uint64(seed), 12, 16, noise, starts)).LengthBias
			want := math.Log1p(starts["docker"]/1) - math.Log1p(starts["docker"]/.5)
			if l.Interval.Low > want || l.Interval.High < want {
				missed++
			}
		}
		t.Logf("noise %g: %d of %d intervals missed the bias", noise, missed, runs)
		if missed > 27 { // 5% and three standard deviations
			t.Errorf("noise %g: %d of %d intervals missed the bias", noise, missed, runs)
		}
	}
}
