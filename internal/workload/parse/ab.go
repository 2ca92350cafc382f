package parse

import "math"

// abTableHead begins the file of -e, which has the percentiles from 0 to 100.
const abTableHead = "Percentage served,Time in ms"

var abTableLine = expression(`^(\d+),([0-9.]+)$`)

// abHistograms adds the distribution in the file of -e. Its line for percentile
// p has the request number p*requests/100, rounded, from 0 in the order of their
// times, except for 100, which has the last one. Up to 50 requests the number for 99
// is that of a request that does not exist, and ab prints something else.
func abHistograms(r *reading) {
	var h Histogram
	inside, before, value := false, -1.0, 0.0
	requests := r.fields["requests"]
	for _, line := range r.lines {
		m := abTableLine.find(line)
		if inside = inside && m != nil || line == abTableHead; m == nil || !inside {
			continue
		}
		p := number(m[0], line)
		at := math.Floor(.5 + p*requests/100)
		if p == 100 {
			at = requests - 1
		}
		if at >= requests || at == before {
			continue
		}
		below := value
		if value = number(m[1], line); value < below {
			fail("ab's percentiles do not rise at %q", line)
		}
		if at == before+1 {
			below = value
		}
		h = append(h, Bin{below, value, at - before})
		before = at
	}
	if len(h) == 0 {
		return
	}
	if before != requests-1 {
		fail("the file of ab -e is not complete: %s", ending(r.lines))
	}
	r.histograms = map[string]Histogram{"latency": h}
}
