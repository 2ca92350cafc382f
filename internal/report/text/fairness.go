package text

import (
	"fmt"
	"io"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/parity"
	"tare/internal/report/model"
)

// named lists causes with the workloads that they touch.
func named(causes []parity.Cause) string {
	words := lists.Map(causes, func(c parity.Cause) string { return c.Finding.Finding + " (" + strings.Join(c.Over, ", ") + ")" })
	return strings.Join(words, ", ")
}

// fair is the short form: how many confounds there are, by name.
func (t *terminal) fair(v *model.Report) {
	if len(v.Fair) == 0 {
		return
	}
	t.heading(model.FairnessTitle)
	told := false
	for _, s := range v.Fair {
		text := "no confounds found"
		if n := len(s.Confounds); n > 0 {
			told = true
			text = model.Counted(n, "confound", "confounds") + ": " + named(s.Confounds)
		}
		if notes := s.Notes(); len(notes) > 0 {
			told = true
			text += "; note: " + named(notes)
		}
		t.wrap(2, t.shownPair(v.ShownName(s.Environment), s.Baseline, v.Plan.Baseline)+": "+text)
	}
	t.across(v.Across, 2)
	if note := v.Footnote(); note != "" {
		t.wrap(2, model.Mark+" in the tables: affected by a confound")
	}
	if told {
		t.wrap(2, "effects, and how to remove them: tare parity "+v.Manifest.Run)
	}
}

// shownPair names an environment, with what it is compared with if that is not
// the baseline.
func (t *terminal) shownPair(environment, base, usual string) string {
	if base == usual {
		return environment
	}
	return environment + " vs " + base
}

// across says what differs between nodes.
func (t *terminal) across(n parity.Nodes, indent int) {
	most := model.MostFacts
	if t.All {
		most = len(n.Differ)
	}
	for k, line := range model.NodesDiffer(n, most) {
		t.wrap(indent+2*min(k, 1), line)
	}
}

// WriteFairness writes what differs between environments as text, with the confounds
// in full, and what differs between nodes.
func WriteFairness(w io.Writer, summaries []parity.Summary, across parity.Nodes, o model.Options) error {
	t := newTerminal(o)
	for i, s := range summaries {
		if i > 0 {
			t.WriteString("\n")
		}
		t.summary(s)
	}
	if len(across.Names) > 1 {
		t.WriteString("\n")
		t.across(across, 0)
	}
	_, err := io.WriteString(w, t.String())
	return err
}

func (t *terminal) summary(s parity.Summary) {
	t.wrap(0, t.paint(bold, s.Environment+" vs "+s.Baseline)+", under "+strings.Join(s.Workloads, ", "))
	if len(s.Confounds) == 0 {
		t.wrap(2, t.paint(green, "no confound")+" affects the compared workloads")
	} else {
		t.wrap(2, t.paint(red, model.Counted(len(s.Confounds), "confound", "confounds")))
	}
	for _, c := range s.Confounds {
		t.WriteString("\n")
		t.wrap(2, t.paint(bold, c.Finding.Finding)+", affects "+strings.Join(c.Over, ", "))
		t.facts(s, c, 4)
		t.wrap(4, "why: "+c.Reason)
		if len(c.Asked) > 0 {
			t.wrap(4, "asked for by the study: "+strings.Join(c.Asked, "; "))
		}
		t.wrap(4, "effect: "+c.Effect)
		if c.Remove != "" {
			t.wrap(4, "remove: "+c.Remove)
		}
	}
	for _, c := range s.Notes() {
		t.WriteString("\n")
		t.wrap(2, "note: "+t.paint(bold, c.Finding.Finding)+", inherent, affects "+strings.Join(c.Over, ", "))
		t.facts(s, c, 4)
		t.wrap(4, "why: "+c.Reason)
		t.wrap(4, "effect: "+c.Effect)
		if c.Remove != "" {
			t.wrap(4, "remove: "+c.Remove)
		}
		t.WriteString("\n")
	}
	t.folded(s, "chosen by the study", s.Chosen, true)
	t.folded(s, "inherent in the layer", s.Inherent, t.All)
	t.folded(s, "confounds that affect none of these workloads", s.Idle, t.All)
	t.unseen(s)
	t.wrap(2, model.Counted(s.Same, "fact", "facts")+" equal on both sides")
}

// folded lists causes a line each, or as one line where they are not asked for.
func (t *terminal) folded(s parity.Summary, title string, causes []parity.Cause, each bool) {
	if len(causes) == 0 {
		return
	}
	if !each {
		facts := 0
		var names []string
		for _, c := range causes {
			facts += len(c.Differences)
			names = append(names, c.Finding.Finding)
		}
		t.wrap(2, fmt.Sprintf("%s: %s (%s)", title, strings.Join(names, ", "), model.Counted(facts, "fact", "facts")))
		return
	}
	t.wrap(2, title+":")
	for _, c := range causes {
		why := c.Reason
		if len(c.Asked) > 0 {
			why = strings.Join(c.Asked, "; ")
		}
		t.wrap(4, c.Finding.Finding+": "+why)
		if t.All {
			t.facts(s, c, 6)
		}
	}
}

func (t *terminal) facts(s parity.Summary, c parity.Cause, indent int) {
	shown := c.Differences
	if !t.All && len(shown) > model.MostFacts {
		shown = shown[:model.MostFacts]
	}
	for _, d := range shown {
		base, other := model.FactSides(d)
		t.wrap(indent, fmt.Sprintf("%s: %s %s, %s %s", d.Fact, s.Baseline, base, s.Environment, other))
	}
	if n := len(c.Differences) - len(shown); n > 0 {
		t.wrap(indent, fmt.Sprintf("and %d more facts (--all)", n))
	}
}

func (t *terminal) unseen(s parity.Summary) {
	if len(s.Unseen) == 0 {
		return
	}
	if !t.All {
		t.wrap(2, model.Counted(len(s.Unseen), "fact", "facts")+" not compared: exposed by one side only (--all)")
		return
	}
	t.wrap(2, "not compared, since only one side exposes them:")
	for _, u := range s.Unseen {
		t.wrap(4, fmt.Sprintf("%s in %s: %s", u.Fact, u.In, u.Reason))
	}
}
