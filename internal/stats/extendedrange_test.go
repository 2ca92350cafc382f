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

// The extended range keeps its level for every shape that is symmetric and unimodal,
// and where the differences have different scales. It is exact for uniform ones of
// the same scale.
func TestTheExtendedRangeKeepsItsLevel(t *testing.T) {
	paths := 40000
	if needs.ShortForm() {
		paths = 10000
	}
	scales := slices.Clone(spreads)
	scales = append(scales, struct {
		name string
		at   func(t float64) float64
	}{"the last alone is wide", func(t float64) float64 {
		if t < 1 {
			return 1
		}
		return 30
	}})
	for n := LeastBlocks; n <= 8; n++ {
		for _, alpha := range []float64{.05, .0142, .0042, .0018} {
			if SignedRankK(n, alpha) > 0 {
				continue
			}
			tolerance := 4 * math.Sqrt(alpha/float64(paths))
			for i, scale := range scales {
				for j, s := range unimodal {
					rng := rand.New(rand.NewPCG(uint64(10*i+j), uint64(n)))
					missed, d := 0, make([]float64, n)
					for range paths {
						for k := range d {
							d[k] = scale.at(float64(k)/float64(n-1)) * s.draw(rng)
						}
						least, most := slices.Min(d), slices.Max(d)
						if beyond := extension(n, alpha) * (most - least); least-beyond > 0 || most+beyond < 0 {
							missed++
						}
					}
					share := float64(missed) / float64(paths)
					what := fmt.Sprintf("n=%d at %.4f, %s, %s: %.4f missed", n, alpha, s.name, scale.name, share)
					if share > alpha+tolerance || s.name == "uniform" && scale.name == "constant" && share < alpha-tolerance {
						t.Error(what)
					}
				}
			}
		}
	}
}

// Where the signed-rank interval is just bounded, it is the range, and so is the
// extended range at that level: the two meet.
func TestTheExtendedRangeMeetsTheSignedRankInterval(t *testing.T) {
	for n := LeastBlocks; n <= 20; n++ {
		if e := extension(n, 2*SignedRankCDF(n)[0]); math.Abs(e) > 1e-12 {
			t.Errorf("n=%d: extended by %v", n, e)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SliceOfN(rapid.Float64Range(-1, 1), 1, 12).Draw(t, "d")
		alpha := rapid.Float64Range(1e-4, .05).Draw(t, "alpha")
		v, beyond := HodgesLehmann(d, alpha), 0.0
		switch {
		case len(d) < LeastBlocks:
			if v.Bounded() {
				t.Fatalf("%d differences have a bounded interval", len(d))
			}
			return
		case SignedRankK(len(d), alpha) > 1:
			return
		case SignedRankK(len(d), alpha) == 0:
			beyond = extension(len(d), alpha) * (slices.Max(d) - slices.Min(d))
		}
		if !alike(v.Low, slices.Min(d)-beyond) || !alike(v.High, slices.Max(d)+beyond) {
			t.Fatalf("%+v is not the range, extended by %v", v, beyond)
		}
	})
}
