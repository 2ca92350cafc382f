package parity

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/quantity"
)

// tolerance is how a rule compares: the way, and the share that two numbers may
// be apart.
func (r *Rule) tolerance() (way string, share float64, err error) {
	if text, within := strings.CutPrefix(r.Compare, compareWithin); within {
		var s quantity.Share
		if err := s.UnmarshalText([]byte(text)); err != nil || s < 0 {
			return "", 0, fmt.Errorf("%q is no share: write within 5%%", text)
		}
		return compareWithin, float64(s), nil
	}
	if !slices.Contains([]string{compareEqual, compareSet, compareIgnore}, r.Compare) {
		return "", 0, fmt.Errorf("%q is not known: choose equal, ignore, set or within 5%%", r.Compare)
	}
	return r.Compare, 0, nil
}

// differ compares two values as the rule says. For sets, a and b come back as
// what each has and the other has not.
func (r *Rule) differ(a, b string) (string, string, bool) {
	way, share, _ := r.tolerance()
	switch way {
	case compareIgnore:
		return a, b, false
	case compareSet:
		x, y := without(a, b), without(b, a)
		return x, y, x != "" || y != ""
	case compareWithin:
		p, errA := number(a)
		q, errB := number(b)
		if errA == nil && errB == nil {
			return a, b, math.Abs(p-q) > share*math.Max(math.Abs(p), math.Abs(q))
		}
	}
	return a, b, a != b
}

// number is the one that a value begins with, and the same unit is taken to
// follow on both sides.
func number(text string) (float64, error) {
	first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return strconv.ParseFloat(first, 64)
}

// without are the members of a that b has not, in a's order. Members are parted
// by commas or spaces.
func without(a, b string) string {
	parts := func(text string) []string {
		return strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' })
	}
	have := map[string]bool{}
	for _, member := range parts(b) {
		have[member] = true
	}
	var rest []string
	for _, member := range parts(a) {
		if !have[member] {
			rest = append(rest, member)
		}
	}
	return strings.Join(rest, " ")
}
