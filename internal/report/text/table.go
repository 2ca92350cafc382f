package text

import (
	"math"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/base/lists"
	"tare/internal/base/term"
	"tare/internal/report/section"
)

// grid is a table that leaves some columns out, as the texts of its rows.
type grid struct {
	columns []section.Column
	rows    []line
}

// line is a row of a grid.
type line struct {
	section.Row
	texts []string
	codes []string // the colours of the texts
}

// table prints a table in columns, in pieces of a few columns each, or as lines of text.
func (t *terminal) table(table *section.Table) {
	if table.Lines {
		t.lines(gridOf(table, 0))
		return
	}
	if g := gridOf(table, 0); table.Slim && g.bars() && g.width()+slimBar <= t.Width {
		t.grid(g, slimBar)
		return
	}
	for _, bar := range []int{leastBar, 0} {
		for narrower := range 4 {
			if g := gridOf(table, narrower); g.least(bar) <= t.Width && (bar == 0 || !table.Slim) {
				t.grid(g, bar)
				return
			}
		}
	}
	if g := gridOf(table, 3); table.Pieces {
		t.pieces(g)
		return
	}
	t.sentences(gridOf(table, 0))
}

func gridOf(table *section.Table, narrower int) grid {
	narrow := table.Narrow(narrower)
	g := grid{columns: narrow.Columns}
	for _, r := range narrow.Rows {
		l := line{Row: r}
		for _, c := range r.Cells {
			code := ""
			for _, piece := range c {
				if piece.Style == section.Verdict {
					code = verdicts[piece.Text]
				}
			}
			l.texts, l.codes = append(l.texts, term.Cell(c.Plain(narrower))), append(l.codes, code)
		}
		g.rows = append(g.rows, l)
	}
	return g
}

func (g grid) widths() []int {
	widths := lists.Map(g.columns, func(c section.Column) int {
		above, below, _ := strings.Cut(c.Head, ", ") // a head can take two lines
		return max(ansi.StringWidth(above), ansi.StringWidth(below))
	})
	for _, r := range g.rows {
		for i, text := range r.texts {
			if i < len(widths) && !r.spans(i, len(widths)) {
				widths[i] = max(widths[i], ansi.StringWidth(text))
			}
		}
	}
	return widths
}

// spans reports whether a text takes all columns that follow.
func (l line) spans(i, columns int) bool {
	return i == len(l.texts)-1 && i < columns-1 || l.Heading
}

func (g grid) width() (total int) {
	for _, n := range g.widths() {
		total += n + 2
	}
	return total
}

// A bar narrower than leastBar cannot be read, one beside its own number slimBar; a name is
// not cut below leastName.
const leastBar, slimBar, leastName = 10, 6, 18

func (g grid) bars() bool {
	return slices.ContainsFunc(g.rows, func(l line) bool { return l.Bar != nil })
}

// least is the width that a grid takes with bars of that width, beside names that are cut.
func (g grid) least(bar int) int {
	if g.bars() {
		return g.width() - max(0, g.widths()[0]-leastName) + bar
	}
	return g.width()
}

// grid prints rows in columns, below headings for those that share a group, with bars of at
// least that width; 0 is without.
func (t *terminal) grid(g grid, least int) {
	widths, wide := g.widths(), g.width()
	if excess := g.width() + least - t.Width; g.bars() && least > 0 && excess > 0 { // a name is cut before the bars get too narrow
		cut := min(excess, max(0, widths[0]-leastName))
		widths[0], wide = widths[0]-cut, wide-cut
	}
	room := min(t.Width-wide-2, t.Width/4) // for bars
	above, below := make([]string, len(widths)), make([]string, len(widths))
	for i, c := range g.columns {
		var two bool
		if above[i], below[i], two = strings.Cut(c.Head, ", "); !two {
			above[i], below[i] = "", c.Head
		}
	}
	for _, heads := range [][]string{above, below} {
		if strings.Join(heads, "") != "" {
			t.WriteString(t.paint(dim, ansi.Truncate(t.inColumns(g.columns, widths, line{texts: heads}), t.Width, "…")) + "\n")
		}
	}
	last := ""
	for _, l := range g.rows {
		if l.Group != last {
			t.wrap(t.margin, t.paint(dim, l.Group))
		}
		last = l.Group
		text := t.inColumns(g.columns, widths, l)
		if l.spans(len(l.texts)-1, len(widths)) && ansi.StringWidth(text) > t.Width {
			t.wrap(t.margin, strings.TrimSpace(text))
			continue
		}
		text = ansi.Truncate(text, t.Width, "…")
		if l.Bar != nil && least > 0 && room > 0 {
			text += strings.Repeat(" ", max(0, wide+2-ansi.StringWidth(text))) + bar(*l.Bar, room)
		}
		t.WriteString(strings.TrimRight(text, " ") + "\n")
	}
}

func (t *terminal) inColumns(columns []section.Column, widths []int, l line) string {
	text := ""
	for i, cell := range l.texts {
		if i >= len(columns) {
			break
		}
		if l.spans(i, len(columns)) {
			text += "  " + cell
			break
		}
		cell = ansi.Truncate(cell, widths[i], "…")
		pad := strings.Repeat(" ", max(0, widths[i]-ansi.StringWidth(cell)))
		if i < len(l.codes) {
			cell = t.paint(l.codes[i], cell)
		}
		if columns[i].Number {
			text += "  " + pad + cell
		} else {
			text += "  " + cell + pad
		}
	}
	return strings.TrimRight(text, " ")
}

// bar draws a part of a whole, to an eighth of a column. A light one is not material.
func bar(b section.Bar, columns int) string {
	first := min(columns-1, int(math.Floor(b.From*float64(columns))))
	eighths := max(1, int(math.Round(8*(b.To*float64(columns)-float64(first)))))
	if b.Light {
		return strings.Repeat(" ", first) + strings.Repeat("░", max(1, (eighths+4)/8))
	}
	return strings.Repeat(" ", first) + strings.Repeat("█", eighths/8) + []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}[eighths%8]
}

// pieces prints a grid a few columns at a time, each time with the first one.
func (t *terminal) pieces(g grid) {
	for first := 1; first < len(g.columns); {
		next := len(g.columns)
		for ; next > first+1 && g.between(first, next).width() > t.Width; next-- {
		}
		t.grid(g.between(first, next), 0)
		first = next
	}
}

// between is a grid with the first column and those from first up to next.
func (g grid) between(first, next int) grid {
	piece := grid{columns: append(g.columns[:1:1], g.columns[first:next]...)}
	for _, l := range g.rows {
		if len(l.texts) == len(g.columns) {
			l.texts, l.codes = append(l.texts[:1:1], l.texts[first:next]...), append(l.codes[:1:1], l.codes[first:next]...)
		}
		piece.rows = append(piece.rows, l)
	}
	return piece
}

// sentences prints a row in as many lines as it takes, below its group.
func (t *terminal) sentences(g grid) {
	last := ""
	for _, l := range g.rows {
		if l.Group != last {
			t.wrap(t.margin, t.paint(dim, l.Group))
		}
		last = l.Group
		text := ""
		for i, cell := range l.texts {
			c := g.columns[i]
			form := c.Say
			switch {
			case cell == "":
				continue
			case form != "":
			case c.Key:
				form = "%s:"
			case c.Head == "" || l.spans(i, len(g.columns)):
				form = "%s,"
			default:
				form = c.Head + " %s,"
			}
			text += " " + strings.Replace(form, "%s", t.paint(l.codes[i], cell), 1)
		}
		t.wrap(t.margin+2, strings.TrimRight(strings.TrimPrefix(text, " "), ",:"))
	}
}

// lines prints each cell of a row in lines of its own.
func (t *terminal) lines(g grid) {
	for _, l := range g.rows {
		t.wrap(t.margin, t.paint(bold, l.texts[0]))
		for i, cell := range l.Cells[1:] {
			t.facts(g.columns[i+1].Head, cell)
		}
	}
}

// facts prints a cell with its head, and each of its lines below if it has several.
func (t *terminal) facts(head string, cell section.Cell) {
	var parts []section.Cell
	for _, piece := range cell {
		if piece.Break || len(parts) == 0 {
			parts = append(parts, nil)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], piece)
	}
	texts := lists.Filter(lists.Map(parts, func(p section.Cell) string { return p.Plain(0) }), func(text string) bool { return text != "" })
	if len(texts) == 1 {
		t.wrap(t.margin+2, head+": "+texts[0])
		return
	}
	for i, text := range texts {
		if i == 0 {
			t.wrap(t.margin+2, head+":")
		}
		t.wrap(t.margin+4, text)
	}
}
