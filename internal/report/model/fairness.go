package model

import (
	"slices"
	"strings"

	"tare/internal/parity"
	"tare/internal/parity/evaluate"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

// FairnessTitle is the heading of the section on confounds.
const FairnessTitle = "Parity"

// Mark follows a verdict that a confound affects.
const Mark = "†"

// ConfoundMark is the mark of a contrast; "" if no confound affects it.
func ConfoundMark(c *verdict.Contrast) string {
	if slices.ContainsFunc(c.Warnings, func(w verdict.Warning) bool { return w.Code == verdict.Confound }) {
		return Mark
	}
	return ""
}

// Fairness compares the fingerprints of a run.
func Fairness(r *rundir.Run) *evaluate.Book {
	return evaluate.New(r.Plan, r.Fingerprints, func(environment string) string { return r.Manifest.Environments[environment].Label })
}

// marked reports whether any comparison has the mark.
func (v *Report) marked() bool {
	return slices.ContainsFunc(v.Contrasts, func(c verdict.Contrast) bool { return ConfoundMark(&c) != "" })
}

// Footnote explains the mark; "" if there is none.
func (v *Report) Footnote() string {
	if !v.marked() {
		return ""
	}
	return Mark + " a confound affects this comparison: something other than the layer differs, and may be the cause"
}

// MostFacts is the number of facts of a cause that are listed by default.
const MostFacts = 20

// FactSides formats the two values of a difference.
func FactSides(d parity.Difference) (base, other string) {
	shown := func(value, before string) string {
		if strings.HasSuffix(d.Fact, ".sha256") {
			value = value[:min(12, len(value))]
		}
		switch {
		case value == "" && d.Set:
			return "nothing extra"
		case value == "":
			return "none"
		}
		return before + value
	}
	if d.Set {
		return shown(d.Baseline, "+"), shown(d.Environment, "+")
	}
	return shown(d.Baseline, ""), shown(d.Environment, "")
}
