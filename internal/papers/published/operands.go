package published

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
)

func (s *Study) tableByID(id string) *Table {
	if i := slices.IndexFunc(s.Tables, func(t Table) bool { return t.ID == id }); i >= 0 {
		return &s.Tables[i]
	}
	return nil
}

func (s *Study) environmentByID(id string) *Environment {
	if i := slices.IndexFunc(s.Environments, func(e Environment) bool { return e.ID == id }); i >= 0 {
		return &s.Environments[i]
	}
	return nil
}

// Name is the study's own name of an environment.
func (s *Study) Name(id string) string {
	if e := s.environmentByID(id); e != nil && e.Name != "" {
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
}

func (s *Study) sheet(table, score string) (*sheet, error) {
	switch {
	case table != "" && score != "":
		return nil, fmt.Errorf("give either table or score, not both")
	case table != "":
		t := s.tableByID(table)
		if t == nil {
			known := lists.Map(s.Tables, func(t Table) string { return t.ID })
			return nil, fmt.Errorf("%s", strictyaml.Unknown("table", table, known))
		}
		title := t.Metric
		if t.Statistic != "" && !strings.Contains(title, t.Statistic) {
			title = t.Statistic + " " + title
		}
		return &sheet{title, t.Unit, t.Better, t.Place, t.rows()}, nil
	case score != "":
		return s.scoreSheet(score)
	}
	return nil, fmt.Errorf("the table is missing: add `table: ID` or `score: ID`")
}

func (s *Study) scoreSheet(id string) (*sheet, error) {
	var known []string
	if s.Scores != nil {
		for _, g := range s.Scores.Groups {
			known = append(known, g.ID)
			if g.ID == id {
				return &sheet{"sum of " + g.Name, "points", "higher", g.Place, scoreRows(g.Sums)}, nil
			}
			for _, f := range g.Features {
				known = append(known, f.ID)
				if f.ID == id {
					return &sheet{"score of " + f.Name, "points", "higher", g.Place, scoreRows(f.Scores)}, nil
				}
			}
		}
	}
	return nil, fmt.Errorf("%s", strictyaml.Unknown("score", id, known))
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
	return figure{}, fmt.Errorf("%s", strictyaml.Unknown("statistic", statistic, []string{"value", "sd", "cv"}))
}

func (row Row) where() string {
	if len(row.At) == 0 {
		return "the table"
	}
	return "the row at " + row.At.String()
}

// at keeps the rows of a level; all of them where none is named.
func (t *sheet) at(level Level) ([]Row, error) {
	if len(level) == 0 {
		return t.rows, nil
	}
	var found []Row
	for _, row := range t.rows {
		match := true
		for name, value := range level {
			match = match && row.At[name] == value
		}
		if match {
			found = append(found, row)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no row at %s in %s", level, t.place)
	}
	return found, nil
}
