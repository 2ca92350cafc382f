package report

import (
	"fmt"
	"slices"

	"tare/internal/attribution/analysis"
	"tare/internal/stats"
	"tare/internal/verdict"
)

// nothing says that no block has a figure of the part on both of its sides.
func nothing(s analysis.Share) bool { return s.Contrast.N == 0 }

// rows are the lines between the two ends: the parts that ran, or of which there
// is a reason why they have no figure, and what they come to together. The ends
// themselves have a line in every format, whatever ran.
func rows(a analysis.Attribution) []analysis.Share {
	return slices.DeleteFunc(append(slices.Clone(a.Parts), a.Total), func(s analysis.Share) bool { return nothing(s) && s.Contrast.Open })
}

// whyHeads are the headings of an attribution's columns, the same in every format:
// spread is that of what single orders say of a part, for parts that were switched
// on in several.
type whyHeads struct{ Part, Change, Interval, Verdict, Spread string }

func (v *view) whyHeads() whyHeads {
	return whyHeads{"part", "change", v.Plan.Design.Confidence.String() + " interval", "verdict, share", "spread over orders"}
}

// end is the figure of one end of a ladder.
func end(side verdict.Side, unit string) string {
	if side.N == 0 {
		return "no figure"
	}
	return figure(side.Median, unit)
}

// findings are the sentences on an attribution: what each material part does, or
// that none is, and what no part explains.
func (v *view) findings(a analysis.Attribution) []string {
	sentences := slices.Clone(a.Sentences)
	bounded := slices.ContainsFunc(a.Parts, func(s analysis.Share) bool { return s.Contrast.Bounded() })
	switch {
	case len(sentences) > 0 || a.Total.Contrast.N == 0:
	case bounded:
		sentences = append(sentences, "No part is material: no interval leaves both zero and the margin.")
	default:
		sentences = append(sentences, v.tooFew(a))
	}
	if n := len(a.Parts) - len(slices.DeleteFunc(rows(a), func(s analysis.Share) bool { return s.Part == "" })); n > 0 {
		sentences = append(sentences, fmt.Sprintf("No line stands for %d of %s: no block has a figure of both sides.", n, counted(len(a.Parts), "part", "parts")))
	}
	return append(sentences, remains(a))
}

// tooFew says that no part has an interval, and how many blocks one takes.
func (v *view) tooFew(a analysis.Attribution) string {
	most, alpha := 0, 0.0
	for _, s := range a.Parts {
		most, alpha = max(most, s.Contrast.N), s.Contrast.Alpha
	}
	text := "Nothing can be said of the parts with " + counted(most, "block", "blocks") + ": none has an interval"
	least := 0
	switch b := v.Plan.Design.Blocks; {
	case alpha <= 0 || b.Open:
	case b.Fixed:
		least = stats.LeastBlocks(alpha)
	default:
		least = stats.FirstLook(alpha)
	}
	if least > most {
		text += fmt.Sprintf(", which takes %d", least)
	}
	return text + "."
}

// remains says what no part explains.
func remains(a analysis.Attribution) string {
	u := a.Unexplained
	switch {
	case u.N == 0:
		return "What remains unexplained cannot be said: no block has a figure of every rung."
	case u.Exact:
		return fmt.Sprintf("Nothing remains unexplained: in each of %s the parts add up to the total.", counted(u.N, "complete block", "complete blocks"))
	case !u.Bounded():
		return fmt.Sprintf("Unexplained by the named parts: %s, over %s; too few for an interval.", change(u.Estimate), counted(u.N, "complete block", "complete blocks"))
	}
	return fmt.Sprintf("Unexplained by the named parts: %s %s, over %s.", change(u.Estimate), interval(u.Low, u.High), counted(u.N, "complete block", "complete blocks"))
}
