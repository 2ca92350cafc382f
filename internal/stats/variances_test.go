package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// noisy makes blocks with these standard deviations of a block and of a round, of
// which neighbours are alike.
func noisy(rng *rand.Rand, blocks, rounds int, block, round, alike float64) (all [][]float64) {
	for range blocks {
		centre, x := block*rng.NormFloat64(), round*rng.NormFloat64()
		var d []float64
		for range rounds {
			x = alike*x + math.Sqrt(1-alike*alike)*round*rng.NormFloat64()
			d = append(d, centre+x)
		}
		all = append(all, d)
	}
	return all
}

func TestTheVariancesOfBlocksAndRoundsAreTakenApart(t *testing.T) {
	for _, c := range []struct{ block, round, alike float64 }{{.02, .01, 0}, {.01, .04, 0}, {0, .05, 0}, {.01, .04, .6}} {
		rng := rand.New(rand.NewPCG(3, 1))
		var sum Variances
		const n = 3000
		for range n {
			v, ok := VariancesOf(noisy(rng, 3, 64, c.block, c.round, c.alike))
			if !ok || v.Rounds != 64 {
				t.Fatalf("%+v, %t", v, ok)
			}
			sum = Together([]Variances{sum, v})
		}
		// The long-run variance of an autoregressive series; the location of normal
		// values has 1.05 times the variance of their mean.
		wantRound := 1.05 * c.round * c.round * (1 + c.alike) / (1 - c.alike)
		if got := sum.Round / n; got/wantRound < .85 || got/wantRound > 1.1 { // less where halves are alike
			t.Errorf("%+v: the variance of a round is %.3g, not %.3g", c, got, wantRound)
		}
		if got := sum.Block / n; math.Abs(got-c.block*c.block) > .05*(c.block*c.block+wantRound/64) {
			t.Errorf("%+v: the variance of a block is %.3g", c, got)
		}
	}
	if _, ok := VariancesOf([][]float64{{1, 2}, {1}, nil}); ok {
		t.Error("a single block with two rounds has no variance")
	}
}

func TestTheNumberOfRoundsThatPays(t *testing.T) {
	for _, c := range []struct {
		round, block float64
		want         float64
	}{
		{8, 1, math.Sqrt(20 * 8)},
		{1, 1, math.Sqrt(20 * 2)}, // the least ratio
		{100, 1, math.Sqrt(20 * 32)},
		{1, -.1, math.Sqrt(20 * 32)},
		{0, 0, math.Sqrt(20 * 2)},
	} {
		if got := (Variances{Round: c.round, Block: c.block}).PayingRounds(2, .1); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %g", c, got)
		}
	}
}

// chosen is the number of rounds after some blocks of 16, where a block costs that many
// rounds. The bounds are those of package schedule.
func chosen(first [][]float64, cost float64) int {
	v, _ := VariancesOf(first)
	return max(8, int(min(cost, v.PayingRounds(cost, 1))+.5))
}

// The number of rounds of the first blocks chooses that of the others; the procedure
// keeps its promises, and takes less time than with 16 rounds throughout.
// TARE_SIM_PATHS sets the number of runs for each profile.
func TestChosenRoundsKeepThePromises(t *testing.T) {
	n := 40
	if testing.Short() {
		n = 6
	}
	if text := os.Getenv("TARE_SIM_PATHS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			t.Fatalf("TARE_SIM_PATHS=%s is not a number of runs", text)
		}
	}
	looks := Looks()
	last := looks[len(looks)-1]
	margin := math.Log(1.02)
	for i, p := range profiles(t) {
		row := fmt.Sprintf("%-26s", p.name)
		for j, cost := range []float64{4, 20, 100} {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(j)))
			wrong, missed, rounds, time, timeOf16 := 0, 0, 0.0, 0.0, 0.0
			for range n {
				first := p.blocks(rng, 3, 16)
				r := chosen(first, cost)
				rounds += math.Log(float64(r)) / float64(n)
				decide := func(blocks [][]float64) Decision {
					var d []float64
					for _, block := range blocks {
						d = append(d, Location(block)-p.centre)
					}
					return Decide(d, 1, margin)
				}
				v := decide(append(first, p.blocks(rng, last-3, r)...))
				if v.Outcome == Different {
					wrong++
				}
				if v.Interval.Low > 0 || v.Interval.High < 0 {
					missed++
				}
				few := float64(min(v.N, 3))
				time += few*(cost+16) + (float64(v.N)-few)*(cost+float64(r))
				timeOf16 += float64(decide(p.blocks(rng, last, 16)).N) * (cost + 16)
			}
			share := func(count int) float64 { return 100 * float64(count) / float64(n) }
			row += fmt.Sprintf(" | cost %3.0f: %3.0f rounds, wrong %.1f%%, missed %.1f%%, time %.2f", cost, math.Exp(rounds), share(wrong), share(missed), time/timeOf16)
			if limit := 5 + 400*math.Sqrt(.05*.95/float64(n)); share(wrong) > limit || share(missed) > limit {
				t.Errorf("%s, cost %g: %.1f%% wrong verdicts, %.1f%% intervals without the truth", p.name, cost, share(wrong), share(missed))
			}
		}
		t.Log(row)
	}
}
