package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/parity"
	"tare/internal/parity/evaluate"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

// FairnessTitle is the heading of the section on confounds.
const FairnessTitle = "Parity"

// Mark follows a verdict that a confound affects.
const Mark = "†"

// Confounded is what the mark says of a comparison.
const Confounded = "something besides the layer differs"

// MarkMeans explains the mark.
const MarkMeans = Mark + " " + Confounded + " (where that makes the comparison meaningless, there is no verdict)"

// ConfoundMark is the mark of a contrast; "" if no confound affects it.
func ConfoundMark(c *verdict.Contrast) string {
	if c.Confounded() {
		return Mark
	}
	return ""
}

// Fairness compares the fingerprints of a run.
func Fairness(r *rundir.Run) *evaluate.Book {
	return evaluate.New(r.Plan, r.Fingerprints, r.Trials, func(environment string) string { return r.Manifest.Environments[environment].Label })
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
	return MarkMeans
}

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

// NodesDiffer says what differs between the nodes of a run, a line a fact; nothing for
// one node. Of more facts than most, the number is said.
func NodesDiffer(n parity.Nodes, most int) (lines []string) {
	if len(n.Names) < 2 {
		return nil
	}
	if len(n.Differ) == 0 {
		return []string{fmt.Sprintf("The %d nodes do not differ in their fingerprints.", len(n.Names))}
	}
	lines = append(lines, fmt.Sprintf("The %d nodes differ in %s:", len(n.Names), quantity.Counted(len(n.Differ), "fact", "facts")))
	for _, f := range n.Differ[:min(most, len(n.Differ))] {
		values := lists.Map(f.Values, func(v parity.NodeValue) string { return cmp.Or(v.Value, "none") + " on " + someNodes(v.Nodes) })
		lines = append(lines, fmt.Sprintf("%s: %s (in %s)", f.Fact, strings.Join(values, "; "), strings.Join(f.Environments, ", ")))
	}
	if more := len(n.Differ) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more (tare parity RUN --all)", more))
	}
	return lines
}

// someNodes names nodes, or says how many they are.
func someNodes(names []string) string {
	if len(names) > mostNodes/2 {
		return fmt.Sprintf("%d nodes", len(names))
	}
	return strings.Join(names, ", ")
}
