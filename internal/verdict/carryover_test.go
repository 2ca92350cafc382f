package verdict

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tare/internal/rundir"
	"tare/internal/study"
)

// taken makes the trials of blocks whose rounds have random orders. noise is called
// for the samples in the order of time, with whose it is and whose came before.
func taken(rng *rand.Rand, environments []string, blocks, rounds int, noise func(environment, before string) float64) (trials []rundir.Trial) {
	for block := 1; block <= blocks; block++ {
		all := make([]rundir.Trial, len(environments))
		for i, name := range environments {
			all[i] = rundir.Trial{Block: block, Environment: name, Workload: "w", Status: rundir.OK, Metrics: map[string]float64{"time": 1}}
		}
		before := ""
		for round := 1; round <= rounds; round++ {
			for position, i := range rng.Perm(len(all)) {
				v := math.Exp(noise(environments[i], before))
				all[i].Rounds = append(all[i].Rounds, rundir.Round{Number: round, Position: position + 1, Metrics: map[string]float64{"time": v}})
				before = environments[i]
			}
		}
		trials = append(trials, all...)
	}
	return trials
}

// kinds of noise that do not depend on the order.
var orderless = map[string]func(rng *rand.Rand) func(string, string) float64{
	"normal": func(rng *rand.Rand) func(string, string) float64 {
		return func(string, string) float64 { return .05 * rng.NormFloat64() }
	},
	"slow": func(rng *rand.Rand) func(string, string) float64 {
		x := 0.0
		return func(string, string) float64 { x = .95*x + .05*rng.NormFloat64(); return x }
	},
	"bursts": func(rng *rand.Rand) func(string, string) float64 {
		burst := false
		return func(string, string) float64 {
			if rng.Float64() < .1 {
				burst = !burst
			}
			if burst {
				return rng.ExpFloat64()
			}
			return .01 * rng.NormFloat64()
		}
	},
	"one environment much noisier": func(rng *rand.Rand) func(string, string) float64 {
		return func(environment, _ string) float64 {
			return map[bool]float64{true: 1, false: .01}[environment == "native"] * math.Tan(math.Pi*(rng.Float64()-.5)) / 10
		}
	},
	"few values": func(rng *rand.Rand) func(string, string) float64 {
		return func(string, string) float64 { return math.Log(float64(1 + rng.IntN(3))) }
	},
}

func TestFalseCarryOversAreRare(t *testing.T) {
	for name, noise := range orderless {
		for _, environments := range [][]string{{"native", "docker"}, {"native", "docker", "gvisor", "vm"}} {
			rng := rand.New(rand.NewPCG(1, uint64(len(environments))))
			const n = 150
			alarms := 0
			for range n {
				if len(carryOvers(taken(rng, environments, 2+rng.IntN(9), 16, noise(rng)), "time")) > 0 {
					alarms++
				}
			}
			t.Logf("%s, %d environments: %d of %d", name, len(environments), alarms, n)
			// 1%, and three standard errors
			if limit := n*carryOverLevel + 3*math.Sqrt(n*carryOverLevel); float64(alarms) > limit {
				t.Errorf("%s, %d environments: %d of %d, at most %.0f are to be expected", name, len(environments), alarms, n, limit)
			}
		}
	}
}

func TestACarryOverIsFoundAndSaid(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	noise := orderless["slow"](rng)
	trials := taken(rng, []string{"native", "docker", "gvisor"}, 12, 16, func(environment, before string) float64 {
		v := .1 * noise(environment, before)
		if environment == "docker" && before == "gvisor" {
			v += .05
		}
		return v
	})
	found := carryOvers(trials, "time")
	if len(found) != 1 || found[0].environment != "docker" || found[0].after != "gvisor" || found[0].estimate.Low > .05 || found[0].estimate.High < .05 || found[0].estimate.Low < 0 {
		t.Fatalf("%+v", found)
	}
	p := planOf(usual, "native", "docker", "gvisor")
	for _, p.Design.Waiting = range []string{"idle", study.Frozen} {
		for _, c := range Contrasts(p, trials, rundir.Manifest{}) {
			if at := slices.Index(codes(c), CarryOver); (at >= 0) != (c.Environment == "docker") {
				t.Errorf("%s: %v", c.Environment, c.Warnings)
			} else if at >= 0 && (!strings.HasPrefix(c.Warnings[at].String(), "samples of docker that follow one of gvisor differ from its others by +") ||
				strings.Contains(c.Warnings[at].String(), "`waiting: frozen`") != (p.Design.Waiting == "idle")) {
				t.Error(c.Warnings[at].String())
			}
		}
	}
	// A trial that failed later has left its samples between those of the others.
	broken := slices.Clone(trials)
	for i := range broken {
		if broken[i].Environment == "gvisor" {
			broken[i].Status = rundir.Failed
		}
	}
	if found := carryOvers(broken, "time"); len(found) != 1 || found[0].environment != "docker" || found[0].after != "gvisor" {
		t.Errorf("with the samples of failed trials: %+v", found)
	}
	// Trials that were not made together have no predecessors.
	for i := range trials {
		for j := range trials[i].Rounds {
			trials[i].Rounds[j].Position = 1
		}
	}
	if found := carryOvers(trials, "time"); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

func TestASampleOfHalfTheLengthIsAPredecessor(t *testing.T) {
	of := func(environment string, positions ...int) (r rundir.Trial) {
		r = rundir.Trial{Environment: environment, Status: rundir.OK}
		for n, position := range positions {
			r.Rounds = append(r.Rounds, rundir.Round{Number: n + 1, Position: position, Metrics: map[string]float64{"time": 1}})
		}
		return r
	}
	a, b := of("a", 1, 1, 1), of("b", 2, 2, 2)
	a.HalfRounds = []rundir.Round{{Number: 1, Position: 2, Metrics: map[string]float64{"time": 1}}}
	b.HalfRounds = []rundir.Round{{Number: 1, Position: 1, Metrics: map[string]float64{"time": 1}}}
	var got []string
	followersOf([]rundir.Trial{a, b}, "time", func(environment, after string, _ float64) { got = append(got, environment+" after "+after) })
	if want := []string{"a after a", "a after b", "b after a", "b after a", "b after a"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
