package section

import (
	"fmt"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/parity"
	"tare/internal/report/model"
)

func parities(v *model.Report, o Options) Section {
	if len(v.Fair) == 0 {
		return Section{}
	}
	s := Section{ID: "parity", Title: model.FairnessTitle}
	if o.Short {
		s.Parts = []Part{{Notes: confounds(v)}}
		s.Parts = append(s.Parts, acrossNodes(v.Across, o)...)
		return s
	}
	s.Lead = "What differs between each environment and the one it is compared with. Inherent differences belong to the layer, chosen ones are set by the study. " +
		"A confound is neither: it may be the cause of a result, and every comparison that it affects is marked " + model.Mark + "."
	s.Parts = Differences(v.Fair, v.Across, v.ShownName, o)
	return s
}

// confounds are the names of the confounds, a line an environment.
func confounds(v *model.Report) (lines []Cell) {
	told := false
	for _, s := range v.Fair {
		text := "no confounds found"
		if n := len(s.Confounds); n > 0 {
			text = quantity.Counted(n, "confound", "confounds") + ": " + affecting(s.Confounds)
		}
		if notes := s.Notes(); len(notes) > 0 {
			text += "; note: " + affecting(notes)
		}
		told = told || len(s.Confounds)+len(s.Notes()) > 0
		name := v.ShownName(s.Environment)
		if s.Baseline != v.Plan.Baseline {
			name += " vs " + s.Baseline
		}
		lines = append(lines, plain(name+": "+text))
	}
	if v.Footnote() != "" {
		lines = append(lines, plain(v.Footnote()))
	}
	if told {
		lines = append(lines, plain("effects, and how to remove them: tare parity "+v.Manifest.Run))
	}
	return lines
}

func affecting(causes []parity.Cause) string {
	return strings.Join(lists.Map(causes, parity.Cause.Affecting), ", ")
}

// Differences are what differs between environments and between nodes, with the confounds
// in full. Shown is what an environment is called.
func Differences(summaries []parity.Summary, across parity.Nodes, shown func(string) string, o Options) (parts []Part) {
	for _, s := range summaries {
		base, other := shown(s.Baseline), shown(s.Environment)
		p := Part{Title: other + " vs " + base, Lead: plain(quantity.Counted(len(s.Confounds), "confound", "confounds") + ", under " + strings.Join(s.Workloads, ", "))}
		if len(s.Confounds) == 0 {
			p.Lead = plain("No confound affects the compared workloads: " + strings.Join(s.Workloads, ", ") + ".")
		} else {
			p.Table = &Table{About: "Confounds of " + other, Class: "full fair", Lines: true, Cards: true,
				Columns: []Column{key("confound"), column("affects"), prose(base + " vs " + other), prose("why"), prose("effect"), prose("remove")}}
		}
		for _, c := range s.Confounds {
			p.Table.Rows = append(p.Table.Rows, Line(Cell{{Text: c.Finding.Finding, Style: Strong}}, strings.Join(c.Over, ", "), facts(c, o), why(c), effect(c), c.Remove))
		}
		for _, c := range s.Notes() {
			text := fmt.Sprintf(", inherent, affects %s: %s. Effect: %s.", strings.Join(c.Over, ", "), c.Reason, c.Effect)
			if c.Remove != "" {
				text += " Remove: " + c.Remove + "."
			}
			p.Notes = append(p.Notes, Cell{{Text: "note: "}, {Text: c.Finding.Finding, Style: Strong}, {Text: text}})
		}
		parts = append(parts, p)
		for _, fold := range []struct {
			title  string
			causes []parity.Cause
		}{{"chosen by the study", s.Chosen}, {"inherent in the layer", s.Inherent}, {"confounds that affect none of these workloads", s.Idle}} {
			parts = append(parts, folded(fold.title, fold.causes, o)...)
		}
		last := Part{Last: quantity.Counted(s.Same, "fact", "facts") + " equal on both sides"}
		if len(s.Unseen) > 0 {
			last.Folded = "not compared, since only one side exposes them: " + quantity.Counted(len(s.Unseen), "fact", "facts")
			last.Notes = lists.Map(s.Unseen, func(u parity.Unseen) Cell {
				return Cell{{Text: u.Fact, Style: Code}, {Text: " in " + u.In + ": " + u.Reason}}
			})
			parts, last = append(parts, last), Part{Last: last.Last}
			parts[len(parts)-1].Last = ""
		}
		parts = append(parts, last)
	}
	return append(parts, acrossNodes(across, o)...)
}

func why(c parity.Cause) Cell {
	cell := plain(c.Reason)
	if len(c.Asked) > 0 {
		cell = append(cell, Text{Text: "asked for by the study: " + strings.Join(c.Asked, "; "), Style: Quiet, Break: true})
	}
	return cell
}

// effect of a confound, and that it takes the verdict where it does.
func effect(c parity.Cause) string {
	if !c.NoVerdict {
		return c.Effect
	}
	return c.Effect + ". No verdict, unless the study asks for one (accept: [" + c.Finding.Finding + "])"
}

// folded lists causes. Closed, they are named, with what the study asked for.
func folded(title string, causes []parity.Cause, o Options) []Part {
	if len(causes) == 0 {
		return nil
	}
	t := &Table{About: title, Class: "full fair", Lines: true, Cards: true, Columns: []Column{key("what"), prose("why"), prose("differs")}}
	total := 0
	var names []string
	for _, c := range causes {
		t.Rows = append(t.Rows, Line(c.Finding.Finding, why(c), facts(c, o)))
		total += len(c.Differences)
		name := c.Finding.Finding
		if len(c.Asked) > 0 {
			name += ": " + strings.Join(c.Asked, "; ")
		}
		names = append(names, name)
	}
	return []Part{{Folded: fmt.Sprintf("%s: %s (%s)", title, strings.Join(names, ", "), quantity.Counted(total, "fact", "facts")), Table: t}}
}

// mostFacts is how many facts of a cause are listed where lists are cut.
const mostFacts = 20

// facts are the values on both sides, a line a fact.
func facts(c parity.Cause, o Options) (cell Cell) {
	for n, d := range c.Differences {
		if n == mostFacts && !o.All {
			return append(cell, Text{Text: fmt.Sprintf("and %d more facts", len(c.Differences)-n), Break: true})
		}
		base, other := model.FactSides(d)
		cell = append(cell, Text{Text: d.Fact, Style: Code, Break: true}, Text{Text: ": " + base + " vs " + other})
	}
	return cell
}

func acrossNodes(n parity.Nodes, o Options) []Part {
	most := mostFacts
	if o.All {
		most = len(n.Differ)
	}
	lines := model.NodesDiffer(n, most)
	if len(lines) == 0 {
		return nil
	}
	return []Part{{Title: "Nodes", Lead: plain(lines[0]), Notes: plains(lines[1:])}}
}
