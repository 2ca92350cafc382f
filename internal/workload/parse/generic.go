package parse

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
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

// JSONHistogram counts the values at a path of one document: a list of numbers, or
// an object of counts, with the values as its keys. It is nil if nothing is there.
func JSONHistogram(path string, stdout []byte) (h Histogram, err error) {
	var document any
	if err := decode("the output's JSON", stdout, &document); err != nil {
		return nil, err
	}
	at, err := jsonAt(document, path)
	if err != nil {
		return nil, err
	}
	switch v := at.(type) {
	case nil: // absent
		return nil, nil
	case []any:
		h = Histogram{}
		for _, entry := range v {
			n, ok := entry.(float64)
			if !ok {
				return nil, fmt.Errorf("%s has %q, which is not a number", path, clip(fmt.Sprint(entry)))
			}
			h = append(h, Bin{n, n, 1})
		}
		return h, nil
	case map[string]any:
		h = Histogram{}
		for _, text := range slices.Sorted(maps.Keys(v)) {
			n, err := number(text, path)
			count, ok := v[text].(float64)
			if err != nil || !ok {
				return nil, fmt.Errorf("%s is not an object of counts by value: it has %q: %q", path, clip(text), clip(fmt.Sprint(v[text])))
			}
			h = append(h, Bin{n, n, count})
		}
		return h, nil
	}
	return nil, fmt.Errorf("%s is neither a list of values nor an object of counts, but %q", path, clip(fmt.Sprint(at)))
}

// jsonAt returns what a document has at a path; nil if nothing.
func jsonAt(document any, path string) (any, error) {
	at := document
	for _, step := range strings.Split(path, ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil, fmt.Errorf("%s: the list there has %d entries, none is %q", path, len(v), step)
			}
			at = v[i]
		default:
			at = nil
		}
	}
	return at, nil
}

// JSON returns the numbers at the given paths (jobs.0.read.iops) of one
// document.
func JSON(paths []string, stdout []byte) (map[string]float64, error) {
	var document any
	decoder := json.NewDecoder(bytes.NewReader(stdout))
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("the output is not JSON: %w; %s", err, ending(lines(stdout)))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("unexpected text after the JSON: %s", ending(lines(stdout)))
	}
	fields := map[string]float64{}
	for _, path := range paths {
		at, err := jsonAt(document, path)
		if err != nil {
			return nil, err
		}
		switch v := at.(type) {
		case nil: // absent, never zero
		case float64:
			fields[path] = v
		default:
			return nil, fmt.Errorf("%s is not a number but %q", path, clip(fmt.Sprint(v)))
		}
	}
	return fields, nil
}

// CSV parses a table whose first row has the names of the columns. A field is a
// column's name if there is one row, otherwise ROW.COLUMN, where ROW is the
// row's first cell.
func CSV(names []string, stdout []byte) (map[string]float64, error) {
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
	cells := map[string]string{}
	for _, row := range rows[1:] {
		for i, column := range rows[0] {
			for _, name := range []string{column, row[0] + "." + column} {
				if name == column && len(rows) > 2 {
					continue
				}
				if _, twice := cells[name]; twice {
					return nil, fmt.Errorf("%q occurs twice in the table, again in the row %q", name, clip(strings.Join(row, ",")))
				}
				cells[name] = row[i]
			}
		}
	}
	fields := map[string]float64{}
	for _, name := range names {
		text, ok := cells[name]
		if !ok {
			continue
		}
		if fields[name], err = number(text, name); err != nil {
			return nil, err
		}
	}
	return fields, nil
}
