package trial

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The time under way is that of the moments that lie in a span, each counted
// once, whatever the spans have in common.
func TestTheTimeUnderWayCountsEachMomentOnce(t *testing.T) {
	zero := time.Unix(0, 0)
	at := func(n int) time.Time { return zero.Add(time.Duration(n)) }
	rapid.Check(t, func(t *rapid.T) {
		covered := map[int]bool{}
		until := rapid.IntRange(0, 30).Draw(t, "until")
		spans := make([]startSpan, rapid.IntRange(1, 8).Draw(t, "spans"))
		for i := range spans {
			from := rapid.IntRange(0, 25).Draw(t, "from")
			to := from + rapid.IntRange(0, 10).Draw(t, "length")
			spans[i] = startSpan{at(from), at(to)}
			for n := from; n < min(to, until); n++ {
				covered[n] = true
			}
		}
		slices.SortFunc(spans, func(a, b startSpan) int { return a.to.Compare(b.to) })
		if got := underWay(spans, at(until)); got != time.Duration(len(covered)) {
			t.Fatalf("%d, not %d, for %v until %d", got, len(covered), spans, until)
		}
	})
}
