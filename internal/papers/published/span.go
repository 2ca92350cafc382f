package published

import (
	"fmt"
	"math"
	"regexp"
	"strings"
)

// span is a figure with its range, given that the printed figures it is computed
// from are rounded.
type span struct{ low, mid, high float64 }

func (a span) plus(b span) span  { return span{a.low + b.low, a.mid + b.mid, a.high + b.high} }
func (a span) minus(b span) span { return span{a.low - b.high, a.mid - b.mid, a.high - b.low} }
func (a span) times(f float64) span {
	if f < 0 {
		return span{a.high * f, a.mid * f, a.low * f}
	}
	return span{a.low * f, a.mid * f, a.high * f}
}

// over is the ratio; ok is false where the divisor can be zero.
func (a span) over(b span) (_ span, ok bool) {
	if b.low <= 0 && b.high >= 0 {
		return span{}, false
	}
	corners := []float64{a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high}
	r := span{math.Inf(1), a.mid / b.mid, math.Inf(-1)}
	for _, c := range corners {
		r.low, r.high = min(r.low, c), max(r.high, c)
	}
	return r, true
}

// change is a ratio as a percentage more or less.
func (a span) change() span { return span{a.low*100 - 100, a.mid*100 - 100, a.high*100 - 100} }

// Outcome is the result of a check or a claim.
type Outcome string

// The outcomes.
const (
	Holds          Outcome = "holds"
	WithinRounding Outcome = "holds within rounding"
	Fails          Outcome = "does not hold"
	NotChecked     Outcome = "cannot be checked"
)

// worse is the outcome of two that are both needed.
func worse(a, b Outcome) Outcome {
	rank := map[Outcome]int{Holds: 0, HoldsHere: 0, WithinRounding: 1, Undecided: 1, NotChecked: 2, CannotBeAsked: 2, Fails: 3, FailsHere: 3}
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// target is the figures for which a statement holds.
type target struct {
	low, high float64 // both belong to it, except where strict
	strict    bool
	from, to  float64 // the claimed figure itself, or both ends of a range
}

// slack absorbs the binary rounding of decimal fractions.
const slack = 1e-9

func (t target) judge(found span) (Outcome, float64) {
	tiny := slack * max(1, math.Abs(found.mid))
	if t.strict {
		tiny = -tiny
	}
	off := 0.0
	switch {
	case found.mid < t.from:
		off = found.mid - t.from
	case found.mid > t.to:
		off = found.mid - t.to
	}
	switch {
	case found.mid >= t.low-tiny && found.mid <= t.high+tiny:
		return Holds, off
	case found.high >= t.low-tiny && found.low <= t.high+tiny:
		return WithinRounding, off
	}
	return Fails, off
}

// wordings are the precisions that a text can claim, without a leading "about".
var wordings = []string{"exactly", "about", "almost", "at least", "at most", "more than", "less than", "up to", "about at least", "about at most", "about up to"}

// aim is the target of a claimed figure under a wording. The size counts: at
// least -50% is half or less.
func aim(claimed Number, wording string) target {
	x, h := claimed.value, claimed.half()
	wording, isAbout := strings.CutPrefix(wording, "about")
	wording = strings.TrimSpace(wording)
	if isAbout {
		h = max(h, math.Abs(x)/10)
	}
	t := target{x - h, x + h, false, x, x}
	outward, inward := math.Inf(1), math.Inf(-1)
	if x < 0 || strings.HasPrefix(claimed.text, "-") {
		outward, inward = inward, outward
	}
	switch wording {
	case "almost":
		t.low, t.high = min(t.low, x-math.Max(x, 0)/10), max(t.high, x-math.Min(x, 0)/10)
	case "at least":
		t = t.open(outward)
	case "at most":
		t = t.open(inward)
	case "more than":
		t = target{x, x, true, x, x}.open(outward)
	case "less than":
		t = target{x, x, true, x, x}.open(inward)
	}
	return t
}

// open lets a target go on to infinity.
func (t target) open(end float64) target {
	if end > 0 {
		t.high, t.to = end, end
	} else {
		t.low, t.from = end, end
	}
	return t
}

var rangeForm = regexp.MustCompile(`^(.+?)\.\.(.+)$`)

// relative is what a ratio is claimed to be.
type relative struct {
	from, to Number
	isRange  bool
	times    bool // a multiple; otherwise a change in percent
}

func parseRelative(text string) (relative, error) {
	if m := rangeForm.FindStringSubmatch(text); m != nil {
		from, err := parseRelative(m[1])
		if err != nil {
			return relative{}, err
		}
		to, err := parseRelative(m[2])
		if err != nil {
			return relative{}, err
		}
		if from.times != to.times || from.from.value > to.from.value {
			return relative{}, fmt.Errorf("expected a range from the lesser to the greater, such as +4%%..+9%% or 2x..3x, found %q", text)
		}
		return relative{from.from, to.from, true, from.times}, nil
	}
	digits, times := strings.CutSuffix(text, "x")
	number, err := parseNumber(digits)
	if err != nil || times == number.percent {
		return relative{}, fmt.Errorf("expected a change (-19%%), a multiple (3x) or a range (+4%%..+9%%), found %q", text)
	}
	return relative{number, number, false, times}, nil
}

func (r relative) aim(wording string) target {
	if !r.isRange {
		return aim(r.from, wording)
	}
	low, high := aim(r.from, wording), aim(r.to, wording)
	return target{low.low, high.high, false, r.from.value, r.to.value}
}
