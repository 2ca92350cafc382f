package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/testing/needs"
)

// The estimates of 13 trials of the BCG vaccine with their variances (Colditz and
// others, 1994), and the result that the R package metafor gives for them by the method
// of Paule and Mandel.
func TestTheSpreadOfAKnownMetaAnalysis(t *testing.T) {
	estimates := []float64{-.8893, -1.5854, -1.3481, -1.4416, -.2175, -.7861, -1.6209, .0120, -.4694, -1.3713, -.3394, .4459, -.0173}
	variances := []float64{.3256, .1946, .4154, .0200, .0512, .0069, .2230, .0040, .0564, .0730, .0124, .5325, .0714}
	spread, mean := randomEffects(estimates, variances)
	if math.Abs(spread*spread-.3181) > 5e-4 || math.Abs(mean.Estimate+.7150) > 1e-3 {
		t.Errorf("variance %.4f, mean %+v", spread*spread, mean)
	}
}

func TestNodesThatAreFewOrEqualHaveNoSpread(t *testing.T) {
	for name, c := range map[string]struct {
		groups [][]float64
		p      float64
		spread bool
	}{
		"one node":              {[][]float64{{.1, .2, .3, .4, .5, .6}}, 1, false},
		"too few blocks":        {[][]float64{{.1, .2}, {.3}, {.5}}, 1, false},
		"two nodes":             {[][]float64{{1, 2, 3, 4, 5, 6}, {11, 12, 13, 14, 15, 16}}, .005, false},
		"three nodes, equal":    {[][]float64{{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}}, 1, true},
		"three nodes, alike":    {[][]float64{{1, 4, 9, 12}, {2, 5, 7, 11}, {3, 6, 8, 10}}, 1, true},
		"three nodes, constant": {[][]float64{{1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}, .005, true},
	} {
		t.Run(name, func(t *testing.T) {
			v := CompareNodes(c.groups)
			if v.P > c.p || c.p == 1 && v.P < .5 {
				t.Errorf("p = %v", v.P)
			}
			if math.IsNaN(v.Spread) == c.spread || c.p == 1 && v.Spread > 0 || v.Mean.Bounded() != c.spread {
				t.Errorf("spread %v, mean %+v", v.Spread, v.Mean)
			}
			if name == "three nodes, constant" && math.Abs(v.Spread-1) > 1e-6 {
				t.Errorf("the standard deviation of 1, 2, 3 is 1, not %v", v.Spread)
			}
		})
	}
}

func TestANodeThatDiffersIsNamed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	groups := make([][]float64, 4)
	for i := range groups {
		for range 8 {
			groups[i] = append(groups[i], .01*rng.NormFloat64())
		}
	}
	if v := CompareNodes(groups); v.Differ != nil || v.P < .05 {
		t.Errorf("equal nodes: %+v", v)
	}
	for i := range groups[2] {
		groups[2][i] += .05
	}
	v := CompareNodes(groups)
	if !slices.Equal(v.Differ, []int{2}) || v.P > .001 || math.Abs(v.Spread-.025) > .005 {
		t.Errorf("one of four is 5%% off, which is a standard deviation of 2.5%%: %+v", v)
	}
	for _, i := range []int{0, 2} {
		groups[i] = groups[i][:3]
	}
	if v := CompareNodes(groups); v.Differ != nil {
		t.Errorf("named with three blocks: %v", v.Differ)
	}
}

func TestNodesThatAreEquallyFarAwayAreNamedTogether(t *testing.T) {
	low, middle, high := []float64{-.4, -.3, -.2, -.1}, []float64{0, .01, .02, .03}, []float64{.1, .2, .3, .4}
	for _, groups := range [][][]float64{{low, middle, high}, {high, middle, low}} {
		if v := CompareNodes(groups); !slices.Equal(v.Differ, []int{0, 2}) {
			t.Errorf("named %v", v.Differ)
		}
	}
}

func TestTheOrderOfNodesAndBlocksMakesNoDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.SliceOfN(rapid.SliceOfN(rapid.Float64Range(-1, 1), 1, 8), 2, 5).Draw(t, "groups")
		order := rapid.Permutation([]int{0, 1, 2, 3, 4}[:len(groups)]).Draw(t, "order")
		other := make([][]float64, len(groups))
		for i, at := range order {
			other[i] = rapid.Permutation(groups[at]).Draw(t, "blocks")
		}
		a, b := CompareNodes(groups), CompareNodes(other)
		near := func(x, y float64) bool { return math.IsNaN(x) && math.IsNaN(y) || x == y || math.Abs(x-y) < 1e-9 }
		if a.P != b.P || !near(a.Spread, b.Spread) || !near(a.Mean.Low, b.Mean.Low) || len(a.Differ) != len(b.Differ) {
			t.Fatalf("%+v\n%+v", a, b)
		}
		for i, at := range order {
			if a.Each[at] != b.Each[i] || slices.Contains(a.Differ, at) != slices.Contains(b.Differ, i) {
				t.Fatalf("%+v\n%+v", a, b)
			}
		}
	})
}

func TestTheRankSumTestAgainstAllOrders(t *testing.T) {
	for _, c := range []struct {
		n, m int
		u, p float64
	}{{4, 4, 0, 2. / 70}, {4, 4, 16, 2. / 70}, {4, 8, 0, 2. / 495}, {4, 4, 1, 4. / 70}, {4, 4, 8, 1}, {4, 4, .5, 4. / 70}} {
		if p := rankSumP(c.n, c.m, c.u); math.Abs(p-c.p) > 1e-12 {
			t.Errorf("%+v: %v", c, p)
		}
	}
}

func simulatedRuns(t *testing.T, usual int) int {
	if text := os.Getenv("TARE_SIM_PATHS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("TARE_SIM_PATHS=%s is not a number of runs", text)
		}
		return n
	}
	return usual
}

// dealt is the node of each block: node i has shares[i] of as many blocks as the shares
// add up to, in random order, as nodes that are faster take more.
func dealt(rng *rand.Rand, shares []int, blocks int) (nodes []int) {
	for len(nodes) < blocks {
		var cycle []int
		for i, share := range shares {
			for range share {
				cycle = append(cycle, i)
			}
		}
		rng.Shuffle(len(cycle), func(i, j int) { cycle[i], cycle[j] = cycle[j], cycle[i] })
		nodes = append(nodes, cycle...)
	}
	return nodes[:blocks]
}

// layouts are how the true changes differ between nodes, in units of their spread, and
// how the blocks are distributed.
var layouts = []struct {
	name   string
	shares []int
	off    []float64 // nil: normal, with the mean over the blocks taken off
	loses  bool      // the error rate is not kept: the typical block is not the mean
}{
	{"2 nodes, ±", []int{1, 1}, []float64{-1, 1}, false},
	{"3 nodes, normal", []int{1, 1, 1}, nil, false},
	{"3 nodes, one below, one above", []int{1, 1, 1}, []float64{-1, 0, 1}, false},
	{"4 nodes, one differs", []int{1, 1, 1, 1}, []float64{-.58, -.58, -.58, 1.74}, false},
	{"8 nodes, normal", slices.Repeat([]int{1}, 8), nil, false},
	{"10 nodes, one differs", slices.Repeat([]int{1}, 10), append(slices.Repeat([]float64{-1. / 3}, 9), 3), true},
	{"3 nodes, 3:2:1 blocks, normal", []int{3, 2, 1}, nil, false},
	{"2 nodes, 2:1 blocks, mean over blocks 0", []int{2, 1}, []float64{-.71, 1.41}, false},
	{"2 nodes, 2:1 blocks, mean over nodes 0", []int{2, 1}, []float64{-1, 1}, true},
}

// The verdict takes the blocks of all nodes as they are, and is about the typical block.
// If the mean over the blocks is 0, nodes that differ make false alarms rarer, except
// where one of many differs a lot: docs/explanation/statistics.md says so.
func TestVerdictsOverNodesThatDiffer(t *testing.T) {
	n := simulatedRuns(t, 4000)
	if needs.ShortForm() {
		n = 1000
	}
	for i, layout := range layouts {
		row := layout.name
		for j, spread := range []float64{0, .5, 1, 2, 4} {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(j)))
			alarms := 0
			for range n {
				off := slices.Clone(layout.off)
				if off == nil {
					sum, shares := 0.0, 0
					for _, share := range layout.shares {
						off = append(off, rng.NormFloat64())
						sum, shares = sum+float64(share)*off[len(off)-1], shares+share
					}
					for k := range off {
						off[k] -= sum / float64(shares)
					}
				}
				d := make([]float64, MostLook)
				for b, node := range dealt(rng, layout.shares, len(d)) {
					d[b] = spread*off[node] + rng.NormFloat64()
				}
				if v, _ := concluded(d, .01); v.Different {
					alarms++
				}
			}
			share := float64(alarms) / float64(n)
			row += fmt.Sprintf(" | %.1f: %.1f%%", spread, 100*share)
			if !(layout.loses && spread > 0) && share > .05+3.5*math.Sqrt(.05*.95/float64(n)) {
				t.Errorf("%s, spread %.1f: false alarms in %.1f%%", layout.name, spread, 100*share)
			}
		}
		t.Log(row)
	}
}

// What the comparison of the nodes promises, with random nodes.
func TestTheComparisonOfNodesKeepsItsErrorRates(t *testing.T) {
	n := simulatedRuns(t, 300)
	if needs.ShortForm() {
		n = 50
	}
	for i, c := range []struct {
		name   string
		blocks []int
	}{{"2 of 6", []int{6, 6}}, {"2 of 16 and 4", []int{16, 4}}, {"3 of 4", []int{4, 4, 4}}, {"3 of 8", []int{8, 8, 8}}, {"4 of 12, 8, 4, 4", []int{12, 8, 4, 4}}, {"8 of 6", slices.Repeat([]int{6}, 8)}, {"8 of 20 to 4", []int{20, 14, 10, 8, 6, 4, 4, 4}}, {"20 of 4", slices.Repeat([]int{4}, 20)}} {
		for j, s := range []shape{unimodal[0], unimodal[3], unimodal[4], unimodal[5]} {
			row := fmt.Sprintf("%s, %s", c.name, s.name)
			for k, spread := range []float64{0, .5, 1, 3} {
				rng := rand.New(rand.NewPCG(uint64(i), uint64(10*j+k)))
				differ, named, missed, outside, estimate := 0, 0, 0, 0, 0.0
				unit := 1.0
				if s.name == "stalls" {
					unit = 1.2
				}
				for range n {
					groups, truth := make([][]float64, len(c.blocks)), make([]float64, len(c.blocks))
					for g, blocks := range c.blocks {
						at := spread * unit * rng.NormFloat64()
						truth[g] = at
						for range blocks {
							groups[g] = append(groups[g], at+s.draw(rng))
						}
					}
					v := CompareNodes(groups)
					if v.P <= .05 {
						differ++
					}
					if len(v.Differ) > 0 {
						named++
					}
					if v.Mean.Low > 0 || v.Mean.High < 0 {
						missed++
					}
					if wrong(v.Each, truth) {
						outside++
					}
					estimate += v.Spread / unit
				}
				share := func(count int) float64 { return float64(count) / float64(n) }
				row += fmt.Sprintf(" | %.1f: differ %.1f%%, named %.1f%%, missed %.1f%%, one outside %.1f%%, spread %.2f", spread, 100*share(differ), 100*share(named), 100*share(missed), 100*share(outside), estimate/float64(n))
				limit := .05 + 4*math.Sqrt(.05*.95/float64(n))
				if spread == 0 && (share(differ) > limit || share(named) > limit) || share(missed) > limit+.01 || share(outside) > limit {
					t.Errorf("%s, spread %.1f: differ %.3f, named %.3f, missed %.3f, outside %.3f", row, spread, share(differ), share(named), share(missed), share(outside))
				}
			}
			t.Log(row)
		}
	}
}

// wrong reports whether one of the intervals does not have its true value.
func wrong(each []Interval, truth []float64) bool {
	for i, v := range each {
		if truth[i] < v.Low || truth[i] > v.High {
			return true
		}
	}
	return false
}
