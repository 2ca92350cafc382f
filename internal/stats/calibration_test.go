package stats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// calibratedRows are the sizes of families in levels.json.
var calibratedRows = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 20, 25, 30, 40, 50}

// calibratedShare of the error is spent; the rest is for what the calibration does
// not know, such as the error of its simulation.
const calibratedShare = .95

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

// unimodal are shapes of differences, symmetric about 0. The first two are those of
// the calibration: the usual one, and the one for which the extended range has the
// least to spare.
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

// crossings gives the two-sided levels at which the interval of a run lies above and
// below 0 at any look, from its differences: the least p-value of the looks.
type crossings struct {
	order []int
}

func (c *crossings) of(d []float64) (above, below float64) {
	c.order = c.order[:0]
	for i := range d {
		c.order = append(c.order, i)
	}
	slices.SortFunc(c.order, func(a, b int) int {
		if math.Abs(d[a]) < math.Abs(d[b]) {
			return -1
		}
		return 1
	})
	above, below = 1, 1
	for _, n := range looks {
		if n > len(d) {
			break
		}
		positive, rank := 0, 0
		least, most := math.Inf(1), math.Inf(-1)
		for _, i := range c.order {
			if i >= n {
				continue
			}
			rank++
			if d[i] > 0 {
				positive += rank
			}
			least, most = min(least, d[i]), max(most, d[i])
		}
		cdf := SignedRankCDF(n)
		above, below = min(above, 2*cdf[len(cdf)-1-positive]), min(below, 2*cdf[positive])
		// The extended range begins at 0 where t is 1/(1 - least/most) - 1.
		switch {
		case least > 0:
			above = min(above, math.Pow((1-least/most)/2, float64(n-1)))
		case most < 0:
			below = min(below, math.Pow((1-most/least)/2, float64(n-1)))
		}
	}
	return above, below
}

// simulated are the crossings of so many runs, sorted: of either side, and of one
// side, for which each run counts twice. Those that no level of the table reaches are
// left out.
func simulated(paths int, s shape, spread func(t float64) float64, rng *rand.Rand) (either, one []float64) {
	c := crossings{}
	d := make([]float64, looks[len(looks)-1])
	for range paths {
		for i := range d {
			d[i] = spread(float64(i)/float64(len(d)-1)) * s.draw(rng)
		}
		above, below := c.of(d)
		for _, p := range []float64{above, below} {
			if p < .05 {
				one = append(one, p)
			}
		}
		if p := min(above, below); p < .05 {
			either = append(either, p)
		}
	}
	slices.Sort(either)
	slices.Sort(one)
	return either, one
}

// attainable are the p-values that the signed-rank test has at the looks, sorted.
func attainable() (all []float64) {
	for _, n := range looks {
		for _, p := range SignedRankCDF(n) {
			if p < .05 {
				all = append(all, 2*p)
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestLevels simulates the error over all looks with the levels of levels.json. With
// TARE_CALIBRATE=PATHS it finds the levels and writes the file: for each row the
// largest attainable p-value whose crossing probability is at most calibratedShare of
// the error, in each combination of a spread and one of the first two shapes.
func TestLevels(t *testing.T) {
	paths, rows, write := 20000, []int{1, 3, 10}, false
	if testing.Short() {
		paths = 4000
	}
	if text := os.Getenv("TARE_CALIBRATE"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("TARE_CALIBRATE=%s is not a number of runs", text)
		}
		paths, rows, write = n, calibratedRows, true
	}
	found := map[int]level{}
	for _, m := range rows {
		found[m] = level{1, 1}
	}
	for i, spread := range spreads {
		for j, s := range unimodal {
			if write && j >= 2 {
				continue
			}
			either, one := simulated(paths, s, spread.at, rand.New(rand.NewPCG(uint64(i), uint64(j))))
			row := fmt.Sprintf("%-10s %-10s", spread.name, s.name)
			for _, m := range rows {
				// TOST is at 5%/m on each side.
				rate := calibratedAt / float64(m)
				if l := found[m]; write {
					at := int(calibratedShare * rate * float64(paths))
					found[m] = level{min(l.Alpha, either[at]), min(l.AlphaEq, one[2*at])}
					continue
				}
				alpha, alphaEq := Levels(m)
				within := func(p []float64, limit float64) float64 {
					n, _ := slices.BinarySearch(p, limit*(1+1e-9))
					return float64(n)
				}
				different, equivalent := within(either, alpha)/float64(paths), within(one, alphaEq)/float64(2*paths)
				row += fmt.Sprintf(" | m=%d: %.2f and %.2f of the error", m, different/rate, equivalent/rate)
				if limit := rate + 3.5*math.Sqrt(rate/float64(paths)); different > limit || equivalent > limit {
					t.Errorf("%s, %s, m=%d: %.4f and %.4f, promised is %.4f", spread.name, s.name, m, different, equivalent, rate)
				}
			}
			t.Log(row)
		}
	}
	if !write {
		return
	}
	p := attainable()
	largest := func(limit float64) float64 {
		n, _ := slices.BinarySearch(p, limit*(1+1e-9))
		return p[n-1]
	}
	for m, l := range found {
		found[m] = level{largest(l.Alpha), largest(l.AlphaEq)}
	}
	note := fmt.Sprintf("nominal two-sided level used at every look, by number m of contrasts in the family; the worst crossing probability over four profiles of the variance (constant, 3x and 10x growing, 4x jump), each with normal and with uniform differences, is at most %.2f of 5%%/m (alpha) and of 5%%/m on each side (alpha_eq, TOST); %d runs of each; calibration_test.go finds these numbers", calibratedShare, paths)
	text, err := json.MarshalIndent(struct {
		Looks  []int             `json:"looks"`
		Note   string            `json:"note"`
		Levels map[string]string `json:"levels"`
	}{looks, note, map[string]string{}}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var levels []string // in the order of their numbers, which a map's is not
	for _, m := range rows {
		levels = append(levels, fmt.Sprintf("  \"%d\": {\n   \"alpha\": %v,\n   \"alpha_eq\": %v\n  }", m, found[m].Alpha, found[m].AlphaEq))
	}
	text = bytes.Replace(text, []byte(`"levels": {}`), []byte("\"levels\": {\n"+strings.Join(levels, ",\n")+"\n }"), 1)
	if err := os.WriteFile("levels.json", append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The p-values of the calibration are those at which the intervals begin to contain 0.
func TestTheCalibrationCrossesWhereTheIntervalsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom(looks).Draw(t, "n")
		// A difference of exactly 0 has no sign: an interval that ends there contains it.
		signed := rapid.Float64Range(-.2, 1).Filter(func(x float64) bool { return x != 0 })
		d := rapid.SliceOfNDistinct(signed, n, n, math.Abs).Draw(t, "d")
		alpha := rapid.Float64Range(1e-4, .02).Draw(t, "alpha")
		c := crossings{}
		above, below := c.of(d)
		excluded := false
		for _, look := range looks {
			if look <= n {
				excluded = excluded || HodgesLehmann(d[:look], alpha).ExcludesZero()
			}
		}
		if p := min(above, below); excluded != (p <= alpha) && math.Abs(p/alpha-1) > 1e-9 {
			t.Fatalf("p = %v at the level %v, but 0 is excluded: %v", p, alpha, excluded)
		}
	})
}
