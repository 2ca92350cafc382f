package model

import (
	"fmt"
	"slices"

	"tare/internal/verdict"

	"tare/internal/attribution/analysis"
	"tare/internal/base/lists"
)

// separateSteps removes the contrasts of single steps, so that the rest compares whole
// environments, and computes attributions from them.
func (v *Report) separateSteps() {
	v.Why = analysis.Of(v.Plan, v.Trials, v.Contrasts, analysis.Seen{Parity: v.Parity, Traced: v.Traced})
	if len(v.Plan.Steps) > 0 {
		v.Contrasts = slices.DeleteFunc(slices.Clone(v.Contrasts), func(c verdict.Contrast) bool { return c.Part != "" })
	}
}

// MainAttribution reports whether an attribution is of a primary metric or of CPU time
// per operation.
func MainAttribution(a analysis.Attribution) bool { return a.Primary || a.Metric == companion }

// MainAttributions are those that come first.
func (v *Report) MainAttributions() []analysis.Attribution {
	return lists.Filter(v.Why, MainAttribution)
}

// Valued reports whether any block has a value of an attribution on both sides of a step.
func Valued(a analysis.Attribution) bool {
	return a.Total.Contrast.N > 0 || slices.ContainsFunc(a.Parts, func(s analysis.Share) bool { return s.Contrast.N > 0 })
}

// WhyHeading is the heading of an attribution.
func WhyHeading(a analysis.Attribution) string {
	return LevelTitle(a.Workload, a.Level) + ": " + a.Title() + ", " + a.Better + " is better"
}

// WhyLead explains how the parts were measured, and what their intervals cover.
func (v *Report) WhyLead(a analysis.Attribution) string {
	text := fmt.Sprintf("From %s to %s, ", v.ShownName(a.From), v.ShownName(a.To))
	if a.Orders > 1 {
		text += fmt.Sprintf("each part is switched on in %d orders of the parts, and the values are means over them", a.Orders)
	} else {
		text += "parts are switched on one after another"
	}
	parts := fmt.Sprintf("all %d parts", len(a.Parts))
	switch len(a.Parts) {
	case 1:
		return text + "."
	case 2:
		parts = "both parts"
	}
	return text + fmt.Sprintf(". The %s intervals hold for %s simultaneously; that of the total is separate.", v.Plan.Design.Confidence, parts)
}

// OrderSpread is the range over the orders of switching; "" if there is only one.
func OrderSpread(s analysis.Share) string {
	if s.Least == nil || s.Most == nil {
		return ""
	}
	return verdict.Change(*s.Least) + " … " + verdict.Change(*s.Most)
}
