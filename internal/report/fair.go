package report

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/parity"
	"tare/internal/parity/evaluate"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

const fairTitle = "Was it fair?"

//go:embed fair.tmpl
var fairText string

// mark stands beside a verdict that a confound touches.
const mark = "†"

// markOf is the mark of a contrast; "" where nothing touches it.
func markOf(c *contrast) string {
	if slices.ContainsFunc(c.Warnings, func(w verdict.Warning) bool { return w.Code == verdict.Confound }) {
		return mark
	}
	return ""
}

// Judge compares what the fingerprints of a run say.
func Judge(r *rundir.Run) *evaluate.Book {
	return evaluate.New(r.Plan, r.Fingerprints, func(environment string) string { return r.Manifest.Environments[environment].Label })
}

// marked says whether any comparison has the mark.
func (v *view) marked() bool {
	return slices.ContainsFunc(v.Contrasts, func(c contrast) bool { return markOf(&c) != "" })
}

// Footnote explains the mark, where there is one.
func (v *view) Footnote() string {
	if !v.marked() {
		return ""
	}
	return mark + " something besides the layer differs there, and may be the cause"
}

// named lists causes with the workloads that they touch.
func named(causes []parity.Cause) string {
	var words []string
	for _, c := range causes {
		words = append(words, c.Finding.Finding+" ("+strings.Join(c.Over, ", ")+")")
	}
	return strings.Join(words, ", ")
}

// fair is the short form: how many confounds there are, by name.
func (t *terminal) fair(v *view) {
	if len(v.Fair) == 0 {
		return
	}
	fmt.Fprintf(t, "\n%s\n", t.paint(bold, fairTitle))
	told := false
	for _, s := range v.Fair {
		text := "no confound was found"
		if n := len(s.Confounds); n > 0 {
			told = true
			text = counted(n, "confound", "confounds") + ": " + named(s.Confounds)
		}
		if minded := s.Notes(); len(minded) > 0 {
			told = true
			text += "; to be minded: " + named(minded)
		}
		t.wrap(2, t.shownPair(v.shown(s.Environment), s.Baseline, v.Plan.Baseline)+": "+text)
	}
	if note := v.Footnote(); note != "" {
		t.wrap(2, mark+" in the tables: touched by one of them")
	}
	if told {
		t.wrap(2, "their effects, and how to be rid of them: tare parity "+v.Manifest.Run)
	}
}

// shownPair names an environment, and with what it is compared where that is not
// the baseline.
func (t *terminal) shownPair(environment, base, usual string) string {
	if base == usual {
		return environment
	}
	return environment + " beside " + base
}

// mostFacts is how many facts of one cause are listed where not all are asked
// for.
const mostFacts = 20

// Fairness writes what differs between environments as text, with the confounds
// in full.
func Fairness(w io.Writer, summaries []parity.Summary, o TerminalOptions) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	t := &terminal{TerminalOptions: o}
	for i, s := range summaries {
		if i > 0 {
			t.WriteString("\n")
		}
		t.summary(s)
	}
	_, err := io.WriteString(w, t.String())
	return err
}

func (t *terminal) summary(s parity.Summary) {
	t.wrap(0, t.paint(bold, s.Environment+" beside "+s.Baseline)+", under "+strings.Join(s.Workloads, ", "))
	if len(s.Confounds) == 0 {
		t.wrap(2, t.paint(green, "no confound")+" touches what was compared")
	} else {
		t.wrap(2, t.paint(red, counted(len(s.Confounds), "confound", "confounds")))
	}
	for _, c := range s.Confounds {
		t.WriteString("\n")
		t.wrap(2, t.paint(bold, c.Finding.Finding)+", touches "+strings.Join(c.Over, ", "))
		t.facts(s, c, 4)
		t.wrap(4, "why: "+c.Reason)
		if len(c.Asked) > 0 {
			t.wrap(4, "asked for by the study: "+strings.Join(c.Asked, "; "))
		}
		t.wrap(4, "effect: "+c.Effect)
		t.wrap(4, "remove: "+c.Remove)
	}
	for _, c := range s.Notes() {
		t.WriteString("\n")
		t.wrap(2, "to be minded: "+t.paint(bold, c.Finding.Finding)+", inherent, touches "+strings.Join(c.Over, ", "))
		t.facts(s, c, 4)
		t.wrap(4, "why: "+c.Reason)
		t.wrap(4, "effect: "+c.Effect)
		t.wrap(4, "remove: "+c.Remove)
		t.WriteString("\n")
	}
	t.folded(s, "chosen by the study", s.Chosen, true)
	t.folded(s, "inherent in the layer", s.Inherent, t.All)
	t.folded(s, "confounds that touch none of these workloads", s.Idle, t.All)
	t.unseen(s)
	t.wrap(2, counted(s.Same, "fact", "facts")+" alike")
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
		t.wrap(2, fmt.Sprintf("%s: %s (%s)", title, strings.Join(names, ", "), counted(facts, "fact", "facts")))
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
	if !t.All && len(shown) > mostFacts {
		shown = shown[:mostFacts]
	}
	for _, d := range shown {
		base, other := sides(d)
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
		t.wrap(2, fmt.Sprintf("not compared, since one side does not show them: %s (--all)", counted(len(s.Unseen), "fact", "facts")))
		return
	}
	t.wrap(2, "not compared, since one side does not show them:")
	for _, u := range s.Unseen {
		t.wrap(4, fmt.Sprintf("%s in %s: %s", u.Fact, u.In, u.Reason))
	}
}

// sides are the two values of a difference as they are shown.
func sides(d parity.Difference) (base, other string) {
	shown := func(value, before string) string {
		if strings.HasSuffix(d.Fact, ".sha256") {
			value = value[:min(12, len(value))]
		}
		switch {
		case value == "" && d.Set:
			return "nothing more"
		case value == "":
			return "has none"
		}
		return before + value
	}
	if d.Set {
		return shown(d.Baseline, "+"), shown(d.Environment, "+")
	}
	return shown(d.Baseline, ""), shown(d.Environment, "")
}

func markdownFair(b *strings.Builder, v *view) {
	if len(v.Fair) == 0 {
		return
	}
	b.WriteString("\n## " + fairTitle + "\n\nWhat differs between each environment and what it is compared with, and is neither inherent in the layer nor chosen by the study, is a confound.\n")
	for _, s := range v.Fair {
		fmt.Fprintf(b, "\n### %s beside %s\n\n", escape(v.shown(s.Environment)), escape(v.shown(s.Baseline)))
		if len(s.Confounds) == 0 {
			b.WriteString("No confound was found that touches what was compared.\n")
		} else {
			fmt.Fprintf(b, "| confound | touches | %s, then %s | likely effect | remove |\n|---|---|---|---|---|\n", escape(s.Baseline), escape(s.Environment))
		}
		for _, c := range s.Confounds {
			reason := ""
			if len(c.Asked) > 0 {
				reason = "<br>asked for: " + escape(strings.Join(c.Asked, "; "))
			}
			fmt.Fprintf(b, "| **%s** | %s | %s%s | %s | %s |\n", escape(c.Finding.Finding), escape(strings.Join(c.Over, ", ")), markdownFacts(c), reason, escape(c.Effect), escape(c.Remove))
		}
		for _, c := range s.Notes() {
			fmt.Fprintf(b, "\nTo be minded under %s: **%s**. Inherent: %s. Effect: %s. Remove: %s.\n", escape(strings.Join(c.Over, ", ")),
				escape(c.Finding.Finding), escape(c.Reason), escape(c.Effect), escape(c.Remove))
		}
		markdownFolded(b, "Chosen by the study", s.Chosen)
		markdownFolded(b, "Inherent in the layer", s.Inherent)
		markdownFolded(b, "Confounds that touch none of these workloads", s.Idle)
		if n := len(s.Unseen); n > 0 {
			fmt.Fprintf(b, "\n%s could not be compared, since one side does not show them.\n", counted(n, "fact", "facts"))
		}
	}
}

func markdownFacts(c parity.Cause) string {
	var lines []string
	for _, d := range c.Differences {
		base, other := sides(d)
		lines = append(lines, code(d.Fact)+": "+escape(base)+", then "+escape(other))
	}
	if len(lines) > mostFacts {
		lines = append(lines[:mostFacts], fmt.Sprintf("and %d more", len(lines)-mostFacts))
	}
	return strings.Join(lines, "<br>")
}

func markdownFolded(b *strings.Builder, title string, causes []parity.Cause) {
	if len(causes) == 0 {
		return
	}
	facts := 0
	for _, c := range causes {
		facts += len(c.Differences)
	}
	fmt.Fprintf(b, "\n<details><summary>%s: %s</summary>\n\n| what | why | facts |\n|---|---|---|\n", title, counted(facts, "fact", "facts"))
	for _, c := range causes {
		why := c.Reason
		if len(c.Asked) > 0 {
			why = strings.Join(c.Asked, "; ")
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", escape(c.Finding.Finding), escape(why), markdownFacts(c))
	}
	b.WriteString("\n</details>\n")
}
