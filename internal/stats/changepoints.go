package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// ChangePoint is a place in a sequence from which on the values have another
// distribution.
type ChangePoint struct {
	At int     // index of the first value after the change
	P  float64 // of the permutation test
}

// Divisive are the settings of the search for change points.
type Divisive struct {
	Exponent     float64 // of the distances, in (0, 2): below 2 every change of a distribution counts
	Least        int     // values between two change points, at least 2
	Level        float64 // of the test of each change point
	Permutations int     // of the test: 1 / (Permutations + 1) is the smallest p
}

// ChangePoints finds change points by hierarchical divisive estimation, E-divisive
// (Matteson and James 2014, A nonparametric approach for multiple change point analysis
// of multivariate data, Journal of the American Statistical Association 109, sections 2
// and 3). It splits the sequence where the energy distance of what is before and after is
// largest, and goes on with the parts until a permutation test finds no change. The same
// values and seed give the same change points, which are in order.
func (d Divisive) ChangePoints(values []float64, seed uint64) []ChangePoint {
	distances := make([][]float64, len(values))
	for i := range values {
		distances[i] = make([]float64, len(values))
		for j := range values {
			distances[i][j] = math.Pow(math.Abs(values[i]-values[j]), d.Exponent)
		}
	}
	random := rand.New(rand.NewPCG(seed, 0))
	ends := []int{0, len(values)}
	var found []ChangePoint
	order := make([]int, len(values))
	for {
		for i := range order {
			order[i] = i
		}
		at, energy := d.split(distances, order, ends)
		if at < 0 {
			return found
		}
		over, p := 1, 0.0
		for range d.Permutations {
			for i := range ends[1:] { // a permutation keeps what has been found
				part := order[ends[i]:ends[i+1]]
				random.Shuffle(len(part), func(a, b int) { part[a], part[b] = part[b], part[a] })
			}
			// The same split, summed in another order, differs in its last bits.
			if _, other := d.split(distances, order, ends); other >= energy-1e-9*math.Abs(energy) {
				over++
			}
			if p = float64(over) / float64(d.Permutations+1); p > d.Level {
				return found // whatever the others are
			}
		}
		found = append(found, ChangePoint{at, p})
		slices.SortFunc(found, func(a, b ChangePoint) int { return a.At - b.At })
		ends = append(ends, at)
		slices.Sort(ends)
	}
}

// split finds the best place to split a part of the values, in an order, and the scaled
// energy distance there; -1 where each part is too short.
func (d Divisive) split(distances [][]float64, order, ends []int) (at int, energy float64) {
	at, energy = -1, math.Inf(-1)
	for i := range ends[1:] {
		if here, e := d.splitPart(distances, order[ends[i]:ends[i+1]]); here >= 0 && e > energy {
			at, energy = ends[i]+here, e
		}
	}
	return at, energy
}

// splitPart maximises the scaled statistic Q(X, Y) of the paper over the first values X, up to a
// place, and the values Y between it and a second place.
func (d Divisive) splitPart(distances [][]float64, part []int) (at int, energy float64) {
	at, energy = -1, math.Inf(-1)
	before := 0.0                           // sum of the distances of pairs in X
	between := make([]float64, len(part)+1) // between X and Y, by the end of Y
	within := make([]float64, len(part)+1)  // of pairs in Y, by its end
	// X is empty and Y begins at 0.
	for end := 1; end <= len(part); end++ {
		sum := 0.0
		for _, k := range part[:end-1] {
			sum += distances[part[end-1]][k]
		}
		within[end] = within[end-1] + sum
	}
	for n := 1; n <= len(part)-d.Least; n++ {
		moved := distances[part[n-1]] // from Y to X
		toX := 0.0
		for _, k := range part[:n-1] {
			toX += moved[k]
		}
		before += toX
		toY := 0.0
		for end := n + 1; end <= len(part); end++ {
			toY += moved[part[end-1]]
			within[end] -= toY
			between[end] += toY - toX
			m := end - n
			if n < d.Least || m < d.Least {
				continue
			}
			x, y := float64(n), float64(m)
			q := x * y / (x + y) * (2*between[end]/(x*y) - 2*before/(x*(x-1)) - 2*within[end]/(y*(y-1)))
			if q > energy {
				at, energy = n, q
			}
		}
	}
	return at, energy
}
