package parity

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
)

// tolerance parses Compare: the method, and the share by which two numbers may
// differ.
func (r *Rule) tolerance() (way string, share float64, err error) {
	if text, within := strings.CutPrefix(r.Compare, compareWithin); within {
		var s quantity.Share
		if err := s.UnmarshalText([]byte(text)); err != nil || s < 0 {
			return "", 0, fmt.Errorf("%q is not a share: write within 5%%", text)
		}
		return compareWithin, float64(s), nil
	}
	if !slices.Contains([]string{compareEqual, compareSet, compareIgnore}, r.Compare) {
		return "", 0, fmt.Errorf("unknown comparison %q: use equal, ignore, set or within 5%%", r.Compare)
	}
	return r.Compare, 0, nil
}

// differ compares two values by the rule. For sets, it returns the members that
// only a and only b have.
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

// number parses the number at the start of a value. Both sides have the same unit.
func number(text string) (float64, error) {
	first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return strconv.ParseFloat(first, 64)
}

// without returns the members of a that b lacks, in the order of a. Members are
// separated by commas or white space.
func without(a, b string) string {
	parts := func(text string) []string {
		return strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' })
	}
	have := map[string]bool{}
	for _, member := range parts(b) {
		have[member] = true
	}
	return strings.Join(lists.Filter(parts(a), func(member string) bool { return !have[member] }), " ")
}
