package stats

import (
	"math/rand/v2"
	"testing"
)

func TestOneSideFailsMoreWhereTheBlocksAgree(t *testing.T) {
	for what, c := range map[string]struct {
		d    []float64
		want bool
	}{
		"all of four blocks":               {[]float64{1, 1, 1, 1}, true},
		"three of four":                    {[]float64{1, 1, 1, 0}, false},
		"all of five, little":              {[]float64{.001, .002, .001, .001, .003}, true},
		"all of eight, less":               {[]float64{-.1, -.2, -.1, -.1, -.3, -.1, -.2, -.1}, true},
		"one block of eight, in which all": {[]float64{1, 0, 0, 0, 0, 0, 0, 0}, false},
		"none at all":                      {make([]float64, 12), false},
		"as often one way as the other":    {[]float64{.1, -.1, .2, -.2, .1, -.1, .3, -.3}, false},
		"three blocks":                     {[]float64{1, 1, 1}, false},
		"many blocks, most of them":        {append(make([]float64, 100), repeated(.01, 150)...), true},
	} {
		if got := FailsMore(c.d); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

func repeated(v float64, n int) (all []float64) {
	for range n {
		all = append(all, v)
	}
	return all
}

func TestOneSideOfUnpairedResultsFailsMore(t *testing.T) {
	for what, c := range map[string]struct {
		shares, base []float64
		want         bool
	}{
		"all of four against none of four": {repeated(1, 4), repeated(0, 4), true},
		"none against all":                 {repeated(0, 4), repeated(1, 4), true},
		"three against three, too few":     {repeated(1, 3), repeated(0, 3), false},
		"equal":                            {repeated(.1, 20), repeated(.1, 20), false},
		"one of eight":                     {append(repeated(0, 7), 1), repeated(0, 8), false},
		"nothing known of one side":        {repeated(1, 8), nil, false},
	} {
		if got := FailsMoreUnpaired(c.shares, c.base); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// In each block of either side a server restarts or does not, and then half of the requests
// fail: counted by requests, that is far beyond chance; counted by blocks it is not.
func TestClustersOfFailuresAreNoDifference(t *testing.T) {
	const runs = 2000
	random := rand.New(rand.NewPCG(1, 2))
	for _, blocks := range []int{6, 8, 16, 40} {
		found := 0
		for range runs {
			d := make([]float64, blocks)
			for i := range d {
				side := func() float64 {
					if random.Float64() < .3 {
						return .4 + .2*random.Float64()
					}
					return 0
				}
				d[i] = side() - side()
			}
			if FailsMore(d) {
				found++
			}
		}
		share := float64(found) / runs
		t.Logf("%d blocks: %.2f%%", blocks, 100*share)
		if share > failuresLevel+.015 {
			t.Errorf("%d blocks: found in %.1f%% of the runs", blocks, 100*share)
		}
	}
}
