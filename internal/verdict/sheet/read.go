// Package sheet reads measurements from a CSV file and applies the same procedure
// as to a run.
//
// It must not print anything.
package sheet

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/strictyaml"
	"tare/internal/subject"
)

// The known columns; environment and value are required.
const (
	columnBlock       = "block"
	columnEnvironment = "environment"
	columnValue       = "value"
	columnWorkload    = "workload"
	columnMetric      = "metric"
	columnLevel       = "level"
	columnRound       = "round"
)

var columns = []string{columnBlock, columnEnvironment, columnValue, columnWorkload, columnMetric, columnLevel, columnRound}

// Sheet is a table that has been read.
type Sheet struct {
	Name         string
	Environments []string // in the order of their first rows
	Paired       bool     // it has a block column
	Unused       []string // unknown columns
	rounds       bool     // it has a round column
	rows         []row
	blocks       int
}

type row struct {
	subject.Figure
	block int    // from 1, in the order of the blocks; 0 without
	round string // of the block; "" without
	value float64
}

// group is the metric of the workload, at all levels and in all environments.
func (r row) group() subject.Figure { return subject.Place{Workload: r.Workload}.Of(r.Metric) }

// Bounds of what a table can have: ratios and sums of its values are finite, and its
// names fit into messages.
const (
	largest = 1e150
	longest = 200
)

// Read reads a table. Errors carry the name, the line and the column.
func Read(r io.Reader, name string) (*Sheet, error) {
	in := bufio.NewReader(r)
	if mark, _ := in.Peek(3); string(mark) == "\xef\xbb\xbf" { // spreadsheets put it there
		_, _ = in.Discard(3)
	}
	lines := csv.NewReader(in)
	lines.ReuseRecord = true
	lines.TrimLeadingSpace = true
	header, err := lines.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s is empty: its first line must name the columns, such as %s", name, "block,environment,value")
	} else if err != nil {
		return nil, positioned(name, err)
	}
	s := &Sheet{Name: name}
	at, err := s.header(header)
	if err != nil {
		return nil, err
	}
	var blocks []string
	type sample struct {
		block, round string
		subject.Figure
	}
	taken := map[sample]bool{}
	for {
		record, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, positioned(name, err)
		}
		for i, text := range record {
			if len(text) > longest {
				line, column := lines.FieldPos(i)
				return nil, fmt.Errorf("%s:%d:%d: the field has %d bytes: at most %d are allowed", name, line, column, len(text), longest)
			}
		}
		field := func(column string) string {
			if i, ok := at[column]; ok {
				return strings.TrimSpace(record[i])
			}
			return ""
		}
		wrong := func(column, format string, args ...any) error {
			line, col := lines.FieldPos(at[column])
			return fmt.Errorf("%s:%d:%d: %s", name, line, col, fmt.Sprintf(format, args...))
		}
		text := field(columnValue)
		value, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, wrong(columnValue, "%.40q is not a number: the column value has one finite number per row", text)
		}
		if size := math.Abs(value); size > largest || size > 0 && size < 1/largest {
			return nil, wrong(columnValue, "%.40q is out of range: values are 0, or between %g and %g", text, 1/largest, largest)
		}
		environment := field(columnEnvironment)
		if environment == "" {
			return nil, wrong(columnEnvironment, "the environment is empty: each row needs one")
		}
		if field(columnRound) == "" && s.rounds {
			return nil, wrong(columnRound, "the round is empty: each row needs one, or leave the column out")
		}
		block := field(columnBlock)
		if s.Paired && block == "" {
			return nil, wrong(columnBlock, "the block is empty: each row needs one, or leave the column out")
		}
		at := subject.Place{Workload: field(columnWorkload), Level: field(columnLevel)}.In(environment)
		r := row{Figure: at.Of(field(columnMetric)), round: field(columnRound), value: value}
		if s.rounds {
			key := sample{block, r.round, r.Figure}
			if taken[key] {
				return nil, wrong(columnRound, "a second value of %s in round %s of block %s: a round has one sample of each environment", environment, r.round, block)
			}
			taken[key] = true
		}
		if !slices.Contains(s.Environments, environment) {
			s.Environments = append(s.Environments, environment)
		}
		blocks = append(blocks, block)
		s.rows = append(s.rows, r)
	}
	if len(s.rows) == 0 {
		return nil, fmt.Errorf("%s has a header and no rows", name)
	}
	if s.Paired {
		s.number(blocks)
	}
	return s, nil
}

func (s *Sheet) header(header []string) (map[string]int, error) {
	at := map[string]int{}
	for i, text := range header {
		column := strings.ToLower(strings.TrimSpace(text))
		if _, twice := at[column]; twice {
			return nil, fmt.Errorf("%s:1: duplicate column %s", s.Name, column)
		}
		at[column] = i
		if !slices.Contains(columns, column) {
			s.Unused = append(s.Unused, column)
		}
	}
	for _, column := range []string{columnEnvironment, columnValue} {
		if _, ok := at[column]; !ok {
			return nil, fmt.Errorf("%s:1: there is no column %s: the first line must name %s and %s, best with %s, and may name %s, %s, %s and %s; it names %s",
				s.Name, column, columnEnvironment, columnValue, columnBlock, columnWorkload, columnMetric, columnLevel, columnRound, strictyaml.Quoted(strings.Join(header, ", ")))
		}
	}
	_, s.Paired = at[columnBlock]
	if _, s.rounds = at[columnRound]; s.rounds && !s.Paired {
		return nil, fmt.Errorf("%s:1: there is a column %s and no column %s: rounds are those of a block", s.Name, columnRound, columnBlock)
	}
	return at, nil
}

// number puts the blocks into the order in time, which interim analyses depend
// on: by number if all are integers, else by their first row.
func (s *Sheet) number(blocks []string) {
	order := map[string]int{}
	var names []string
	for _, b := range blocks {
		if _, known := order[b]; !known {
			order[b] = 0
			names = append(names, b)
		}
	}
	numbers := make(map[string]int, len(names))
	for _, b := range names {
		if n, err := strconv.Atoi(b); err == nil {
			numbers[b] = n
		}
	}
	if len(numbers) == len(names) {
		slices.SortStableFunc(names, func(a, b string) int { return numbers[a] - numbers[b] })
	}
	for i, b := range names {
		order[b] = i + 1
	}
	for i, b := range blocks {
		s.rows[i].block = order[b]
	}
	s.blocks = len(names)
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
