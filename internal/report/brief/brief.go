// Package brief writes a run as a PDF of two pages: what was found, and under which
// conditions. What does not fit is left out, with where it is.
//
// It must not compute anything: what it says comes from package model.
package brief

import (
	"fmt"
	"io"
	"slices"
	"time"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"codeberg.org/go-pdf/fpdf"

	"tare/internal/base/visible"
	"tare/internal/report/model"
	"tare/internal/report/section"
)

// Lengths are points, 72 to the inch, on A4.
const (
	margin      = 48.0
	lineHeight  = 10.2
	textSize    = 8.5
	titleSize   = 15.0
	headingSize = 10.5
	gap         = 6.0
)

// titleLines are as many as a title has at most.
const titleLines = 2

// Write writes the two pages.
func Write(w io.Writer, in model.Input, _ model.Options) error {
	v := model.New(in)
	p := newPaper(v)
	p.begin(v.Plan.Study, v.Manifest.Run+": "+v.Overview())
	for _, s := range section.Of(v, section.Columns, section.Options{Short: true}) {
		if s.Place == section.First {
			p.section(s)
		}
	}
	p.heading("Verdicts")
	p.verdicts(v)
	p.begin("Conditions", v.Manifest.Run)
	for _, f := range v.Made() {
		p.paragraph(f.Name, f.Text)
	}
	for _, id := range []string{"parity", "environments", "notes"} {
		all := section.Of(v, section.All, section.Options{Short: true})
		if i := slices.IndexFunc(all, func(s section.Section) bool { return s.ID == id }); i >= 0 {
			p.section(all[i])
		}
	}
	p.foot()
	return p.Output(w)
}

// paper is the document. What a page has no room for is counted.
type paper struct {
	*fpdf.Fpdf
	left, right, bottom float64
	omitted             int
}

func newPaper(v *model.Report) *paper {
	doc := fpdf.New("P", "pt", "A4", "")
	width, height := doc.GetPageSize()
	created := v.Manifest.Created
	if created.IsZero() {
		created = time.Unix(0, 0) // the library would write the time of now
	}
	doc.SetCatalogSort(true)
	doc.SetCreationDate(created.UTC())
	doc.SetModificationDate(created.UTC())
	doc.SetProducer("tare", true)
	doc.SetTitle(visible.Line(v.Plan.Study), true)
	doc.SetMargins(margin, margin, margin)
	doc.SetAutoPageBreak(false, 0)
	doc.AddUTF8FontFromBytes("sans", "", liberationsansregular.TTF)
	doc.AddUTF8FontFromBytes("sans", "B", liberationsansbold.TTF)
	return &paper{Fpdf: doc, left: margin, right: width - margin, bottom: height - margin - 2*lineHeight}
}

// begin begins a page.
func (p *paper) begin(title, below string) {
	p.foot()
	p.AddPage()
	p.SetFont("sans", "B", titleSize)
	for i, line := range p.SplitText(visible.Line(title), p.right-p.left) {
		if i < titleLines {
			p.text(titleSize*1.3, line)
		}
	}
	p.SetFont("sans", "", textSize)
	p.text(lineHeight, below)
}

// foot ends a page, and says what it has no room for.
func (p *paper) foot() {
	if p.PageNo() == 0 {
		return
	}
	p.SetXY(p.left, p.bottom+lineHeight)
	p.SetFont("sans", "", textSize)
	more := "all of it: report.html of the run"
	if p.omitted > 0 {
		more = fmt.Sprintf("%d more lines did not fit; %s", p.omitted, more)
	}
	p.Cell(0, lineHeight, fmt.Sprintf("page %d of 2    %s", p.PageNo(), more))
	p.omitted = 0
}

func (p *paper) heading(title string) {
	if p.GetY()+gap+2*lineHeight > p.bottom {
		return
	}
	p.Ln(gap)
	p.SetFont("sans", "B", headingSize)
	p.text(headingSize*1.3, title)
	p.SetFont("sans", "", textSize)
}

// text writes lines as wide as the page, as far as there is room.
func (p *paper) text(height float64, text string) {
	p.SetX(p.left)
	lines := p.SplitText(visible.Line(text), p.right-p.left)
	for _, line := range lines {
		if p.GetY()+height > p.bottom {
			p.omitted++
			continue
		}
		p.CellFormat(0, height, line, "", 1, "L", false, 0, "")
	}
}

// paragraph is a text with what it is about.
func (p *paper) paragraph(about, text string) {
	if about != "" {
		text = about + ": " + text
	}
	p.text(lineHeight, text)
}

func (p *paper) section(s section.Section) {
	p.heading(s.Title)
	for _, part := range s.Parts {
		if part.Title != "" {
			p.paragraph("", part.Title)
		}
		for _, note := range part.Notes {
			p.paragraph("", note.Plain(0))
		}
		if part.Table == nil {
			continue
		}
		for _, r := range part.Table.Rows {
			if part.Table.Lines {
				p.lines(part.Table.Columns, r)
				continue
			}
			line := ""
			for i, c := range r.Cells {
				if text := c.Plain(0); text != "" && i > 0 {
					line += ", " + text
				} else {
					line += text
				}
			}
			p.paragraph("", line)
		}
	}
}

// lines are a row whose cells are texts, each with its head.
func (p *paper) lines(columns []section.Column, r section.Row) {
	text := ""
	for i, c := range r.Cells {
		switch shown := c.Plain(0); {
		case shown == "":
		case i == 0:
			text = shown
		default:
			text += ". " + columns[i].Head + ": " + shown
		}
	}
	p.paragraph("", text)
}

// columns of the verdicts: environment, value, change, interval, verdict, blocks.
var columns = []struct {
	width float64
	align string
}{{90, "L"}, {60, "R"}, {55, "R"}, {112, "L"}, {80, "L"}, {90, "L"}}

// verdicts are the primary comparisons, below their metrics.
func (p *paper) verdicts(v *model.Report) {
	for _, r := range v.Primary() {
		p.SetFont("sans", "B", textSize)
		p.text(lineHeight, fmt.Sprintf("%s, %s; %s: %s", r.Title(), r.Metric.Heading(), v.Base.Shown, model.ShortFigure(r.Metric.Reference, r.Metric.Unit)))
		p.SetFont("sans", "", textSize)
		for _, c := range r.Metric.Ran() {
			switch k := c.Contrast; {
			case k == nil:
				p.row(c.Environment.Shown, model.Missing, "", c.Reason)
			case k.NoRatio():
				p.row(c.Environment.Shown, model.ShortFigure(c.Median, r.Metric.Unit), "", model.NoRatioReason(k))
			default:
				p.row(c.Environment.Shown, model.ShortFigure(c.Median, r.Metric.Unit), model.EstimateText(k), model.IntervalText(k), model.VerdictWord(k)+model.ConfoundMark(k), model.BlockCount(k))
			}
		}
	}
	if note := v.Footnote(); note != "" {
		p.text(lineHeight, note)
	}
}

// row is one line of the verdicts. A text that is too long for its column is cut.
func (p *paper) row(texts ...string) {
	if p.GetY()+lineHeight > p.bottom {
		p.omitted++
		return
	}
	p.SetX(p.left)
	for i, text := range texts {
		c := columns[i]
		if i == len(texts)-1 {
			c.width = p.right - p.GetX() // the last one has what is left
		}
		text = visible.Line(text)
		if lines := p.SplitText(text, c.width-4); len(lines) > 1 {
			text = lines[0] + "…"
		}
		if i == 3 {
			p.SetX(p.GetX() + 8)
		}
		p.CellFormat(c.width, lineHeight, text, "", 0, c.align, false, 0, "")
	}
	p.Ln(lineHeight)
}
