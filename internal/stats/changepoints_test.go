package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Sequences, and what the package ecp 3.1.6 of R makes of them: e.split with the values of
// e.divisive, and the change points at a level of 0.05 with 999 permutations.
var (
	growing      = []float64{-0.626, 0.184, -0.836, 1.595, 0.33, -0.82, 0.487, 0.738, 0.576, -0.305, 1.512, 0.39, -0.621, -2.215, 1.125, -0.045, -0.016, 0.944, 0.821, 0.594, 2.919, 2.782, 2.075, 0.011, 2.62, 1.944, 1.844, 0.529, 1.522, 2.418, 3.359, 1.897, 2.388, 1.946, 0.623, 0.755, 0.817, 1.822, 5.3, 4.29, 1.506, 1.24, 4.091, 3.67, -0.066, -0.122, 3.094, 4.306, 1.663, 4.643, 3.194, 0.164, 3.023, -1.388, 6.299, 7.941, 0.898, -1.132, 3.709, 1.595}
	thereAndBack = []float64{0.074, 0.0496, 0.0569, 0.0503, 0.0426, 0.0519, 0.032, 0.0647, 0.0515, 0.0717, 0.0548, 0.0429, 0.0961, 0.0807, 0.0775, 0.0929, 0.0856, 0.09, 0.0907, 0.0841, 0.0843, 0.0486, 0.0618, 0.0348, 0.0559, 0.0533, 0.0606, 0.047, 0.0537, 0.0527, 0.0446, 0.0621, 0.0616, 0.057, 0.0659}
	steady       = []float64{0.558, -1.277, -0.573, -1.225, -0.473, -0.62, 0.042, -0.911, 0.158, -0.655, 1.767, 0.717, 0.91, 0.384, 1.682, -0.636, -0.462, 1.432, -0.651, -0.207, -0.393, -0.32, -0.279, 0.494, -0.177, -0.506, 1.343, -0.215, -0.18, -0.1}
)

func TestChangePointsAreThoseOfECP(t *testing.T) {
	for _, c := range []struct {
		name     string
		values   []float64
		least    int
		exponent float64
		at       int
		energy   float64
		found    []int
	}{
		{"growing", growing, 5, 1, 20, 21.0914672395274, []int{20}},
		{"growing", growing, 5, 1.5, 20, 50.4850044232067, []int{20}},
		{"growing", growing, 3, 0.5, 20, 7.41864113369041, []int{20}},
		{"there and back", thereAndBack, 3, 1, 12, 0.233202597402598, []int{12, 21}},
		{"there and back", thereAndBack, 5, 1, 12, 0.233202597402598, []int{12, 21}},
		{"steady", steady, 3, 1, 10, 5.81906666666667, []int{10}}, // p is 0.034 there
	} {
		d := Divisive{Exponent: c.exponent, Least: c.least, Level: 0.05, Permutations: 999}
		at, energy := splitOf(d, c.values)
		if at != c.at || math.Abs(energy/c.energy-1) > 1e-12 {
			t.Errorf("%s, %d values, exponent %g: split at %d with %.15g, ecp has %d with %.15g", c.name, c.least, c.exponent, at, energy, c.at, c.energy)
		}
		if found := places(d.ChangePoints(c.values, 1)); !slices.Equal(found, c.found) {
			t.Errorf("%s, %d values, exponent %g: change points %v, ecp has %v", c.name, c.least, c.exponent, found, c.found)
		}
	}
}

func splitOf(d Divisive, values []float64) (int, float64) {
	distances := make([][]float64, len(values))
	order := make([]int, len(values))
	for i := range values {
		order[i], distances[i] = i, make([]float64, len(values))
		for j := range values {
			distances[i][j] = math.Pow(math.Abs(values[i]-values[j]), d.Exponent)
		}
	}
	return d.split(distances, order, []int{0, len(values)})
}

func places(all []ChangePoint) (list []int) {
	for _, c := range all {
		list = append(list, c.At)
	}
	return list
}

var quick = Divisive{Exponent: 1, Least: 3, Level: 0.05, Permutations: 99}

func TestChangePointsAreApartAndDoNotDependOnTheUnit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(-1000, 1000).Draw(t, "value")) }), 0, 40).Draw(t, "values")
		found := quick.ChangePoints(values, 7)
		before := 0
		for _, c := range append(slices.Clone(found), ChangePoint{At: len(values)}) {
			if c.At-before < quick.Least && len(found) > 0 {
				t.Fatalf("%v in %d values: fewer than %d values from %d to %d", places(found), len(values), quick.Least, before, c.At)
			}
			before = c.At
		}
		scaled := slices.Clone(values)
		for i := range scaled { // powers of two keep every sum exact
			scaled[i] = 4*scaled[i] + 1024
		}
		if other := quick.ChangePoints(scaled, 7); !slices.Equal(found, other) {
			t.Fatalf("%v became %v in another unit", found, other)
		}
	})
}

func TestAFewRunsOrEqualOnesHaveNoChangePoint(t *testing.T) {
	for _, values := range [][]float64{nil, {1}, {1, 2, 3, 4, 5}, make([]float64, 30)} {
		if found := quick.ChangePoints(values, 1); len(found) > 0 {
			t.Errorf("%v: %v", values, found)
		}
	}
}

// Of the 70 ways to divide 8 values into halves, two are as clear as a step in the middle,
// in whatever order their distances are summed.
func TestTheProbabilityOfAStepIsThatOfItsPermutations(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 7))
		values := make([]float64, 8)
		for i := range values {
			values[i] = float64(i/4) + .01*random.NormFloat64()
		}
		found := Divisive{Exponent: 1, Least: 3, Level: .1, Permutations: 999}.ChangePoints(values, seed)
		if len(found) == 0 || found[0].At != 4 || math.Abs(found[0].P-2./70) > 5*math.Sqrt(2./70/1000) {
			t.Errorf("seed %d: %+v, and p is %.4f", seed, found, 2./70)
		}
	}
}

func TestAStepIsFoundWhereItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(6, 20).Draw(t, "before"), rapid.IntRange(6, 20).Draw(t, "after")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var values []float64
		for i := range n + m {
			value := random.Float64()
			if i >= n {
				value += 10
			}
			values = append(values, value)
		}
		if found := places(quick.ChangePoints(values, 3)); !slices.Contains(found, n) {
			t.Fatalf("step at %d, found %v in %v", n, found, values)
		}
	})
}

// The level is that of the first test: the share of sequences without a change in which
// one is found.
func TestTheLevelOfChangePointsIsKept(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 1))
	wrong, sequences := 0, 400
	for s := range sequences {
		values := make([]float64, 20)
		for i := range values {
			values[i] = random.NormFloat64()
		}
		if len(quick.ChangePoints(values, uint64(s))) > 0 {
			wrong++
		}
	}
	// Five of a hundred are expected; 35 of 400 is more than three standard deviations off.
	if wrong > 35 {
		t.Errorf("a change was found in %d of %d sequences without one", wrong, sequences)
	}
	t.Logf("%d of %d", wrong, sequences)
}
