// Package figures draws a run for papers: each figure as SVG and as PDF, from one
// drawing, as wide as a column or a page of two columns. The HTML report takes the
// waterfall of a ladder from here.
//
// It must not compute anything: what is drawn comes from package model.
package figures

import (
	"math"
	"strings"

	"tare/internal/base/visible"
)

// Lengths are points, 72 to the inch, from the upper left corner.
const (
	column   = 3.3 * 72 // the width of a column of a page with two
	page     = 7 * 72   // the width of the page
	textSize = 7.0
)

// colour is 0xRRGGBB; none draws nothing.
type colour int

const none colour = -1

const (
	ink   colour = 0x1d1f21
	soft  colour = 0x5b6066
	grid  colour = 0xdcdcd8
	band  colour = 0xe3e8ec
	white colour = 0xffffff
	pale  colour = 0xc4c6c8
)

type point struct{ x, y float64 }

// shape is a polygon or a line through points, or a text.
type shape struct {
	points       []point
	closed       bool
	fill, stroke colour
	width        float64
	dash         []float64

	text   string
	size   float64
	anchor anchor
	turned bool // read from below to above
}

type anchor string

const (
	begins  anchor = "start"
	centred anchor = "middle"
	ends    anchor = "end"
)

// picture is a figure: shapes in the order in which they are drawn.
type picture struct {
	name, title   string
	width, height float64
	shapes        []shape
}

func (p *picture) line(stroke colour, width float64, dash []float64, points ...point) {
	p.shapes = append(p.shapes, shape{points: points, fill: none, stroke: stroke, width: width, dash: dash})
}

func (p *picture) rect(fill colour, x, y, width, height float64) {
	p.polygon(fill, point{x, y}, point{x + width, y}, point{x + width, y + height}, point{x, y + height})
}

func (p *picture) polygon(fill colour, points ...point) {
	p.shapes = append(p.shapes, shape{points: points, closed: true, fill: fill, stroke: none})
}

func (p *picture) outlined(fill, stroke colour, width float64, points ...point) {
	p.shapes = append(p.shapes, shape{points: points, closed: true, fill: fill, stroke: stroke, width: width})
}

// say writes a text whose line of writing is at y; its middle is at y - size·0.36.
func (p *picture) say(c colour, size float64, at anchor, x, y float64, text string) {
	if text == "" {
		return
	}
	p.shapes = append(p.shapes, shape{points: []point{{x, y}}, fill: c, stroke: none, text: plain(text), size: size, anchor: at})
}

func (p *picture) sayTurned(c colour, size float64, x, y float64, text string) {
	before := len(p.shapes)
	if p.say(c, size, centred, x, y, text); len(p.shapes) > before {
		p.shapes[before].turned = true
	}
}

// mark draws the symbol of a number, so that it can be told from others without colour.
func (p *picture) mark(symbol int, fill colour, at point, r float64) {
	p.outlined(fill, white, .4, symbolAt(symbol, at, r)...)
}

func symbolAt(symbol int, at point, r float64) (outline []point) {
	turn := func(n int, first, radius float64) {
		for i := range n {
			a := first + 2*math.Pi*float64(i)/float64(n)
			outline = append(outline, point{at.x + radius*math.Cos(a), at.y + radius*math.Sin(a)})
		}
	}
	switch symbol % 6 {
	case 0: // circle
		turn(16, 0, r)
	case 1: // square
		turn(4, math.Pi/4, r*1.2)
	case 2: // triangle
		turn(3, -math.Pi/2, r*1.3)
	case 3: // diamond
		turn(4, 0, r*1.3)
	case 4: // triangle on its tip
		turn(3, math.Pi/2, r*1.3)
	default: // cross
		for i := range 12 {
			d, a := r*.5, math.Pi/2*float64(i/3)
			corner := []point{{d, -d}, {r * 1.25, -d}, {r * 1.25, d}}[i%3]
			outline = append(outline, point{at.x + corner.x*math.Cos(a) - corner.y*math.Sin(a), at.y + corner.x*math.Sin(a) + corner.y*math.Cos(a)})
		}
	}
	return outline
}

// plain is a text that both formats draw: in one line, and without characters that the
// fonts of PDF cannot number.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r > 0xffff {
			return '\ufffd'
		}
		return r
	}, visible.Line(text))
}

// fit shortens a text to a width.
func fit(text string, width float64) string {
	text = plain(text)
	if widthOf(text, textSize) <= width {
		return text
	}
	runes := []rune(text)
	for len(runes) > 1 && widthOf(string(runes)+"…", textSize) > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

// joints are what a text is broken after.
const joints = " -_,=/"

// wrap is a text in one or two lines of a width.
func wrap(text string, width float64) []string {
	text = plain(text)
	if widthOf(text, textSize) <= width {
		return []string{text}
	}
	for i := len(text) - 1; i > 0; i-- {
		if first := strings.TrimRight(text[:i], " "); strings.IndexByte(joints, text[i-1]) >= 0 && widthOf(first, textSize) <= width {
			return []string{first, fit(text[i:], width)}
		}
	}
	return []string{fit(text, width)}
}
