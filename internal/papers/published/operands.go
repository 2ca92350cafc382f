package published

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"tare/internal/base/failing"
	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
)

func (s *Study) tableByID(id string) *Table {
	return lists.Find(s.Tables, func(t *Table) bool { return t.ID == id })
}

// Environment is the one with an ID; nil where there is none.
func (s *Study) Environment(id string) *Environment {
	return lists.Find(s.Environments, func(e *Environment) bool { return e.ID == id })
}

// ids are those of the environments.
func (s *Study) ids() []string {
	return lists.Map(s.Environments, func(e Environment) string { return e.ID })
}

// Name is the study's own name of an environment.
func (s *Study) Name(id string) string {
	if e := s.Environment(id); e != nil && e.Name != "" {
		return e.Name
	}
	return id
}

// rows are a table's rows; a table without levels has one, with its cells.
func (t *Table) rows() []Row {
	if len(t.Rows) > 0 {
		return t.Rows
	}
	return []Row{{Cells: t.Cells}}
}

// changes are the percentages printed beside a row.
func (t *Table) changes(row Row) map[string]Number {
	if t.Changes == nil {
		return nil
	}
	if len(row.At) > 0 {
		return row.Changes
	}
	return t.Changes.Cells
}

// sheet is where operands find their figures: a table, or the printed scores.
type sheet struct {
	title, unit, better string
	place               string
	rows                []Row
	table               *Table // nil for scores
}

func (s *Study) sheet(table, score string) *sheet {
	switch {
	case table != "" && score != "":
		failing.With("give either table or score, not both")
	case score != "":
		return s.scoreSheet(score)
	case table == "":
		failing.With("the table is missing: add `table: ID` or `score: ID`")
	}
	t := s.tableByID(table)
	if t == nil {
		unknown("table", table, lists.Map(s.Tables, func(t Table) string { return t.ID }))
	}
	title := t.Metric
	if t.Statistic != "" && !strings.Contains(title, t.Statistic) {
		title = t.Statistic + " " + title
	}
	return &sheet{title, t.Unit, t.Better, t.Place, t.rows(), t}
}

func (s *Study) scoreSheet(id string) *sheet {
	var known []string
	if s.Scores != nil {
		for _, g := range s.Scores.Groups {
			known = append(known, g.ID)
			if g.ID == id {
				return &sheet{"sum of " + g.Name, "points", "higher", g.Place, scoreRows(g.Sums), nil}
			}
			for _, f := range g.Features {
				known = append(known, f.ID)
				if f.ID == id {
					return &sheet{"score of " + f.Name, "points", "higher", g.Place, scoreRows(f.Scores), nil}
				}
			}
		}
	}
	unknown("score", id, known)
	return nil
}

func scoreRows(numbers map[string]Number) []Row {
	cells := map[string]Cell{}
	for id, n := range numbers {
		cells[id] = Cell{Value: n}
	}
	return []Row{{Cells: cells}}
}

// figure is one printed figure with its span.
type figure struct {
	span
	text string
}

// figure reads an environment's cell of a row.
func (row Row) figure(environment, statistic string, exact bool) (figure, error) {
	c, ok := row.Cells[environment]
	if !ok || c.Empty {
		return figure{}, fmt.Errorf("%[2]s has no value for %[1]q", environment, row.where())
	}
	value := c.Value.span()
	if exact { // points are counted, not rounded
		value = span{c.Value.value, c.Value.value, c.Value.value}
	}
	switch statistic {
	case "", "value":
		return figure{value, c.Value.text}, nil
	case "sd", "cv":
		if c.SD == nil {
			return figure{}, fmt.Errorf("%[2]s has no standard deviation for %[1]q", environment, row.where())
		}
		if statistic == "sd" {
			return figure{c.SD.span(), c.SD.text}, nil
		}
		cv, ok := c.SD.span().over(value)
		if !ok {
			return figure{}, fmt.Errorf("%s over %s has no bound", c.SD.text, c.Value.text)
		}
		cv = cv.times(100)
		return figure{cv, fmt.Sprintf("%.1f%%", cv.mid)}, nil
	}
	return figure{}, errors.New(strictyaml.Unknown("statistic", statistic, []string{"value", "sd", "cv"}))
}

func (row Row) where() string {
	if len(row.At) == 0 {
		return "the table"
	}
	return "the row at " + row.At.String()
}

// at keeps the rows of a level; all of them where none is named.
func (t *sheet) at(level Level) []Row {
	if len(level) == 0 {
		return t.rows
	}
	found := lists.Filter(t.rows, func(row Row) bool {
		for name, value := range level {
			if row.At[name] != value {
				return false
			}
		}
		return true
	})
	if len(found) == 0 {
		failing.With("there is no row at %s in %s", level, t.place)
	}
	return found
}

// located is an operand with the rows that it is about.
type located struct {
	Operand
	sheet *sheet
	rows  []Row
	again Again
}

func (s *Study) locate(c *Check, o Operand) located {
	if o.Table == "" && o.Score == "" {
		o.Table, o.Score = c.Table, c.Score
	}
	o.Statistic = cmp.Or(o.Statistic, c.Statistic)
	if o.At == nil {
		o.At = c.At
	}
	if o.Environment != "" && s.Environment(o.Environment) == nil {
		unknown("environment", o.Environment, s.ids())
	}
	t := s.sheet(o.Table, o.Score)
	return located{o, t, t.at(o.At), s.again}
}

// all locates every operand of `of`.
func (s *Study) all(c *Check) []located {
	if len(c.Of) == 0 {
		failing.With("the environment is missing: add `of:`")
	}
	return lists.Map(c.Of, func(o Operand) located {
		l := s.locate(c, o)
		if l.Environment == "" {
			failing.With("an operand of `of` needs an environment")
		}
		return l
	})
}

func (l located) figure(row Row) (figure, error) {
	if l.again != nil {
		text, err := l.again.Figure(l.spot(row))
		return figure{text: text}, err
	}
	return row.figure(l.Environment, l.Statistic, l.sheet.unit == "points")
}

// point is a figure of an operand, in a row.
type point struct {
	row Row
	figure
}

// points are the operand's figures; at a named level there must be one.
func (l located) points() (points []point) {
	for _, row := range l.rows {
		f, err := l.figure(row)
		if err == nil {
			points = append(points, point{row, f})
		} else if len(l.At) > 0 || len(l.rows) == 1 {
			failing.With("%w (%s)", err, l.sheet.place)
		}
	}
	if len(points) == 0 && l.again != nil {
		_, err := l.figure(l.rows[0])
		failing.With("%w", err)
	}
	if len(points) == 0 {
		failing.With("%[2]s has no value for %[1]q", l.Environment, l.sheet.place)
	}
	return points
}

// each finds something about every figure of every operand of `of`.
func (s *Study) each(c *Check, find func(of located, p point) Finding) (findings []Finding) {
	for _, of := range s.all(c) {
		for _, p := range of.points() {
			findings = append(findings, find(of, p))
		}
	}
	return findings
}

func (l located) where(row Row) string {
	where := l.sheet.place + ", " + l.sheet.title
	if len(row.At) > 0 {
		where += " at " + row.At.String()
	}
	return where
}

func (l located) unitText() string {
	if l.Statistic == "cv" {
		return ""
	}
	return " " + l.sheet.unit
}

func (l located) shown(s *Study, f figure) string {
	if l.Statistic == "sd" {
		return s.Name(l.Environment) + " sd " + f.text
	}
	return s.Name(l.Environment) + " " + f.text
}
