package capacity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/stats"
	"tare/internal/testing/needs"
)

func probe(rate float64, holds bool) Probe {
	if holds {
		return Probe{Rate: rate, Outcome: Held}
	}
	return Probe{Rate: rate, Outcome: Failed, Why: "slow"}
}

func TestABracketEndsNearTheCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := math.Exp(rapid.Float64Range(math.Log(5), math.Log(1e6)).Draw(t, "ln capacity"))
		b := Bracket{From: rapid.Float64Range(.5, 1e6).Draw(t, "from"), Most: 4e6}
		saysAnswered := rapid.Bool().Draw(t, "answered is known")
		for n := 0; ; n++ {
			rate, found := b.Next()
			if found {
				if ratio := rate / capacity; ratio < .7 || ratio > 1.4 {
					t.Fatalf("%g/s after %d probes, and the capacity is %g", rate, n, capacity)
				}
				return
			}
			if n > mostBracket {
				t.Fatalf("it does not end: %v", b.probes)
			}
			p := probe(rate, rate <= capacity)
			if saysAnswered {
				p.Answered = min(rate, capacity)
			}
			b.Add(p)
		}
	})
}

func TestABracketEndsWhereNothingOrEverythingHolds(t *testing.T) {
	for _, holds := range []bool{false, true} {
		b := Bracket{From: 500, Most: 100_000}
		rate, found := b.Next()
		for n := 0; !found; n++ {
			if n > mostBracket {
				t.Fatal("it does not end")
			}
			b.Add(probe(rate, holds))
			rate, found = b.Next()
		}
		if holds && rate != b.Most || !holds && rate != 1 {
			t.Errorf("it ends at %g where %t holds", rate, holds)
		}
	}
}

func TestProbesThatTellNothingHaveAReason(t *testing.T) {
	late := func(rate float64) Probe {
		return Probe{Rate: rate, Outcome: Late, Why: fmt.Sprintf("it sent 90/s instead of %g/s", rate)}
	}
	for want, probes := range map[string][]Probe{
		"all of 2 probes held: the capacity is at least 110/s": {probe(100, true), probe(110, true)},
		"none of 2 probes held, down to 90/s: slow":            {probe(100, false), probe(90, false)},
		"the driver could not keep its rate in 2 of the 3 probes that did not hold, so they tell nothing of the server, whose capacity is at least 100/s: it sent 90/s instead of 120/s": {probe(100, true), late(120), late(120), probe(105, false)},
		"the driver could not keep its rate in 1 of the 1 probes that did not hold, so they tell nothing of the server, whose capacity is unknown: it sent 90/s instead of 120/s":        {late(120)},
	} {
		if rate, err := Estimate(probes); err == nil || err.Error() != want {
			t.Errorf("%g/s, %v instead of %s", rate, err, want)
		}
	}
	// A late probe among several that failed tells nothing, and the others do.
	with, err := Estimate([]Probe{probe(100, true), probe(110, false), probe(112, false), late(90), probe(108, false), probe(104, true)})
	without, _ := Estimate([]Probe{probe(100, true), probe(110, false), probe(112, false), probe(108, false), probe(104, true)})
	if err != nil || with != without || with < 102 || with > 110 {
		t.Errorf("%g with a late probe, %g without, %v", with, without, err)
	}
}

// searched is the estimate of a block of probes, each of which holds a capacity that
// differs by noise. In some the machine stalls, and nothing holds.
func searched(t *testing.T, random *rand.Rand, capacity, from, noise float64) float64 {
	t.Helper()
	b := NewBlock(from, 1e9)
	for range Probes {
		rate := b.Next()
		b.Add(probe(rate, rate <= capacity*math.Exp(noise*random.NormFloat64()) && random.Float64() > .01))
	}
	return estimated(t, b)
}

func estimated(t *testing.T, b *Block) float64 {
	t.Helper()
	estimate, err := Estimate(b.Probes())
	if err != nil {
		if !strings.Contains(err.Error(), "held") {
			t.Fatal(err)
		}
		return math.NaN()
	}
	return estimate
}

func TestABlockFindsAKnownCapacity(t *testing.T) {
	paths := 4000
	if needs.ShortForm() {
		paths = 500
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ noise, off, deviation float64 }{
		{.01, 0, .012}, {.01, .1, .015}, {.01, -.25, .025}, {.03, 0, .025}, {.03, .1, .03}, {.03, -.25, .04}, {.08, 0, .055}, {.08, -.25, .07},
	} {
		sum, squares, n, none := 0., 0., 0., 0
		for range paths {
			d := math.Log(searched(t, random, 9000, 9000*math.Exp(c.off+.03*random.NormFloat64()), c.noise) / 9000)
			if math.IsNaN(d) {
				none++
				continue
			}
			sum, squares, n = sum+d, squares+d*d, n+1
		}
		bias := sum / n
		deviation := math.Sqrt(squares/n - bias*bias)
		t.Logf("noise %g, start off by %+g: bias %+.2f%%, deviation %.2f%%, none in %d", c.noise, c.off, 100*bias, 100*deviation, none)
		if math.Abs(bias) > .02 || deviation > c.deviation || none > paths/100 {
			t.Errorf("noise %g, start off by %g: bias %.4f, deviation %.4f, none in %d", c.noise, c.off, bias, deviation, none)
		}
	}
}

// The CPU time of a request says how fast the machine was in a probe, for both of two
// environments in a round. A capacity that does not depend on it must not be worse for it.
func TestTheCPUTimeOfProbesSharpensTheRatioOfCapacities(t *testing.T) {
	paths := 1000
	if needs.ShortForm() {
		paths = 400
	}
	random := rand.New(rand.NewPCG(5, 6))
	deviation := func(noise, speeds float64, seen bool) float64 {
		sum, squares, n := 0., 0., 0.
		for range paths {
			both := [2]*Block{NewBlock(9000*math.Exp(.05*random.NormFloat64()), 1e9), NewBlock(9000*math.Exp(.05*random.NormFloat64()), 1e9)}
			for range Probes {
				speed := math.Exp(speeds * random.NormFloat64())
				for _, b := range both {
					rate := b.Next()
					p := probe(rate, rate <= speed*9000*math.Exp(noise*random.NormFloat64()) && random.Float64() > .01)
					if seen {
						p.CPU = 1.5e-4 / speed * math.Exp(.01*random.NormFloat64())
					}
					b.Add(p)
				}
			}
			if d := math.Log(estimated(t, both[0]) / estimated(t, both[1])); !math.IsNaN(d) {
				sum, squares, n = sum+d, squares+d*d, n+1
			}
		}
		return math.Sqrt(squares/n - sum/n*sum/n)
	}
	for _, c := range []struct{ noise, speeds, most float64 }{{.01, .05, .92}, {.01, .1, .85}, {.03, .05, 1}, {.03, 0, 1.1}, {.08, 0, 1.1}} {
		without, with := deviation(c.noise, c.speeds, false), deviation(c.noise, c.speeds, true)
		t.Logf("noise %g, speeds %g: deviation %.2f%% without the CPU time, %.2f%% with it", c.noise, c.speeds, 100*without, 100*with)
		if with > c.most*without+.002 {
			t.Errorf("noise %g, speeds %g: deviation %.4f with the CPU time, %.4f without", c.noise, c.speeds, with, without)
		}
	}
}

// TestIntervalsCoverKnownCapacities takes runs from the first bracket to the intervals of
// the ratio of two capacities, and of each: blocks begin where the last one ended, the
// speed of the machine drifts from block to block, and probes differ by noise.
func TestIntervalsCoverKnownCapacities(t *testing.T) {
	paths := 1000
	if needs.ShortForm() {
		paths = 300
	}
	const blocks, alpha, base = 8, .05, 9000.
	random := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct{ ratio, drift, noise float64 }{
		{.7, 0, .01}, {.7, .02, .03}, {1, .05, .03}, {.3, .02, .08},
	} {
		missed, off, width := 0, 0., 0.
		for range paths {
			last := [2]float64{base * 1.2, base * c.ratio * .85} // as brackets leave them
			var d []float64
			for range blocks {
				speed := math.Exp(c.drift * random.NormFloat64())
				var found [2]float64
				for i, capacity := range []float64{base, base * c.ratio} {
					found[i] = searched(t, random, capacity*speed, last[i], c.noise)
					if !math.IsNaN(found[i]) {
						last[i] = found[i]
					}
				}
				if ratio := math.Log(found[1] / found[0]); !math.IsNaN(ratio) {
					d = append(d, ratio)
				}
			}
			interval, truth := stats.HodgesLehmann(d, alpha), math.Log(c.ratio)
			if truth < interval.Low || truth > interval.High {
				missed++
			}
			off += (interval.Estimate - truth) / float64(paths)
			width += (interval.High - interval.Low) / 2 / float64(paths)
		}
		share := float64(missed) / float64(paths)
		t.Logf("ratio %g, drift %g, noise %g: missed by %.1f%% of intervals of ±%.1f%%, bias %+.2f%%", c.ratio, c.drift, c.noise, 100*share, 100*width, 100*off)
		if chance := 3 * math.Sqrt(alpha*(1-alpha)/float64(paths)); share > alpha+chance || math.Abs(off) > .02 {
			t.Errorf("ratio %g, drift %g, noise %g: %.3f of the intervals miss it, bias %.4f", c.ratio, c.drift, c.noise, share, off)
		}
	}
}
