package parse

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tare/internal/base/failing"
)

// Regex parses with regular expressions. Each must match exactly once; named
// groups are the fields.
func Regex(patterns []*regexp.Regexp, stdout []byte) (map[string]float64, error) {
	fields := map[string]float64{}
	return fields, failing.Caught(func() {
		for _, p := range patterns {
			matches, places := p.FindAllSubmatch(stdout, 2), p.FindAllSubmatchIndex(stdout, 1)
			switch len(matches) {
			case 0:
				fail("nothing matches %s; %s", p, ending(lines(stdout)))
			case 2:
				fail("%s matches more than once, first %q and then %q; make it say which one is meant",
					p, clip(string(matches[0][0])), clip(string(matches[1][0])))
			}
			for i, name := range p.SubexpNames() {
				if name != "" && matches[0][i] != nil {
					checkWhole(stdout, places[0], i)
					fields[name] = number(string(matches[0][i]), string(matches[0][0]))
				}
			}
		}
	})
}

// RegexHistogram counts the values, the group value, of all matches, or as many as
// the group count says. It is nil if nothing matches.
func RegexHistogram(pattern *regexp.Regexp, stdout []byte) (h Histogram, err error) {
	value, count := pattern.SubexpIndex("value"), pattern.SubexpIndex("count")
	err = failing.Caught(func() {
		places := pattern.FindAllSubmatchIndex(stdout, -1)
		for at, m := range pattern.FindAllSubmatch(stdout, -1) {
			checkWhole(stdout, places[at], value)
			n, times := number(string(m[value]), string(m[0])), 1.0
			if count >= 0 && m[count] != nil {
				times = number(string(m[count]), string(m[0]))
			}
			h = append(h, Bin{n, n, times})
		}
	})
	return h, err
}

// CSV returns values of a table whose first row has the names of the columns, and
// for each name that it does not have the reason. A field is a column's name if
// there is one row, otherwise ROW.COLUMN, where ROW is the row's first cell.
func CSV(names []string, stdout []byte) (fields map[string]float64, missing map[string]string, err error) {
	fields, missing = map[string]float64{}, map[string]string{}
	err = failing.Caught(func() {
		rows := table(stdout)
		head, rows := rows[0], rows[1:]
		for _, name := range names {
			var found []string
			for i, column := range head {
				row, named := strings.CutSuffix(name, "."+column)
				for _, r := range rows {
					if named && r[0] == row || name == column && len(rows) == 1 {
						found = append(found, r[i])
					}
				}
			}
			switch {
			case len(found) > 1:
				fail("%q occurs %d times in the table, as %q and as %q; make it say which one is meant", name, len(found), clip(found[0]), clip(found[1]))
			case len(found) == 0 && len(rows) == 1:
				missing[name] = fmt.Sprintf("the table has no column %s, but %s", name, some(head))
			case len(found) == 0:
				missing[name] = fmt.Sprintf("the table has no %s: with %d rows a value is ROW.COLUMN; the rows begin with %s, and the columns are %s",
					name, len(rows), some(firsts(rows)), some(head))
			default:
				fields[name] = number(found[0], name)
			}
		}
	})
	return fields, missing, err
}

// CSVHistogram counts the values of a column, of all rows. It is nil if there is no
// such column.
func CSVHistogram(column string, stdout []byte) (h Histogram, err error) {
	i := -1
	err = failing.Caught(func() {
		rows := table(stdout)
		if i = slices.Index(rows[0], column); i < 0 {
			return
		}
		for _, row := range rows[1:] {
			n := number(row[i], strings.Join(row, ","))
			h = append(h, Bin{n, n, 1})
		}
	})
	if err != nil && i >= 0 {
		err = fmt.Errorf("column %s: %w", column, err)
	}
	return h, err
}

// table reads a head and at least one row.
func table(stdout []byte) [][]string {
	rows := rowsOf("the output is not CSV", wholeTable(stdout))
	if len(rows) < 2 {
		fail("a table with a head and at least one row was expected; %s", ending(lines(stdout)))
	}
	return rows
}

const addNewline = "if it is complete, add a newline"

func wholeTable(stdout []byte) []byte {
	// A quote closes the last cell.
	if len(stdout) > 0 && !bytes.HasSuffix(stdout, []byte("\n")) && !bytes.HasSuffix(stdout, []byte(`"`)) {
		fail("%s without a newline behind it, so that the table may be cut off there: %s", ending(lines(stdout)), addNewline)
	}
	return stdout
}

// rowsOf are the rows of a table with commas; what says what is wrong with another text.
func rowsOf(what string, text []byte) [][]string {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		fail("%s: %w", what, err)
	}
	return rows
}

func firsts(rows [][]string) (cells []string) {
	for _, row := range rows {
		cells = append(cells, row[0])
	}
	return cells
}

// some lists the first of these words.
func some(words []string) string {
	const most = 12
	text := strings.Join(words[:min(len(words), most)], ", ")
	if len(words) > most {
		text += fmt.Sprintf(" and %d more", len(words)-most)
	}
	return clip(text)
}
