package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/testing/needs"
)

// spreads are the standard deviation of a difference over the course of a run, t
// from 0 to 1.
var spreads = []struct {
	name string
	at   func(t float64) float64
}{
	{"constant", func(float64) float64 { return 1 }},
	{"threefold", func(t float64) float64 { return 1 + 2*t }},
	{"tenfold", func(t float64) float64 { return 1 + 9*t }},
	{"jump", func(t float64) float64 {
		if t < .5 {
			return 1
		}
		return 4
	}},
}

type shape struct {
	name string
	draw func(rng *rand.Rand) float64
}

// unimodal are shapes of differences, symmetric about 0. The extended
// range has the least to spare with the second.
var unimodal = []shape{
	{"normal", (*rand.Rand).NormFloat64},
	{"uniform", func(rng *rand.Rand) float64 { return rng.Float64() - .5 }},
	{"triangular", func(rng *rand.Rand) float64 { return rng.Float64() - rng.Float64() }},
	{"Laplace", func(rng *rand.Rand) float64 { return rng.ExpFloat64() - rng.ExpFloat64() }},
	{"Cauchy", func(rng *rand.Rand) float64 { return math.Tan(math.Pi * (rng.Float64() - .5)) }},
	{"stalls", func(rng *rand.Rand) float64 { // one in ten is fifty times as far away
		if rng.IntN(10) == 0 {
			return 50 * rng.NormFloat64()
		}
		return rng.NormFloat64()
	}},
}

// course is the differences of one block after another, with the looks of a run of that
// many blocks that ends with them.
func course(d []float64, budget bool) Course {
	blocks := make([]int, len(d))
	for i := range blocks {
		blocks[i] = i + 1
	}
	if budget {
		return Course{D: d, Looks: BlockLooks(blocks, []int{(len(d) + 3) / 4, (len(d) + 1) / 2}), Final: true}
	}
	return Course{D: d, Looks: CountLooks(blocks, len(d)), Final: true}
}

// concluded is what the procedure says about one contrast on its own.
func concluded(d []float64, margin float64) (Judgement, Interval) {
	rules := Rules{M: 1, Rate: .05, Margin: margin, Precision: .25}
	j := rules.Judge([]Course{course(d, false)})[0]
	return j, HodgesLehmann(d[:j.N], rules.Rate*j.Part)
}

func TestTheSharesOfTheErrorAreThoseThatWereFixed(t *testing.T) {
	blocks := make([]int, 60)
	for i := range blocks {
		blocks[i] = 2*i + 1
	}
	spent := 0.0
	for i, l := range CountLooks(blocks, 60) {
		if spent += l.Share; l.N != looks[i] || l.Block != blocks[l.N-1] || math.Abs(spent-math.Pow(float64(l.N)/60, 1.5)) > 1e-12 {
			t.Errorf("%+v, %v spent", l, spent)
		}
	}
	for _, c := range []struct {
		name   string
		blocks []int
		at     []int
		want   []Look
	}{
		{"both", blocks[:30], []int{13, 29}, []Look{{7, 13, .02}, {15, 29, .10}}},
		{"the first has five blocks", blocks[:30], []int{9, 29}, []Look{{15, 29, .10}}},
		{"one block ends after both", blocks[:30], []int{29, 29}, []Look{{15, 29, .10}}},
		{"between two blocks", blocks[:30], []int{14, 0}, []Look{{7, 14, .02}}},
		{"not reached", blocks[:30], []int{0, 0}, nil},
	} {
		if got := BlockLooks(c.blocks, c.at); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	for _, budget := range []bool{false, true} {
		c := course(make([]float64, 24), budget)
		c.D = nil
		for range 24 {
			c.D = append(c.D, math.Sin(2*float64(len(c.D))))
		}
		j := Rules{M: 1, Rate: .05, Margin: .02, Precision: .25}.Judge([]Course{c})[0]
		if math.Abs(j.Share-1) > 1e-12 || j.Decided() || !j.Closed || j.N != 24 || j.Looks[len(j.Looks)-1] != 24 {
			t.Errorf("budget %v: %+v", budget, j)
		}
	}
}

func TestHolmRejectsStepByStep(t *testing.T) {
	for _, c := range []struct {
		p    []float64
		m    int
		want []bool
	}{
		{[]float64{.04}, 1, []bool{true}},
		{[]float64{.03, .01, .02}, 3, []bool{true, true, true}},
		{[]float64{.03, .017, .02}, 3, []bool{false, false, false}},
		{[]float64{.03, .01, .06}, 3, []bool{false, true, false}},
		{[]float64{.01}, 10, []bool{false}},
		{[]float64{math.Inf(1), .001}, 2, []bool{false, true}},
	} {
		if got := Holm(c.p, c.m, .05); !slices.Equal(got, c.want) {
			t.Errorf("%v of %d: %v", c.p, c.m, got)
		}
	}
}

func TestThePValueIsTheLevelAtWhichTheIntervalReachesThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(LeastBlocks, 40).Draw(t, "n")
		d := rapid.SliceOfN(rapid.Float64Range(-.3, 1), n, n).Draw(t, "d")
		c := rapid.Float64Range(-.5, .5).Draw(t, "c")
		alpha := rapid.Float64Range(1e-5, .2).Draw(t, "alpha")
		w := NewWalsh(d)
		v, above, below := w.Interval(alpha), 2*w.PAbove(c), 2*w.PBelow(c)
		if math.Abs(above/alpha-1) > 1e-6 && (v.Low > c) != (above <= alpha) {
			t.Fatalf("above %v: p = %v at the level %v, the interval is %+v", c, above, alpha, v)
		}
		if math.Abs(below/alpha-1) > 1e-6 && (v.High < c) != (below <= alpha) {
			t.Fatalf("below %v: p = %v at the level %v, the interval is %+v", c, below, alpha, v)
		}
	})
}

func TestAJudgementIsTheSameFromBothSidesAndInAnyOrderOfTheFamily(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 5).Draw(t, "m")
		rules := Rules{M: m + rapid.IntRange(0, 2).Draw(t, "others"), Rate: .05, Margin: math.Log(1.02), Precision: .25}
		var plain, turnedRound []Course
		for range m {
			d := differences(t, LeastBlocks)
			budget := rapid.Bool().Draw(t, "budget")
			plain = append(plain, course(d, budget))
			turnedRound = append([]Course{course(mirrored(d), budget)}, turnedRound...)
		}
		a, b := rules.Judge(plain), rules.Judge(turnedRound)
		for i := range a {
			x, y := a[i], b[m-1-i]
			if x.Difference != y.Difference || x.Different != y.Different || x.Equivalent != y.Equivalent || x.N != y.N || x.Block != y.Block {
				t.Fatalf("%+v, from the other side %+v", x, y)
			}
		}
	})
}

func TestMoreBlocksTakeNoVerdictBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := Rules{M: 3, Rate: .05, Margin: math.Log(1.02), Precision: .25}
		var whole, part []Course
		for range 3 {
			d := rapid.SliceOfN(rapid.Float64Range(-.2, 1), 60, 60).Draw(t, "d")
			c := course(d, false)
			whole = append(whole, c)
			n := 30
			part = append(part, Course{D: d[:n], Looks: slices.DeleteFunc(slices.Clone(c.Looks), func(l Look) bool { return l.N > n })})
		}
		early, late := rules.Judge(part), rules.Judge(whole)
		for i, e := range early {
			if l := late[i]; e.Different && !l.Different || e.Equivalent && !l.Equivalent || e.Closed && (l.N != e.N || l.Part != e.Part) {
				t.Fatalf("%+v became %+v", e, l)
			}
		}
	})
}

func TestTheAimIsTheVerdictOrThePrecisionWhicheverIsNarrower(t *testing.T) {
	for _, c := range []struct{ estimate, want float64 }{
		{0, .02},   // equivalent
		{.01, .01}, // undecided between both: the farthest
		{.02, .02}, // different
		{.5, .125}, // a quarter
		{3, mostHalf},
	} {
		if got := (Interval{Estimate: c.estimate}).Aim(.02, .25); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("of %v: %v, want %v", c.estimate, got, c.want)
		}
	}
}

func TestAnEnvironmentLeavesWhenItIsDecidedAndPrecise(t *testing.T) {
	rules := Rules{M: 1, Rate: .05, Margin: math.Log(1.02), Precision: .25}
	made := func(effect, spread float64) (d []float64) {
		for i := range 60 {
			d = append(d, effect+spread*float64(i%3-1))
		}
		return d
	}
	for _, c := range []struct {
		effect, spread float64
		n              int
	}{{1, .01, 6}, {1, .2, 14}, {.05, .001, 6}, {0, .001, 6}, {.05, .03, 21}} {
		if j := rules.Judge([]Course{course(made(c.effect, c.spread), false)})[0]; j.N != c.n || !j.Decided() {
			t.Errorf("%v with %v: %+v, want to leave at %d", c.effect, c.spread, j, c.n)
		}
	}
}

// family simulates a family with a baseline of its own in each block. All differences
// are multiplied by the spread, whose course is another.
func family(rng *rand.Rand, m, n int, sd float64, effects []float64, s shape, spread func(float64) float64, budget bool) []Course {
	all := make([]Course, m)
	d := make([][]float64, m)
	for b := range n {
		at := spread(float64(b) / float64(n-1))
		base := s.draw(rng)
		for i := range d {
			d[i] = append(d[i], effects[i]+sd*at*(s.draw(rng)-base)/math.Sqrt2)
		}
	}
	for i := range all {
		all[i] = course(d[i], budget)
	}
	return all
}

// The promise: at most 5% for any false difference of a family, over all looks; the same
// for any false equivalence of effects of the margin; and each printed interval misses in
// at most 5%.
func TestTheProcedureKeepsThePromiseOfAFamily(t *testing.T) {
	n := simulatedRuns(t, 400)
	if needs.ShortForm() {
		n = 100
	}
	margin := math.Log(1.02)
	for i, s := range unimodal {
		for k, spread := range spreads {
			row := fmt.Sprintf("%-10s %-9s", s.name, spread.name)
			for _, c := range []struct {
				m, blocks int
				budget    bool
			}{{1, 60, false}, {3, 60, false}, {10, 60, false}, {1, 12, true}, {3, 24, true}, {10, 24, true}} {
				rng := rand.New(rand.NewPCG(uint64(i*10+k), uint64(c.m*100+c.blocks)))
				rules := Rules{M: c.m, Rate: .05, Margin: margin, Precision: .25}
				alarms, equal, missed := 0, 0, 0
				for run := range n {
					effects := make([]float64, c.m) // none, then the margin
					sd := []float64{.004, .02, .1}[run%3]
					courses := family(rng, c.m, c.blocks, sd, effects, s, spread.at, c.budget)
					bad := false
					for a, j := range rules.Judge(courses) {
						bad = bad || j.Different
						if v := HodgesLehmann(courses[a].D[:j.N], .05*j.Part); a == 0 && (v.Low > 0 || v.High < 0) {
							missed++
						}
					}
					if bad {
						alarms++
					}
					for a := range effects {
						effects[a] = margin
					}
					bad = false
					for _, j := range rules.Judge(family(rng, c.m, c.blocks, sd, effects, s, spread.at, c.budget)) {
						bad = bad || j.Equivalent
					}
					if bad {
						equal++
					}
				}
				limit := .05 + 3.5*math.Sqrt(.05*.95/float64(n))
				share := func(count int) float64 { return float64(count) / float64(n) }
				row += fmt.Sprintf(" | m=%d n=%d: %.1f%% %.1f%% %.1f%%", c.m, c.blocks, 100*share(alarms), 100*share(equal), 100*share(missed))
				if share(alarms) > limit || share(equal) > limit || share(missed) > limit {
					t.Errorf("%s, %s, m=%d, %d blocks, budget %v: %.1f%% false alarms, %.1f%% false equivalences, %.1f%% intervals without the truth",
						s.name, spread.name, c.m, c.blocks, c.budget, 100*share(alarms), 100*share(equal), 100*share(missed))
				}
			}
			t.Log(row)
		}
	}
}

// Figures beside a verdict have plain intervals, which are read where the results end the
// run. An early end needs a verdict with a small share, and so this costs little; most where the
// spread grows.
func TestAPlainIntervalWhereTheRunEndsMissesLittleMore(t *testing.T) {
	runs := simulatedRuns(t, 100)
	rules := Rules{M: 1, Rate: .05, Margin: math.Log1p(.02), Precision: .25}
	for _, spread := range spreads {
		for _, budget := range []bool{false, true} {
			for _, change := range []float64{.05, .1, .2, .4, .7, 3.4} {
				rng := rand.New(rand.NewPCG(8, 9))
				missed, blocks, most := 0, 0, MostLook
				if budget {
					most = 24
				}
				for range runs {
					d := make([]float64, most)
					for i := range d {
						d[i] = change + .05*spread.at(float64(i)/float64(most))*rng.NormFloat64()
					}
					n := rules.Judge([]Course{course(d, budget)})[0].N
					if v := HodgesLehmann(d[:n], .05); v.Low > change || v.High < change {
						missed++
					}
					blocks += n
				}
				rate := float64(missed) / float64(runs)
				t.Logf("%s, budget %v, change %.2f: after %.1f blocks misses in %.1f%%", spread.name, budget, change, float64(blocks)/float64(runs), 100*rate)
				if rate > .066+4*math.Sqrt(.066*.934/float64(runs)) {
					t.Errorf("%s, budget %v, change %.2f: misses in %.1f%%", spread.name, budget, change, 100*rate)
				}
			}
		}
	}
}

// A run that ends when a difference is large enough has, on average, one that happened to
// be large. That it has to be precise as well keeps the exaggeration small, except inside the
// margin, where a run ends as equivalent and those that are found are the large ones.
func TestEstimatesAtAnEarlyEndExaggerateLittle(t *testing.T) {
	runs := simulatedRuns(t, 100)
	rules := Rules{M: 1, Rate: .05, Margin: math.Log1p(.02), Precision: .25}
	for _, c := range []struct{ deviation, change float64 }{{.03, .01}, {.03, .02}, {.03, .05}, {.03, .2}, {.1, .05}, {.1, .2}, {.1, .7}} {
		for _, budget := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(8, 9))
			most := MostLook
			if budget {
				most = 24
			}
			early, late, sums := 0, 0, [2]float64{}
			for range runs {
				d := make([]float64, most)
				for i := range d {
					d[i] = c.change + c.deviation*rng.NormFloat64()
				}
				j := rules.Judge([]Course{course(d, budget)})[0]
				if !j.Different {
					continue
				}
				if estimate := HodgesLehmann(d[:j.N], .05).Estimate; j.N < most {
					early, sums[0] = early+1, sums[0]+estimate
				} else {
					late, sums[1] = late+1, sums[1]+estimate
				}
			}
			over := func(sum float64, n int) float64 { return 100 * (sum/float64(max(1, n))/c.change - 1) }
			t.Logf("deviation %.0f%%, change %.0f%%, budget %v: different and ended early %d of %d, estimates %+.0f%% of the change; at the end %d, %+.0f%%", 100*c.deviation, 100*c.change, budget, early, runs, over(sums[0], early), late, over(sums[1], late))
			if c.change > rules.Margin && early > runs/5 && over(sums[0], early) > 15 {
				t.Errorf("early ends exaggerate by %.0f%%", over(sums[0], early))
			}
		}
	}
}
