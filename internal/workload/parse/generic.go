package parse

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Regex parses with regular expressions. Each must match exactly once; named
// groups are the fields.
func Regex(patterns []*regexp.Regexp, stdout []byte) (map[string]float64, error) {
	fields := map[string]float64{}
	for _, p := range patterns {
		matches := p.FindAllSubmatch(stdout, 2)
		switch len(matches) {
		case 0:
			return nil, fmt.Errorf("nothing matches %s; %s", p, ending(lines(stdout)))
		case 2:
			return nil, fmt.Errorf("%s matches more than once, first %q and then %q; make it say which one is meant",
				p, clip(string(matches[0][0])), clip(string(matches[1][0])))
		}
		for i, name := range p.SubexpNames() {
			if name == "" || matches[0][i] == nil {
				continue
			}
			v, err := number(string(matches[0][i]), string(matches[0][0]))
			if err != nil {
				return nil, err
			}
			fields[name] = v
		}
	}
	return fields, nil
}

// RegexHistogram counts the values, the group value, of all matches, or as many as
// the group count says. It is nil if nothing matches.
func RegexHistogram(pattern *regexp.Regexp, stdout []byte) (h Histogram, err error) {
	value, count := pattern.SubexpIndex("value"), pattern.SubexpIndex("count")
	for _, m := range pattern.FindAllSubmatch(stdout, -1) {
		line, b := string(m[0]), Bin{Count: 1}
		if b.High, err = number(string(m[value]), line); err != nil {
			return nil, err
		}
		if count >= 0 && m[count] != nil {
			if b.Count, err = number(string(m[count]), line); err != nil {
				return nil, err
			}
		}
		b.Low = b.High
		h = append(h, b)
	}
	return h, nil
}

// CSV returns values of a table whose first row has the names of the columns, and
// for each name that it does not have the reason. A field is a column's name if
// there is one row, otherwise ROW.COLUMN, where ROW is the row's first cell.
func CSV(names []string, stdout []byte) (fields map[string]float64, missing map[string]string, err error) {
	rows, err := table(stdout)
	if err != nil {
		return nil, nil, err
	}
	head, rows := rows[0], rows[1:]
	fields, missing = map[string]float64{}, map[string]string{}
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
			return nil, nil, fmt.Errorf("%q occurs %d times in the table, as %q and as %q; make it say which one is meant", name, len(found), clip(found[0]), clip(found[1]))
		case len(found) == 0 && len(rows) == 1:
			missing[name] = fmt.Sprintf("the table has no column %s, but %s", name, some(head))
		case len(found) == 0:
			missing[name] = fmt.Sprintf("the table has no %s: with %d rows a value is ROW.COLUMN; the rows begin with %s, and the columns are %s",
				name, len(rows), some(firsts(rows)), some(head))
		default:
			if fields[name], err = number(found[0], name); err != nil {
				return nil, nil, err
			}
		}
	}
	return fields, missing, nil
}

// CSVHistogram counts the values of a column, of all rows. It is nil if there is no
// such column.
func CSVHistogram(column string, stdout []byte) (h Histogram, err error) {
	rows, err := table(stdout)
	if err != nil {
		return nil, err
	}
	i := slices.Index(rows[0], column)
	if i < 0 {
		return nil, nil
	}
	for _, row := range rows[1:] {
		n, err := number(row[i], strings.Join(row, ","))
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", column, err)
		}
		h = append(h, Bin{n, n, 1})
	}
	return h, nil
}

// table reads a head and at least one row.
func table(stdout []byte) ([][]string, error) {
	if len(stdout) > 0 && !bytes.HasSuffix(stdout, []byte("\n")) {
		return nil, fmt.Errorf("the table is truncated: %s", ending(lines(stdout)))
	}
	rows, err := csv.NewReader(bytes.NewReader(stdout)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("the output is not CSV: %w", err)
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf("a table with a head and at least one row was expected; %s", ending(lines(stdout)))
	}
	return rows, nil
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
