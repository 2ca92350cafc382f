package html

import (
	"html/template"

	"tare/internal/attribution/analysis"
	"tare/internal/base/lists"
	"tare/internal/report/figures"
	"tare/internal/report/section"
)

// Sections of the report, or those of these names.
func (p *page) Sections(only ...string) []section.Section {
	all := section.Of(p.Report, section.Options{All: true}, only...)
	for _, s := range all {
		for i, part := range s.Parts {
			if a, is := part.Figure.(analysis.Attribution); is {
				s.Parts[i].Figure = template.HTML(figures.Waterfall(p.Report, a)) // its texts are escaped
			}
		}
	}
	return all
}

// Before are the sections before the verdicts.
func (p *page) Before() []section.Section { return p.Sections("attribution") }

// Beside are the sections between the verdicts and the details of the workloads.
func (p *page) Beside() []section.Section {
	return lists.Filter(p.Sections(), func(s section.Section) bool { return !s.Details && s.ID != "attribution" })
}

// Below are the sections after the details.
func (p *page) Below() []section.Section {
	return lists.Filter(p.Sections(), func(s section.Section) bool { return s.Details })
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
