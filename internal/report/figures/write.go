package figures

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"codeberg.org/go-pdf/fpdf"

	"tare/internal/attribution/analysis"
	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/verdict"
)

// SVG writes each figure as SVG. The texts stay texts, in the first of the fonts that is
// there: all have the widths of the one that PDF files hold.
func SVG(v *model.Report) ([]model.File, error) {
	return write(v, ".svg", func(p *picture) ([]byte, error) { return p.svg(hex), nil })
}

// Waterfall draws an attribution for the page, as SVG whose colours are those of the
// page's style; nil without rows.
func Waterfall(v *model.Report, a analysis.Attribution) []byte {
	p := ladder(v, a)
	if p == nil {
		return nil
	}
	return p.svg(themed)
}

// themed is a colour as a variable of the page's style, which light and dark set.
func themed(c colour) string {
	if i := slices.Index(palette, c); i >= 0 {
		return fmt.Sprintf("var(--env-%d)", i)
	}
	if name, known := variables[c]; known {
		return "var(--" + name + ")"
	}
	return hex(c)
}

var variables = map[colour]string{
	ink: "ink", soft: "ink-soft", grid: "grid", band: "band", white: "paper", pale: "pale",
	appearances[verdict.Slower].strong: "slower", appearances[verdict.Faster].strong: "faster",
	appearances[verdict.Equivalent].strong: "equivalent", appearances[verdict.Inconclusive].strong: "inconclusive",
}

// PDF writes each figure as PDF, with the characters that it uses of its font.
func PDF(v *model.Report) ([]model.File, error) {
	return write(v, ".pdf", func(p *picture) ([]byte, error) { return p.pdf(v.Manifest.Created) })
}

func write(v *model.Report, ending string, with func(*picture) ([]byte, error)) (files []model.File, err error) {
	for _, p := range draw(v) {
		data, err := with(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		files = append(files, model.File{Name: "figures/" + p.name + ending, Data: data})
	}
	return files, nil
}

func (p *picture) svg(paint func(colour) string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%spt" height="%spt" viewBox="0 0 %[1]s %[2]s" role="img" font-family="Liberation Sans, Arial, Helvetica, sans-serif">`+"\n<title>%s</title>\n", digits(p.width), digits(p.height), escaped(p.title))
	for _, s := range p.shapes {
		painted := fmt.Sprintf(` fill="%s"`, paint(s.fill))
		if s.stroke != none {
			painted += fmt.Sprintf(` stroke="%s" stroke-width="%s"`, paint(s.stroke), digits(s.width))
		}
		if s.dash != nil {
			painted += fmt.Sprintf(` stroke-dasharray="%s"`, strings.Join(lists.Map(s.dash, digits), " "))
		}
		at := s.points[0]
		if s.text != "" {
			turned := ""
			if s.turned {
				turned = fmt.Sprintf(` transform="rotate(-90 %s %s)"`, digits(at.x), digits(at.y))
			}
			// As long as in the PDF, whatever font there is.
			fmt.Fprintf(&out, `<text x="%s" y="%s" font-size="%s" text-anchor="%s" textLength="%s" lengthAdjust="spacingAndGlyphs"%s%s>%s</text>`+"\n", digits(at.x), digits(at.y), digits(s.size), s.anchor, digits(widthOf(s.text, s.size)), painted, turned, escaped(s.text))
			continue
		}
		points := lists.Map(s.points, func(q point) string { return digits(q.x) + "," + digits(q.y) })
		element := "polyline"
		if s.closed {
			element = "polygon"
		}
		fmt.Fprintf(&out, `<%s points="%s"%s/>`+"\n", element, strings.Join(points, " "), painted)
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func digits(x float64) string {
	text := strings.TrimRight(strings.TrimRight(strconv.FormatFloat(x, 'f', 2, 64), "0"), ".")
	if text == "-0" {
		return "0"
	}
	return text
}

func hex(c colour) string {
	if c == none {
		return "none"
	}
	return fmt.Sprintf("#%06x", int(c))
}

func escaped(text string) string {
	var out bytes.Buffer
	_ = xml.EscapeText(&out, []byte(text)) // a buffer takes all
	return out.String()
}

const family = "sans"

// document is an empty PDF document of a size, with the font.
func document(width, height float64) *fpdf.Fpdf {
	doc := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: width, Ht: height}})
	doc.SetMargins(0, 0, 0)
	doc.SetAutoPageBreak(false, 0)
	doc.AddUTF8FontFromBytes(family, "", liberationsansregular.TTF)
	doc.SetFont(family, "", 100)
	return doc
}

var measuring = sync.OnceValue(func() *fpdf.Fpdf { return document(page, page) })

// measured keeps measurements apart that are made at the same time.
var measured sync.Mutex

func widthOf(text string, size float64) float64 {
	measured.Lock()
	defer measured.Unlock()
	return measuring().GetStringWidth(text) * size / 100
}

// pdf depends on nothing but the picture and the time of the run.
func (p *picture) pdf(created time.Time) ([]byte, error) {
	if created.IsZero() {
		created = time.Unix(0, 0) // the library would write the time of now
	}
	doc := document(p.width, p.height)
	doc.SetCatalogSort(true)
	doc.SetCreationDate(created.UTC())
	doc.SetModificationDate(created.UTC())
	doc.SetProducer("tare", true)
	doc.SetTitle(p.title, true)
	doc.AddPageFormat("", fpdf.SizeType{Wd: p.width, Ht: p.height})
	doc.SetLineJoinStyle("round")
	for _, s := range p.shapes {
		if s.fill != none {
			doc.SetFillColor(rgb(s.fill))
			doc.SetTextColor(rgb(s.fill))
		}
		if s.stroke != none {
			doc.SetDrawColor(rgb(s.stroke))
			doc.SetLineWidth(s.width)
			doc.SetDashPattern(append([]float64{}, s.dash...), 0)
		}
		if s.text != "" {
			at := s.points[0]
			doc.SetFont(family, "", s.size)
			x := at.x - map[anchor]float64{begins: 0, centred: .5, ends: 1}[s.anchor]*doc.GetStringWidth(s.text)
			doc.TransformBegin()
			if s.turned {
				doc.TransformRotate(90, at.x, at.y)
			}
			doc.Text(x, at.y, s.text)
			doc.TransformEnd()
			continue
		}
		doc.MoveTo(s.points[0].x, s.points[0].y)
		for _, q := range s.points[1:] {
			doc.LineTo(q.x, q.y)
		}
		if s.closed {
			doc.ClosePath()
		}
		doc.DrawPath(map[[2]bool]string{{true, true}: "DF", {true, false}: "F", {false, true}: "D"}[[2]bool{s.fill != none, s.stroke != none}])
	}
	var out bytes.Buffer
	if err := doc.Output(&out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func rgb(c colour) (r, g, b int) { return int(c) >> 16 & 255, int(c) >> 8 & 255, int(c) & 255 }
