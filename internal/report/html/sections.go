package html

import (
	"html/template"

	"tare/internal/attribution/analysis"
	"tare/internal/base/lists"
	"tare/internal/report/figures"
	"tare/internal/report/model"
	"tare/internal/report/section"
)

// sectionsOf are the sections of a report or an excerpt, with their figures drawn.
func sectionsOf(v *model.Report, of section.Excerpt) []section.Section {
	all := section.Of(v, of, section.Options{All: true})
	for _, s := range all {
		for i, part := range s.Parts {
			switch of := part.Figure.(type) { // the texts of both are escaped
			case analysis.Attribution:
				s.Parts[i].Figure = template.HTML(figures.Waterfall(v, of))
			case model.SourceFigure:
				s.Parts[i].Figure = template.HTML(figures.Source(v, of))
			}
		}
	}
	return all
}

// At are the sections at a place of the page.
func (p *page) At(place section.Place) []section.Section {
	return lists.Filter(p.Sections, func(s section.Section) bool { return s.Place == place })
}

// partOf is a part with the section that it is in.
type partOf struct {
	Anchor  string
	Section section.Section
	section.Part
}

func under(s section.Section, p section.Part) partOf { return partOf{"", s, p} }

// Drawing is the figure above the table, if it has one.
func (p partOf) Drawing() template.HTML {
	drawing, _ := p.Figure.(template.HTML)
	return drawing
}

// shownCell is a cell with its element's attributes.
type shownCell struct {
	section.Cell
	section.Column
	Span  int // 0 for none
	About string
	What  string // the head, where a narrow window has no head above the column
}

func headed(t *section.Table) bool {
	return len(lists.Filter(t.Columns, func(c section.Column) bool { return c.Head != "" })) > 0
}

func cells(t *section.Table, r section.Row) (shown []shownCell) {
	for i, cell := range r.Cells {
		c := shownCell{Cell: cell, Column: t.Columns[i]}
		if c.Number {
			c.Class = "n"
		}
		if i == len(r.Cells)-1 && i < len(t.Columns)-1 {
			c.Span, c.Class = len(t.Columns)-i, "quiet"
		}
		if len(cell) > 0 {
			c.About = cell[0].About
		}
		if t.Cards && i > 0 && cell.Plain(0) != "" {
			c.What = c.Head
		}
		shown = append(shown, c)
	}
	return shown
}
