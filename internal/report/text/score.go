package text

import (
	"io"
	"strings"

	"tare/internal/report/model"
)

// sheet prints the score sheet, with the shares where there is room for them.
func (t *terminal) sheet(s *model.ScoreSheet) {
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
func (t *terminal) part(s *model.ScoreSheet, part model.ScoreGroup) {
	for first := 0; first < len(s.Shown); {
		var rows [][]string
		rows, first = fitSheet(s, part, first, t.Width)
		t.rows(rows)
	}
}

// fitSheet makes the widest table that fits, starting with the environment first,
// and returns the index of the next one. Shares are dropped first, then importance.
func fitSheet(s *model.ScoreSheet, part model.ScoreGroup, first, room int) (rows [][]string, next int) {
	for next = len(s.Shown); ; next-- {
		for _, with := range [][2]bool{{true, true}, {false, true}, {false, false}} {
			if rows = sheetTable(s, part, first, next, with[0], with[1]); width(rows) <= room {
				return rows, next
			}
		}
		if next == first+1 {
			return rows, next
		}
	}
}

// sheetTable is a group in rows, with the environments from first up to last.
func sheetTable(s *model.ScoreSheet, part model.ScoreGroup, first, last int, shares, importance bool) [][]string {
	line := func(name, degree, most string, cells []string) []string {
		row := []string{name}
		if importance {
			row = append(row, degree)
		}
		return append(append(row, most), cells...)
	}
	rows := [][]string{line(strings.ToUpper(part.Name), "", "MAX", s.Shown[first:last])}
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

// WriteScore writes the score sheet alone, for the terminal.
func WriteScore(w io.Writer, in model.Input, o model.Options) error {
	v := model.New(in)
	t := newTerminal(o)
	t.wrap(0, t.paint(bold, v.Plan.Study)+"  "+v.Manifest.Run)
	t.sheet(v.ScoreSheet())
	_, err := io.WriteString(w, t.String())
	return err
}
