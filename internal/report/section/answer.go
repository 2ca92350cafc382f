package section

import (
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/report/model"
)

// answer is what a reader decides by: for each environment what is safe to act on and what is
// not, and what that means; where the load came from, the state of the machine, the largest
// part of a ladder, and how to go on.
func answer(v *model.Report, o Options) Section {
	s, a := Section{ID: "answer", Title: "In short"}, v.Answer()
	t := &Table{About: "In short, by environment", Class: "full layers", Lines: true, Cards: true, Columns: []Column{key("environment")}}
	for _, g := range model.Grades {
		t.Columns = append(t.Columns, prose(string(g)))
	}
	t.Columns = append(t.Columns, prose(model.CPUOfOperation), prose("money"), prose("note"))
	for _, l := range a.Layers {
		row := Line(environment(l.Environment))
		for _, g := range model.Grades {
			row.Cells = append(row.Cells, lines(l.Lines[g]))
		}
		row.Cells = append(row.Cells, Line(l.CPU, l.Money, l.Caution).Cells...)
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) > 0 {
		s.Parts = append(s.Parts, Part{Table: t.Narrow(0)})
	}
	told := slices.Concat(said("load", a.Load), said("machine", a.Health))
	for _, part := range a.Parts {
		told = append(told, said("parts", part)...)
	}
	if a.Why != a.Next {
		told = append(told, command("parts", a.Why)...)
	}
	var terms []Cell
	for _, term := range a.Terms {
		terms = append(terms, said(term.Name, term.Means)...)
	}
	if o.Short {
		told = append(told, terms...)
	}
	told = append(told, command("next", a.Next)...)
	if a.Repeat.Command != a.Next.Command {
		told = append(told, command("repeat", a.Repeat)...)
	}
	if len(told) > 0 {
		s.Parts = append(s.Parts, Part{Notes: told})
	}
	if !o.Short && len(terms) > 0 {
		names := lists.Map(a.Terms, func(t model.Term) string { return t.Name })
		s.Parts = append(s.Parts, Part{Folded: "What these mean: " + strings.Join(names, ", "), Notes: terms})
	}
	return s
}

// said is a note; none without a text.
func said(about, text string) []Cell {
	if text == "" {
		return nil
	}
	return []Cell{{{Text: about, Style: Strong}, {Text: ": " + text + "."}}}
}

// command is a note with a command, if there is one.
func command(about string, step model.Step) []Cell {
	if step.Command == "" {
		return nil
	}
	return []Cell{{{Text: about, Style: Strong}, {Text: ": "}, {Text: step.Command, Style: Code}, {Text: " (" + step.Does + ")"}}}
}

// lines are texts below each other. What each is about stands out.
func lines(texts []string) (cell Cell) {
	for _, text := range texts {
		about := ""
		if strings.Contains(text, ": ") {
			about = strings.TrimSpace(text[:strings.IndexAny(text, "(:")])
		}
		cell = append(cell, Text{Text: about, Style: Strong, Break: true}, Text{Text: text[len(about):]})
	}
	return cell
}
