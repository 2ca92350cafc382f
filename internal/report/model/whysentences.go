package model

import (
	"fmt"
	"slices"

	"tare/internal/attribution/analysis"
	"tare/internal/base/quantity"
	"tare/internal/stats"
	"tare/internal/verdict"
)

// WithoutBlocks reports whether no block has values on both sides of the part.
func WithoutBlocks(s analysis.Share) bool { return s.Contrast.N == 0 }

// WhyRows returns the lines between the two ends: the parts that ran or have a reason
// for a missing value, and the total. Every format has a line for either end.
func WhyRows(a analysis.Attribution) []analysis.Share {
	return slices.DeleteFunc(append(slices.Clone(a.Parts), a.Total), func(s analysis.Share) bool { return WithoutBlocks(s) && s.Contrast.Open })
}

// SideFigure is the value at one end of a ladder.
func SideFigure(side verdict.Side, unit string) string {
	if side.N == 0 {
		return "no value"
	}
	return Figure(side.Median, unit)
}

// WhySentences describes an attribution: the effect of each material part, or that
// none is material, and the unexplained remainder.
func (v *Report) WhySentences(a analysis.Attribution) []string {
	sentences := slices.Clone(a.Sentences)
	bounded := slices.ContainsFunc(a.Parts, func(s analysis.Share) bool { return s.Contrast.Bounded() })
	switch {
	case len(sentences) > 0 || a.Total.Contrast.N == 0:
	case bounded:
		sentences = append(sentences, "No part is material: no interval excludes both zero and the margin.")
	default:
		sentences = append(sentences, v.tooFew(a))
	}
	if n := len(a.Parts) - len(slices.DeleteFunc(WhyRows(a), func(s analysis.Share) bool { return s.Part == "" })); n > 0 {
		sentences = append(sentences, fmt.Sprintf("No row for %d of %s: no block has a value on both sides.", n, quantity.Counted(len(a.Parts), "part", "parts")))
	}
	return append(sentences, remains(a))
}

// tooFew states that no part has an interval, and the blocks that one takes.
func (v *Report) tooFew(a analysis.Attribution) string {
	most := 0
	for _, s := range a.Parts {
		most = max(most, s.Contrast.N)
	}
	text := "No part has an interval after " + quantity.Counted(most, "block", "blocks")
	if most < stats.LeastBlocks && !v.Plan.Design.Blocks.Open {
		text += fmt.Sprintf("; an interval takes at least %d", stats.LeastBlocks)
	}
	return text + "."
}

// remains states the unexplained remainder.
func remains(a analysis.Attribution) string {
	u := a.Unexplained
	switch {
	case u.N == 0:
		return "The unexplained remainder is unknown: no block has a value for every rung."
	case u.Exact:
		return fmt.Sprintf("Nothing remains unexplained: in each of %s the parts add up to the total.", quantity.Counted(u.N, "complete block", "complete blocks"))
	case !u.Bounded():
		return fmt.Sprintf("Unexplained by the named parts: %s, over %s; too few for an interval.", verdict.Change(u.Estimate), quantity.Counted(u.N, "complete block", "complete blocks"))
	}
	return fmt.Sprintf("Unexplained by the named parts: %s %s, over %s.", verdict.Change(u.Estimate), verdict.EndsText(u.Estimate, u.Low, u.High), quantity.Counted(u.N, "complete block", "complete blocks"))
}
