package markdown

import (
	"fmt"
	"strings"

	"tare/internal/parity"
	"tare/internal/report/model"
)

func fairness(b *strings.Builder, v *model.Report) {
	if len(v.Fair) == 0 {
		return
	}
	b.WriteString("\n## " + model.FairnessTitle + "\n\nA confound is a difference between an environment and what it is compared with that is neither inherent in the layer nor chosen by the study.\n")
	for _, s := range v.Fair {
		fmt.Fprintf(b, "\n### %s vs %s\n\n", escape(v.ShownName(s.Environment)), escape(v.ShownName(s.Baseline)))
		if len(s.Confounds) == 0 {
			b.WriteString("No confound affects the compared workloads.\n")
		} else {
			fmt.Fprintf(b, "| confound | affects | %s vs %s | likely effect | remove |\n|---|---|---|---|---|\n", escape(s.Baseline), escape(s.Environment))
		}
		for _, c := range s.Confounds {
			reason := ""
			if len(c.Asked) > 0 {
				reason = "<br>asked for: " + escape(strings.Join(c.Asked, "; "))
			}
			fmt.Fprintf(b, "| **%s** | %s | %s%s | %s | %s |\n", escape(c.Finding.Finding), escape(strings.Join(c.Over, ", ")), factList(c), reason, escape(c.Effect), escape(c.Remove))
		}
		for _, c := range s.Notes() {
			fmt.Fprintf(b, "\nNote for %s: **%s**. Inherent: %s. Effect: %s.", escape(strings.Join(c.Over, ", ")),
				escape(c.Finding.Finding), escape(c.Reason), escape(c.Effect))
			if c.Remove != "" {
				fmt.Fprintf(b, " Remove: %s.", escape(c.Remove))
			}
			b.WriteString("\n")
		}
		folded(b, "Chosen by the study", s.Chosen)
		folded(b, "Inherent in the layer", s.Inherent)
		folded(b, "Confounds that affect none of these workloads", s.Idle)
		if n := len(s.Unseen); n > 0 {
			fmt.Fprintf(b, "\n%s not compared: exposed by one side only.\n", model.Counted(n, "fact", "facts"))
		}
	}
	for n, line := range model.NodesDiffer(v.Across, model.MostFacts) {
		switch n {
		case 0:
			b.WriteString("\n### Nodes\n\n" + line + "\n")
		case 1:
			b.WriteString("\n- " + escape(line) + "\n")
		default:
			b.WriteString("- " + escape(line) + "\n")
		}
	}
}

func factList(c parity.Cause) string {
	var lines []string
	for _, d := range c.Differences {
		base, other := model.FactSides(d)
		lines = append(lines, code(d.Fact)+": "+escape(base)+" vs "+escape(other))
	}
	if len(lines) > model.MostFacts {
		lines = append(lines[:model.MostFacts], fmt.Sprintf("and %d more", len(lines)-model.MostFacts))
	}
	return strings.Join(lines, "<br>")
}

func folded(b *strings.Builder, title string, causes []parity.Cause) {
	if len(causes) == 0 {
		return
	}
	facts := 0
	for _, c := range causes {
		facts += len(c.Differences)
	}
	fmt.Fprintf(b, "\n<details><summary>%s: %s</summary>\n\n| what | why | facts |\n|---|---|---|\n", title, model.Counted(facts, "fact", "facts"))
	for _, c := range causes {
		why := c.Reason
		if len(c.Asked) > 0 {
			why = strings.Join(c.Asked, "; ")
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", escape(c.Finding.Finding), escape(why), factList(c))
	}
	b.WriteString("\n</details>\n")
}
