package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

//go:embed sheet.tmpl
var sheetText string

// sheet prints the score sheet, with the shares where there is room for them.
func (t *terminal) sheet(s *sheet) {
	if s == nil {
		return
	}
	t.WriteString("\n")
	t.wrap(0, t.paint(bold, "Score sheet")+"  "+s.Title)
	for _, part := range s.Parts {
		t.part(s, part)
		for _, tie := range part.Ties {
			t.wrap(2, "tie: "+tie)
		}
	}
	if len(s.Notes) > 0 {
		t.WriteString("\n")
	}
	for _, n := range s.Notes {
		t.wrap(2, n)
	}
	t.WriteString("\n")
	t.wrap(2, t.paint(dim, s.Legend()))
}

// part prints one group, in pieces of a few environments each where it is too
// wide for one.
func (t *terminal) part(s *sheet, part sheetPart) {
	for first := 0; first < len(s.Shown); {
		var rows [][]string
		rows, first = s.fit(part, first, t.Width)
		t.rows(rows)
	}
}

// fit makes the widest table that has room, beginning with this environment,
// and says which one comes next: the shares go first, then the importance.
func (s *sheet) fit(part sheetPart, first, room int) (rows [][]string, next int) {
	for next = len(s.Shown); ; next-- {
		for _, with := range [][2]bool{{true, true}, {false, true}, {false, false}} {
			if rows = s.table(part, first, next, with[0], with[1]); width(rows) <= room {
				return rows, next
			}
		}
		if next == first+1 {
			return rows, next
		}
	}
}

func (t *terminal) rows(rows [][]string) {
	widths := columns(rows)
	for i, row := range rows {
		var line strings.Builder
		for j, text := range row {
			pad := strings.Repeat(" ", widths[j]-ansi.StringWidth(text))
			if j == 0 {
				line.WriteString("  " + text + pad)
			} else {
				line.WriteString("  " + pad + text)
			}
		}
		text := ansi.Truncate(strings.TrimRight(line.String(), " "), t.Width, "…")
		if i == 0 {
			text = t.paint(dim, text)
		}
		t.WriteString(text + "\n")
	}
}

// table is a group in rows, with the environments from first up to last.
func (s *sheet) table(part sheetPart, first, last int, shares, importance bool) [][]string {
	line := func(name, degree, most string, cells []string) []string {
		row := []string{name}
		if importance {
			row = append(row, degree)
		}
		return append(append(row, most), cells...)
	}
	rows := [][]string{line(strings.ToUpper(part.Name), "", "MOST", s.Shown[first:last])}
	for _, r := range part.Rows {
		var cells []string
		for _, c := range r.Cells[first:last] {
			text := c.String()
			if shares && c.Share != "" {
				text = c.Share + "  " + text
			}
			cells = append(cells, text)
		}
		rows = append(rows, line(r.Name, r.Importance, r.Best, cells))
	}
	return rows
}

func columns(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for j, text := range row {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], ansi.StringWidth(text))
		}
	}
	return widths
}

func width(rows [][]string) int {
	total := 0
	for _, n := range columns(rows) {
		total += n + 2
	}
	return total
}

func markdownSheet(b *strings.Builder, s *sheet) {
	if s == nil {
		return
	}
	fmt.Fprintf(b, "\n## Score sheet\n\n%s\n", escape(s.Title))
	for _, part := range s.Parts {
		b.WriteString("\n| " + escape(part.Name) + " | importance | most")
		for _, e := range s.Shown {
			b.WriteString(" | " + escape(e))
		}
		b.WriteString(" |\n|---|---|---:" + strings.Repeat("|---", len(s.Shown)) + "|\n")
		for _, r := range part.Rows {
			fmt.Fprintf(b, "| %s | %s | %s", escape(r.Name), escape(r.Importance), r.Best)
			for _, c := range r.Cells {
				text := "**" + c.Score + "**"
				if c.Range != "" {
					text += " (" + c.Range + ")"
				}
				fmt.Fprintf(b, " | %s", strings.TrimRight(strings.TrimSpace(text+" "+c.Share+" "+escape(c.Ends)), " "))
			}
			b.WriteString(" |\n")
		}
		for _, tie := range part.Ties {
			fmt.Fprintf(b, "\n**Tie** of %s.\n", escape(tie))
		}
	}
	b.WriteString("\n")
	for _, n := range s.Notes {
		fmt.Fprintf(b, "- %s\n", escape(n))
	}
	fmt.Fprintf(b, "\n%s\n", escape(s.Legend()))
}

// ScoreTerminal writes the score sheet alone, for the terminal.
func ScoreTerminal(w io.Writer, in Input, o TerminalOptions) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	v := newView(in)
	t := &terminal{TerminalOptions: o}
	t.wrap(0, t.paint(bold, v.Plan.Study)+"  "+v.Manifest.Run)
	t.sheet(v.Sheet())
	_, err := io.WriteString(w, t.String())
	return err
}

// ScoreMarkdown writes the score sheet alone, as Markdown.
func ScoreMarkdown(w io.Writer, in Input) error {
	v := newView(in)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nRun `%s`.\n", escape(v.Plan.Study), v.Manifest.Run)
	markdownSheet(&b, v.Sheet())
	_, err := io.WriteString(w, b.String())
	return err
}

// ScoreHTML writes the score sheet alone, as one page that works offline.
func ScoreHTML(w io.Writer, in Input) error {
	return pageTemplate.ExecuteTemplate(w, "score page", &page{view: newView(in), Style: template.CSS(style)})
}
