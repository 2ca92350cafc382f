package lifecycle

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// disturbances lengthen the run of a driver by a factor and by a time.
var disturbances = map[string]func(*rand.Rand) (factor float64, more time.Duration){
	"none":               func(*rand.Rand) (float64, time.Duration) { return 1, 0 },
	"a slow machine":     func(r *rand.Rand) (float64, time.Duration) { return math.Exp(.5 * r.NormFloat64()), 0 },
	"a heavy tail":       func(r *rand.Rand) (float64, time.Duration) { return 1 / math.Pow(1-r.Float64(), 1/1.5), 0 },
	"without an average": func(r *rand.Rand) (float64, time.Duration) { return 1 / math.Pow(1-r.Float64(), 1/.8), 0 },
	"long pauses": func(r *rand.Rand) (float64, time.Duration) {
		return 1, time.Duration(r.IntN(2)) * time.Duration(100e6*r.ExpFloat64())
	},
}

func TestASearchEndsWithAnAmountInAnyNoise(t *testing.T) {
	const searches = 500
	drivers := []struct{ start, unit, wanted time.Duration }{
		{0, 10 * time.Microsecond, 100 * time.Millisecond},
		{2 * time.Millisecond, 100 * time.Nanosecond, 100 * time.Millisecond},
		{50 * time.Millisecond, time.Millisecond, 100 * time.Millisecond},
		{time.Second, 20 * time.Microsecond, 100 * time.Millisecond},
		{10 * time.Millisecond, 400 * time.Millisecond, 100 * time.Millisecond},
		{10 * time.Millisecond, 50 * time.Microsecond, time.Second},
	}
	for name, disturb := range disturbances {
		for _, d := range drivers {
			r := rand.New(rand.NewPCG(1, uint64(d.unit)))
			var off []float64
			uncertain, runs := 0, 0
			for range searches {
				s := search{wanted: d.wanted, start: 1000, most: 1e12}
				amount, certain, err := s.run(func(amount int64) (time.Duration, error) {
					factor, more := disturb(r)
					took := (float64(d.start)+float64(amount)*float64(d.unit))*factor + float64(more)
					return time.Duration(min(took, 1e17)), nil
				})
				if err != nil || amount < 1 || amount > s.most || len(s.all) > mostTries || s.length(amount) < 0 {
					t.Fatalf("%s, %+v: %d, %v: %s", name, d, amount, err, &s)
				}
				runs += len(s.all)
				if !certain {
					uncertain++
				}
				off = append(off, float64(amount)*float64(d.unit)/float64(max(d.wanted, d.unit)))
			}
			slices.Sort(off)
			at := func(q float64) float64 { return off[int(q*float64(searches-1))] }
			t.Logf("%-20s %v: %.1f runs, %d of %d uncertain, lengths %.2f %.2f %.2f of the wanted one", name, d, float64(runs)/searches, uncertain, searches, at(.05), at(.5), at(.95))
			if name == "none" && (uncertain > 0 || at(0) < .9 || at(1) > 1.1) {
				t.Errorf("%+v without noise: %d uncertain, %g to %g of the wanted length", d, uncertain, at(0), at(1))
			}
		}
	}
}
