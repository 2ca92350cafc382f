package score

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/base/lists"
)

// matches reports whether the feature is about a figure.
func (f Feature) matches(x Figure) bool {
	return x.Metric == f.Metric && x.Workload == f.Workload && (f.Level == "" || glob(f.Level, x.Level))
}

// glob reports whether text matches the pattern, in which * matches any text.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	rest, begins := strings.CutPrefix(text, parts[0])
	if !begins || len(parts) == 1 {
		return begins && rest == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[last])
}

// levelsOf returns the levels that any environment has, in order of appearance. An
// environment that lacks one of them cannot be compared with the rest.
func levelsOf(figures []Figure) []string {
	var levels []string
	for _, f := range figures {
		if !slices.Contains(levels, f.Level) {
			levels = append(levels, f.Level)
		}
	}
	return levels
}

// named leaves out the level of what is not swept.
func named(levels []string) []string {
	return lists.Filter(levels, func(l string) bool { return l != "" })
}

// combine merges the figures of several levels into one. Its interval reaches from
// all low ends to all high ends, which is conservative.
func combine(f Feature, figures []Figure) (Figure, error) {
	if len(figures) == 1 {
		return figures[0], nil
	}
	var pick func(of func(Figure) float64) float64
	switch f.Combine {
	case Worst:
		pick = func(of func(Figure) float64) float64 {
			values := lists.Map(figures, of)
			if f.AtMost != nil {
				return slices.Max(values)
			}
			return slices.Min(values)
		}
	case Geometric:
		pick = func(of func(Figure) float64) float64 {
			sum := 0.0
			for _, x := range figures {
				sum += math.Log(of(x))
			}
			return math.Exp(sum / float64(len(figures)))
		}
	default: // the mean of the values over the mean of the baseline's
		weight := 0.0
		for _, x := range figures {
			if !(x.Base > 0) {
				return Figure{}, fmt.Errorf("the mean over levels needs the value of the baseline at %s", x.Level)
			}
			weight += x.Base
		}
		pick = func(of func(Figure) float64) float64 {
			sum := 0.0
			for _, x := range figures {
				sum += x.Base / weight * of(x)
			}
			return sum
		}
	}
	all := Figure{Ratio: pick(func(x Figure) float64 { return x.Ratio })}
	if !slices.ContainsFunc(figures, func(x Figure) bool { return !x.bounded() }) {
		all.Low = pick(func(x Figure) float64 { return x.Low })
		all.High = pick(func(x Figure) float64 { return x.High })
	}
	return all, nil
}
