package published

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/base/lists"
)

// grid is a table of a terminal: a title column and one of figures an
// environment.
type grid struct {
	columns []string // headings
	rows    []gridRow
}

type gridRow struct {
	title string
	cells []string // "\n" puts a second line below
	apart bool     // an empty line before it
}

// grid prints columns as wide as their figures; columns that do not fit continue
// below, with the titles repeated.
func (p *page) grid(g grid) {
	widths := make([]int, len(g.columns))
	for i, heading := range g.columns {
		for word := range strings.FieldsSeq(heading) {
			widths[i] = max(widths[i], min(ansi.StringWidth(word), 14)+2)
		}
		for _, r := range g.rows {
			for line := range strings.SplitSeq(r.cells[i], "\n") {
				widths[i] = max(widths[i], ansi.StringWidth(line)+2)
			}
		}
	}
	title := 0
	for _, r := range g.rows {
		title = max(title, ansi.StringWidth(r.title))
	}
	title = min(title, max(p.width-sum(widths), 24))
	for from := 0; from < len(widths); {
		to := from + 1
		for to < len(widths) && title+sum(widths[from:to+1]) <= p.width {
			to++
		}
		if from > 0 {
			p.line("")
		}
		p.gridLine(title, widths[from:to], gridRow{cells: g.columns[from:to]})
		for _, r := range g.rows {
			if r.apart {
				p.line("")
			}
			p.gridLine(title, widths[from:to], gridRow{title: r.title, cells: r.cells[from:to]})
		}
		from = to
	}
}

func sum(widths []int) (total int) {
	for _, w := range widths {
		total += w
	}
	return total
}

func (p *page) gridLine(title int, columns []int, r gridRow) {
	blocks := [][]string{wrap(r.title, title)}
	height := len(blocks[0])
	for i, c := range r.cells {
		var lines []string
		for part := range strings.SplitSeq(c, "\n") {
			lines = append(lines, wrap(part, columns[i]-2)...)
		}
		blocks = append(blocks, lines)
		height = max(height, len(lines))
	}
	for i := range height {
		line := padded(at(blocks[0], i), title)
		for j, b := range blocks[1:] {
			line += strings.Repeat(" ", max(columns[j]-ansi.StringWidth(at(b, i)), 0)) + at(b, i)
		}
		p.line(line)
	}
}

func (s *Study) columns() []string {
	return lists.Map(s.Environments, func(e Environment) string { return e.Name })
}

// tables prints tables without levels together, as they usually were, and each
// with levels on its own.
func (p *page) tables(s *Study) {
	p.heading("TABLES: mean ± standard deviation as printed, unless another statistic is given")
	var together grid
	flush := func() {
		if len(together.rows) > 0 {
			p.line("")
			p.grid(together)
		}
		together = grid{}
	}
	for i := range s.Tables {
		t := &s.Tables[i]
		if len(t.Rows) == 0 {
			together.columns = s.columns()
			together.rows = append(together.rows, s.gridRows(t, Row{Cells: t.Cells}, t.title())...)
			continue
		}
		flush()
		g := grid{columns: s.columns()}
		for _, row := range t.Rows {
			if len(row.Cells) > 0 { // others stand only in a chart
				g.rows = append(g.rows, s.gridRows(t, row, row.At.String())...)
			}
		}
		if len(g.rows) > 0 {
			p.heading(t.title())
			p.grid(g)
		}
	}
	flush()
}

// title is a table's metric with what a reader needs to know about it.
func (t *Table) title() string {
	text := t.Metric + ", " + t.Unit
	if t.Statistic != "" && t.Statistic != "mean" {
		text += ", " + t.Statistic
	}
	if t.Better != "neither" {
		text += ", " + t.Better + " is better"
	}
	text += "; " + t.Place
	if t.N > 0 {
		text += fmt.Sprintf("; n %d", t.N)
	}
	return text
}

func (s *Study) gridRows(t *Table, row Row, title string) []gridRow {
	first := gridRow{title: title, apart: len(row.At) == 0}
	second := gridRow{}
	if t.Changes != nil {
		second.title = "printed change over " + s.Name(t.Changes.Over)
	}
	changes := t.changes(row)
	for _, e := range s.Environments {
		cell, ok := row.Cells[e.ID]
		text := ""
		if ok {
			text = strings.Replace(cell.String(), " ± ", "\n± ", 1)
		}
		first.cells = append(first.cells, text)
		second.cells = append(second.cells, changes[e.ID].text)
	}
	if len(changes) == 0 {
		return []gridRow{first}
	}
	return []gridRow{first, second}
}

// scored prints the score sheets, and what differs from the printed one.
func (p *page) scored(r Result) {
	if r.Scored == nil {
		return
	}
	p.heading(fmt.Sprintf("SCORES: as printed, relative to %[2]s; in parentheses the score recomputed by the scheme of %[1]s, if it differs",
		r.Scored.Place, r.Study.Name(r.Scored.Baseline)))
	var differ []string
	for _, g := range r.Scored.Groups {
		var ids []string
		sheet := grid{}
		for _, e := range r.Environments {
			if e.ID != r.Scored.Baseline {
				ids, sheet.columns = append(ids, e.ID), append(sheet.columns, e.Name)
			}
		}
		for _, f := range g.Features {
			row := gridRow{title: f.Name + " " + f.thresholds()}
			for _, id := range ids {
				text := "-"
				for _, c := range f.Scores {
					if c.Environment != id {
						continue
					}
					if text = c.Printed.text; c.Outcome == Fails {
						text += fmt.Sprintf(" (%d)", c.Recomputed)
					}
					if c.Outcome != Holds {
						differ = append(differ, fmt.Sprintf("%s, %s of %s: printed %s; %s, which scores %s",
							g.Place, f.Name, r.Study.Name(id), c.Printed, c.Figures, c.allowed()))
					}
				}
				row.cells = append(row.cells, text)
			}
			sheet.rows = append(sheet.rows, row)
		}
		sheet.rows = append(sheet.rows, sumRows(g, ids)...)
		p.heading(joined(", ", g.Name, g.Place))
		p.grid(sheet)
	}
	p.line("")
	for _, d := range differ {
		p.item(d)
	}
	if len(differ) == 0 {
		p.line("All scores follow from the printed values.")
	}
}

func sumRows(g ScoredGroup, ids []string) []gridRow {
	rows := []gridRow{{title: "sum, printed"}, {title: "sum of the printed scores"}, {title: "sum of the recomputed scores"}}
	for _, id := range ids {
		texts := [3]string{"-", "-", "-"}
		for _, sum := range g.Sums {
			if sum.Environment == id {
				texts = [3]string{sum.Printed.text, fmt.Sprint(sum.OfPrinted), fmt.Sprint(sum.Recomputed)}
			}
		}
		for i := range rows {
			rows[i].cells = append(rows[i].cells, texts[i])
		}
	}
	return rows
}

func (f Feature) thresholds() string {
	sign, list := "≥", f.AtLeast
	if len(f.AtMost) > 0 {
		sign, list = "≤", f.AtMost
	}
	words := lists.Map(list, func(n Number) string { return strings.TrimSuffix(n.text, "%") })
	return sign + " " + strings.Join(words, " ") + "%"
}

// allowed is the score, with those that rounding allows.
func (c ScoredCell) allowed() string {
	if c.Least == c.Most {
		return fmt.Sprint(c.Recomputed)
	}
	return fmt.Sprintf("%d (%d to %d for values that round to the printed ones)", c.Recomputed, c.Least, c.Most)
}
