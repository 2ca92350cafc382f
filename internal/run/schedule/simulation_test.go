package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/needs"
	"tare/internal/verdict"
)

// The simulation drives the schedule with made-up trials and reads the verdicts
// at its end: what a user of a run gets. TARE_SIM_PATHS sets the number of runs
// simulated a profile; the default keeps the test short.

// profiles are courses of the standard deviation over a run, t from 0 to 1.
var profiles = []struct {
	name string
	sd   func(t float64) float64
}{
	{"iid", func(t float64) float64 { return 1 }},
	{"growing threefold", func(t float64) float64 { return 1 + 2*t }},
	{"growing tenfold", func(t float64) float64 { return 1 + 9*t }},
	{"fourfold jump", func(t float64) float64 {
		if t < .5 {
			return 1
		}
		return 4
	}},
}

// paths is how many runs are simulated: in the short form a quarter of a number that is large.
func paths(t *testing.T, usual int) int {
	text := os.Getenv("TARE_SIM_PATHS")
	switch {
	case text == "" && usual >= 100 && needs.ShortForm():
		return usual / 4
	case text == "":
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("TARE_SIM_PATHS=%s is not a number of runs", text)
	}
	return n
}

// host makes the figures of one simulated run: each block has a speed of its
// own, which wanders and which all its trials share, and each trial has its own
// noise.
type host struct {
	rng    *rand.Rand
	sd     func(t float64) float64
	noise  float64 // of one trial
	effect map[string]float64
	still  string // an environment without noise, for which the others have that of two
	drift  float64
	block  int
}

func (h *host) run(slot Slot) rundir.Trial {
	if slot.Block != h.block {
		h.block = slot.Block
		h.drift += .05 * h.rng.NormFloat64()
	}
	sd := h.noise * h.sd(float64(slot.Block-1)/59)
	switch h.still {
	case "":
	case slot.Environment:
		sd = 0
	default:
		sd *= math.Sqrt2
	}
	return rundir.Trial{Block: slot.Block, Position: slot.Position, Environment: slot.Environment, Workload: slot.Workload, Level: slot.Level, Status: rundir.OK,
		Metrics: map[string]float64{"time": math.Exp(h.effect[slot.Environment] + h.drift + sd*h.rng.NormFloat64())}}
}

// outcomes are the contrasts at the end of one simulated run.
func outcomes(t *testing.T, p *study.Plan, h *host) []verdict.Contrast {
	s := schedule(t, p)
	for {
		slot, ok := s.Next(0)
		if !ok {
			return s.Contrasts()
		}
		s.Record(h.run(slot))
	}
}

// atMost fails when a share of n is above the limit by more than its Monte
// Carlo error explains: three standard errors.
func atMost(t *testing.T, what string, count, n int, limit float64) {
	t.Helper()
	share := float64(count) / float64(n)
	t.Logf("%s: %.2f%% of %d", what, 100*share, n)
	if share > limit+3*math.Sqrt(limit*(1-limit)/float64(n)) {
		t.Errorf("%s: %.2f%% of %d, promised are at most %.0f%%", what, 100*share, n, 100*limit)
	}
}

func isDifferent(c verdict.Contrast) bool {
	return c.Verdict == verdict.Slower || c.Verdict == verdict.Faster
}

// The environments are the same program; the noise is such that hardly any run
// ends early as equivalent, which is when false alarms are likeliest.
func TestFalseAlarmsStayBelowFivePercentOfRuns(t *testing.T) {
	needs.Minutes(t, "simulates thousands of runs")
	began, total := time.Now(), 0
	for _, environments := range [][]string{{"a", "b"}, {"native", "docker", "gvisor", "vm"}} {
		for i, profile := range profiles {
			t.Run(fmt.Sprintf("%d environments, %s", len(environments), profile.name), func(t *testing.T) {
				n := paths(t, 1600/(len(environments)-1))
				total += n
				rng := rand.New(rand.NewPCG(uint64(i), uint64(len(environments))))
				p := planOf(study.Blocks{Min: 4, Max: 60}, environments, "cpu:block")
				alarms := 0
				for range n {
					p.Seed = rng.Uint64()
					for _, c := range outcomes(t, p, &host{rng: rng, sd: profile.sd, noise: .08}) {
						if isDifferent(c) {
							alarms++ // one is enough for the family
							break
						}
					}
				}
				atMost(t, "runs with a false alarm", alarms, n, .05)
			})
		}
	}
	t.Logf("%d runs in %s", total, time.Since(began).Round(time.Second))
}

// A known effect: the interval that is shown at the end, after a stop that
// depends on the data, must contain it.
func TestIntervalsCoverTheTruthAndEffectsAreFound(t *testing.T) {
	needs.Minutes(t, "simulates thousands of runs")
	for i, c := range []struct{ ratio, noise, found float64 }{{1.05, .015, .95}, {1.03, .03, .3}, {1.10, .03, .95}} {
		for j, profile := range profiles {
			t.Run(fmt.Sprintf("%+.0f%%, noise %.1f%%, %s", 100*(c.ratio-1), 100*c.noise, profile.name), func(t *testing.T) {
				n := paths(t, 300)
				rng := rand.New(rand.NewPCG(uint64(i), uint64(j)))
				p := planOf(study.Blocks{Min: 4, Max: 60}, []string{"native", "docker"}, "cpu:block")
				missed, found, blocks := 0, 0, 0
				for range n {
					p.Seed = rng.Uint64()
					k := outcomes(t, p, &host{rng: rng, sd: profile.sd, noise: c.noise, effect: map[string]float64{"docker": math.Log(c.ratio)}})[0]
					if truth := math.Log(c.ratio); truth < k.Low || truth > k.High {
						missed++
					}
					if k.Verdict == verdict.Slower {
						found++
					}
					blocks += k.N
				}
				atMost(t, "intervals that miss the truth", missed, n, .05)
				share := float64(found) / float64(n)
				t.Logf("found in %.1f%%, after %.1f blocks on average", 100*share, float64(blocks)/float64(n))
				if i != 1 && j == 0 && share < c.found {
					t.Errorf("an effect of %.0f%% is found in %.1f%% of runs only", 100*(c.ratio-1), 100*share)
				}
			})
		}
	}
}

// At the very edge of the margin equivalence is false; it may be claimed in at
// most 5% of runs.
func TestEquivalenceIsNotClaimedAtTheEdgeOfTheMargin(t *testing.T) {
	needs.Minutes(t, "simulates thousands of runs")
	for i, profile := range profiles {
		t.Run(profile.name, func(t *testing.T) {
			n := paths(t, 600)
			rng := rand.New(rand.NewPCG(uint64(i), 99))
			p := planOf(study.Blocks{Min: 4, Max: 60}, []string{"native", "docker"}, "cpu:block")
			wrong := 0
			for range n {
				p.Seed = rng.Uint64()
				k := outcomes(t, p, &host{rng: rng, sd: profile.sd, noise: .01, effect: map[string]float64{"docker": math.Log(1.02)}})[0]
				if k.Verdict == verdict.Equivalent {
					wrong++
				}
			}
			atMost(t, "runs that claim equivalence", wrong, n, .05)
		})
	}
}
