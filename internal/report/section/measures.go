package section

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/report/model"
)

// measures is a table with a row for each environment at each level of a workload, and a
// column for each measure. What is 0 in all rows, or has no value in any, has no column.
type measures struct {
	Part
	rows    []measured
	columns int      // of measures
	zero    []string // what has no column since it is 0
	absent  []absent // what has none for a reason
}

// absent is what has no value for the same reason.
type absent struct {
	heads  []string
	reason string
}

func (a absent) String() string { return strings.Join(a.heads, ", ") + ": " + a.reason }

// measured is an environment at a level.
type measured struct {
	model.Level
	*model.Environment
}

// measure is a cell: its value, how it is shown, and why it or its change is missing.
type measure struct {
	value  float64
	cell   Cell
	reason string
}

// placeColumns are those of the level, if there are several, and of the environment.
func placeColumns(w model.Workload) []Column {
	if w.Swept() {
		return []Column{group("level"), key("environment")}
	}
	return []Column{key("environment")}
}

// place is the beginning of a row.
func place(w model.Workload, at measured) Row {
	if w.Swept() {
		return Line(at.Level.Name, environment(at.Environment))
	}
	return Line(environment(at.Environment))
}

func measuresOf(v *model.Report, w model.Workload, about string, is func(measured) bool) *measures {
	m := &measures{Part: Part{Table: &Table{About: about, Pieces: true}}}
	m.Table.Columns = placeColumns(w)
	for _, l := range w.Levels {
		for i := range v.Environments {
			if at := (measured{l, &v.Environments[i]}); is(at) {
				m.rows = append(m.rows, at)
				m.Table.Rows = append(m.Table.Rows, place(w, at))
			}
		}
	}
	return m
}

// column adds a column, unless all values are 0.
func (m *measures) column(head string, cells []measure) {
	if !slices.ContainsFunc(cells, func(c measure) bool { return c.value != 0 }) {
		m.zero = append(m.zero, head)
		return
	}
	m.add(head, cells)
}

func (m *measures) add(head string, cells []measure) {
	m.Table.Columns, m.columns = append(m.Table.Columns, number(head)), m.columns+1
	for i, c := range cells {
		if c.reason != "" {
			at := slices.Index(m.Numbered, c.reason)
			if at < 0 {
				at = len(m.Numbered)
				m.Numbered = append(m.Numbered, c.reason)
			}
			c.cell = append(c.cell, Text{Text: fmt.Sprintf(" [%d]", at+1), Style: Quiet})
		}
		m.Table.Rows[i].Cells = append(m.Table.Rows[i].Cells, c.cell)
	}
}

// without names what has no value.
func (m *measures) without(head, reason string) {
	if same := lists.Find(m.absent, func(a *absent) bool { return a.reason == reason }); same != nil {
		same.heads = append(same.heads, head)
		return
	}
	m.absent = append(m.absent, absent{[]string{head}, reason})
}
