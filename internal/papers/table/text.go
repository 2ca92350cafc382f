package table

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Separators that are words on the command line, where they are hard to write.
const (
	tabs   = "tab"
	spaces = "space" // any number of blanks
)

// text reads a table of text, whose fields have something between them.
func text(name string, data []byte, c Columns) (*table, error) {
	comma, err := separator(name, data, c)
	if err != nil {
		return nil, err
	}
	t := &table{name: name, roles: map[string]string{}}
	read := csvRows
	if comma == 0 {
		read = wordRows
	}
	if t.rows, err = read(name, data, comma); err != nil {
		return nil, err
	}
	if len(t.rows) == 0 {
		return nil, fmt.Errorf("%s is empty: its first line must name the columns, such as %s", name, "block,environment,value")
	}
	head := t.rows[0].cells
	if c.NoHeader {
		for i := range head {
			t.columns = append(t.columns, strconv.Itoa(i+1))
		}
		return t, nil
	}
	for _, cell := range head {
		t.columns = append(t.columns, strings.TrimSpace(cell))
	}
	for i, column := range t.columns {
		used := slices.Contains(slices.Concat(roles, c.Values, c.Level, []string{c.Environment, c.Block, c.Workload, c.Metric, c.Round}), column)
		if used && column != "" && slices.Contains(t.columns[:i], column) {
			return nil, fmt.Errorf("%s:1: duplicate column %s", name, column)
		}
	}
	t.rows = t.rows[1:]
	if slices.Equal(t.columns, criterionColumns) {
		return criterionCSV(t)
	}
	return t, nil
}

// separator is what stands between fields; 0 for blanks.
func separator(name string, data []byte, c Columns) (rune, error) {
	switch r, size := utf8.DecodeRuneInString(c.Separator); {
	case c.Separator == tabs || c.Separator == `\t`:
		return '\t', nil
	case c.Separator == spaces || c.Separator == " ":
		return 0, nil
	case c.Separator != "" && (size < len(c.Separator) || r == '"' || r == '\n' || r == '\r' || r == utf8.RuneError):
		return 0, fmt.Errorf("the separator %q is not one character, nor %s or %s", c.Separator, tabs, spaces)
	case c.Separator != "":
		return r, nil
	}
	var lines []string
	for line := range bytes.Lines(data) {
		if text := strings.TrimSpace(string(line)); text != "" && !strings.HasPrefix(text, "#") {
			lines = append(lines, text)
		}
		if len(lines) == 10 {
			break
		}
	}
	if len(lines) == 0 {
		return ',', nil
	}
	var found []rune
	for _, comma := range ",;\t|" {
		of := func(line string) int {
			r := csv.NewReader(strings.NewReader(line))
			r.Comma, r.LazyQuotes = comma, true
			fields, _ := r.Read()
			return len(fields)
		}
		if n := of(lines[0]); n > 1 && !slices.ContainsFunc(lines, func(line string) bool { return of(line) != n }) {
			found = append(found, comma)
		}
	}
	words := len(strings.Fields(lines[0]))
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return 0, fmt.Errorf("%s:1: %q may separate the fields, and so may %q: say which with --separator", name, found[0], found[1])
	case words > 1 && !strings.ContainsAny(lines[0], ",;\t|\"") && !slices.ContainsFunc(lines, func(line string) bool { return len(strings.Fields(line)) != words }):
		return 0, nil
	}
	return ',', nil
}

// csvRows are rows with a character between the fields, and quotes. Lines that begin with
// # are comments.
func csvRows(name string, data []byte, comma rune) (rows []row, err error) {
	in := csv.NewReader(bytes.NewReader(data))
	in.Comma, in.TrimLeadingSpace, in.Comment = comma, comma != '\t', '#'
	for {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		} else if err != nil {
			return nil, positioned(name, err)
		}
		r := row{cells: cells}
		for i := range cells {
			line, column := in.FieldPos(i)
			if i == 0 {
				r.line = line
			}
			r.columns = append(r.columns, column)
		}
		rows = append(rows, r)
	}
}

// wordRows are rows with blanks between the fields.
func wordRows(name string, data []byte, _ rune) (rows []row, err error) {
	number := 0
	for text := range bytes.Lines(data) {
		number++
		line := string(text)
		r := row{cells: strings.Fields(line), line: number}
		if len(r.cells) == 0 || strings.HasPrefix(r.cells[0], "#") {
			continue
		}
		at := 0
		for _, word := range r.cells {
			at += strings.Index(line[at:], word)
			r.columns = append(r.columns, at+1)
			at += len(word)
		}
		if len(rows) > 0 && len(rows[0].cells) != len(r.cells) {
			return nil, positioned(name, &csv.ParseError{Line: number, Column: 1, Err: csv.ErrFieldCount})
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// positioned prefixes an error of the CSV reader with the position.
func positioned(name string, err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		what := map[error]string{
			csv.ErrFieldCount: "the row has more or fewer fields than the header",
			csv.ErrQuote:      "a quoted field is not closed, or goes on after its quote",
			csv.ErrBareQuote:  `a field with a quote must be quoted, and the quote written twice: "a""b"`,
		}[p.Err]
		return fmt.Errorf("%s:%d:%d: %s", name, p.Line, p.Column, cmp.Or(what, p.Err.Error()))
	}
	return fmt.Errorf("%s: %w", name, err)
}
