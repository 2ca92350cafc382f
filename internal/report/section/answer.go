package section

import (
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/report/model"
)

// answer is what a reader decides by: for each environment what happens to the services and
// to the other work, what that means, and what is undecided; where the load came from, the
// state of the machine, the largest part of a ladder, and how to go on.
func answer(v *model.Report, o Options) Section {
	s := Section{ID: "answer", Title: "In short"}
	layers, other := v.Layers(), "work"
	if slices.ContainsFunc(layers, func(l model.Layer) bool { return len(l.Services) > 0 }) {
		other = "other work"
	}
	t := &Table{About: "In short, by environment", Class: "full layers", Lines: true, Cards: true,
		Columns: []Column{key("environment"), prose("services"), prose("CPU"), prose("money"), prose(other), prose("undecided"), prose(model.Mark + " differs"), prose("note")}}
	for _, l := range layers {
		t.Rows = append(t.Rows, Line(environment(l.Environment), lines(l.Services), l.CPU, l.Money, lines(l.Other), l.Undecided, l.Differs, l.Caution))
	}
	if len(t.Rows) > 0 {
		s.Parts = append(s.Parts, Part{Table: t.Narrow(0)})
	}
	told := slices.Concat(said("load", v.Load()), said("machine", v.Health()))
	next, is := v.Next()
	for _, part := range v.Parts() {
		told = append(told, said("parts", part)...)
	}
	if why, unknown := v.Explain(); unknown && len(v.Parts()) == 0 && why != next {
		told = append(told, command("parts", why, true)...)
	}
	var terms []Cell
	for _, term := range v.Terms() {
		terms = append(terms, said(term.Name, term.Means)...)
	}
	if o.Short {
		told = append(told, terms...)
	}
	told = append(told, command("next", next, is)...)
	again, is := v.Repeat()
	is = is && again.Command != next.Command
	if told = append(told, command("repeat", again, is)...); len(told) > 0 {
		s.Parts = append(s.Parts, Part{Notes: told})
	}
	if !o.Short && len(terms) > 0 {
		names := lists.Map(v.Terms(), func(t model.Term) string { return t.Name })
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
func command(about string, step model.Step, is bool) []Cell {
	if !is {
		return nil
	}
	return []Cell{{{Text: about, Style: Strong}, {Text: ": "}, {Text: step.Command, Style: Code}, {Text: " (" + step.Does + ")"}}}
}

// lines are texts below each other. What each is about stands out.
func lines(texts []string) (cell Cell) {
	for _, text := range texts {
		about := max(0, strings.IndexAny(text, "(:"))
		cell = append(cell, Text{Text: text[:about], Style: Strong, Break: true}, Text{Text: text[about:]})
	}
	return cell
}
