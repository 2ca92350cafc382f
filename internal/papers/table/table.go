// Package table reads the results that people have, as tables: CSV in any of its forms, and
// the files of tools that time something. What a column stands for is a role; the files of
// tools say it themselves, and a user says it of the others.
//
// It must not compare values.
package table

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/internal/workload/parse"
)

// Columns say by their names which columns have which role. What is "" is the column of the
// role's own name, or what the tool's format says.
type Columns struct {
	Environment, Block, Workload, Metric, Round string
	// Level are columns whose values together are the level.
	Level []string
	// Values are the columns with the values, also as patterns such as run*. Of several, the
	// name of each is in the column "column".
	Values []string

	Separator    string // between fields; "" is found
	NoHeader     bool   // columns are called 1, 2, 3
	DecimalComma bool

	many bool // there are several columns with values, of which some rows have fewer
}

// The columns that a table has besides its own.
const (
	byColumn = "column" // the name of the column that the value is in
	byRow    = "row"    // the number of the row
	byFile   = "file"   // the name of the file
)

// The roles of columns, by the names that tare's own tables have.
const (
	environment = "environment"
	block       = "block"
	value       = "value"
	work        = "workload"
	metric      = "metric"
	level       = "level"
	round       = "round"
	better      = "better"
	unit        = "unit"
)

var roles = []string{block, environment, value, work, metric, level, round}

// File is a file with its content.
type File struct {
	Name string
	Data []byte
}

// Record is one value with what it is about.
type Record struct {
	Environment, Block, Workload, Metric, Level, Round string
	// Parameters are of the level, if its columns were named.
	Parameters   map[string]string
	Better, Unit string // "" if the table does not say it
	Value        float64
	None         bool // the cell says that there is no value
	Line, Column int  // of the file; 0 is unknown
	file         int
	series       string // that the value is of, where a format has several
}

// Records are the values of some files.
type Records struct {
	Name    string
	Files   []string
	All     []Record
	Blocks  bool // each value has a block
	Rounds  bool
	Unused  []string // columns without a role
	Remarks []string // what a reader has to know
}

// File is the name of the file of a record.
func (r *Records) File(of Record) string { return r.Files[of.file] }

// Numbers are the numbers of the blocks, from 1, in the order in time, which interim analyses
// depend on: by number if all are integers, else by their first row. Without blocks it is empty.
func (r *Records) Numbers() map[string]int {
	order := map[string]int{}
	var names []string
	for _, one := range r.All {
		if _, known := order[one.Block]; r.Blocks && !known && !one.None {
			order[one.Block] = 0
			names = append(names, one.Block)
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
	return order
}

// table is a file as rows of cells.
type table struct {
	name    string
	columns []string
	rows    []row
	roles   map[string]string // columns of roles, by a tool's format
	values  []string          // columns with values, by a tool's format
	remarks []string
	made    bool // by a tool's format, so that errors name no columns of the file
}

type row struct {
	cells   []string
	line    int
	columns []int // where each cell begins
}

// longest bounds names, so that they fit into messages.
const longest = 200

// Read reads files of one format. Errors carry the file, the line and the column.
func Read(files []File, c Columns) (*Records, error) {
	r := &Records{}
	names := fileNames(files)
	for i, file := range files {
		if slices.Contains(r.Files, file.Name) {
			return nil, fmt.Errorf("%s is named twice: a measurement counts only once", file.Name)
		}
		r.Files = append(r.Files, file.Name)
		data, err := parse.Text(file.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name, err)
		}
		t, err := tableOf(file.Name, data, c)
		if err != nil {
			return nil, err
		}
		if len(files) > 1 || c.Environment == byFile {
			t.add(byFile, func(int) string { return names[i] })
			if t.roles[environment] == "" && !slices.Contains(t.columns, environment) || t.made && t.roles[environment] == byFile {
				t.roles[environment] = byFile
			}
		}
		if err := t.records(r, i, c); err != nil {
			return nil, err
		}
	}
	r.Name = strings.Join(r.Files, ", ")
	return r, r.distinct()
}

// distinct refuses series of which nothing says that they are different things: their values
// are no repetitions.
func (r *Records) distinct() error {
	type thing struct{ environment, workload, metric, level string }
	first := map[thing]string{}
	for _, one := range r.All {
		at := thing{one.Environment, one.Workload, one.Metric, one.Level}
		if was, known := first[at]; known && was != one.series {
			return fmt.Errorf("%s: %s and %s are both %s: name the column that tells them apart with --level or --workload, or leave one out of the query", r.File(one), was, one.series, one.Environment)
		}
		first[at] = one.series
	}
	return nil
}

// fileNames are what the column of files has: names without directories and endings, unless
// two files share one.
func fileNames(files []File) (names []string) {
	for _, file := range files {
		base := filepath.Base(file.Name)
		names = append(names, cmp.Or(strings.TrimSuffix(base, filepath.Ext(base)), base))
	}
	if sorted := slices.Sorted(slices.Values(names)); len(slices.Compact(sorted)) < len(files) {
		for i, file := range files {
			names[i] = file.Name
		}
	}
	return names
}

// add adds a column, unless the table has one of the name.
func (t *table) add(name string, cell func(i int) string) {
	if slices.Contains(t.columns, name) {
		return
	}
	t.columns = append(t.columns, name)
	for i := range t.rows {
		t.rows[i].cells = append(t.rows[i].cells, cell(i))
	}
}

// records appends the values of a table.
func (t *table) records(r *Records, file int, c Columns) error {
	values, err := t.valueColumns(c)
	if err != nil {
		return err
	}
	c.many = len(values) > 1
	at, err := t.places(c, c.many)
	if err != nil {
		return err
	}
	_, blocks := at[block]
	_, rounds := at[round]
	if len(r.All) > 0 && blocks != r.Blocks {
		return fmt.Errorf("%s: the files before it have no column %s, or have one: values are paired in all files or in none", t.name, block)
	}
	if r.Blocks, r.Rounds = blocks, rounds; rounds && !blocks {
		return fmt.Errorf("%s:1: there is a column %s and no column %s: rounds are those of a block", t.name, round, block)
	}
	if len(t.rows) == 0 {
		return fmt.Errorf("%s has a header and no rows", t.name)
	}
	used := slices.Clone(values)
	for _, places := range at {
		used = append(used, places...)
	}
	for i, name := range t.columns {
		if !slices.Contains(used, i) && name != byFile && !t.made && !slices.Contains(r.Unused, name) {
			r.Unused = append(r.Unused, name)
		}
	}
	r.Remarks = lists.Add(r.Remarks, t.remarks...)
	none := 0
	for i := range t.rows {
		for _, v := range values {
			one, err := t.record(i, v, at, c)
			if err == nil {
				err = one.fits(t.name)
			}
			if err != nil {
				return err
			}
			if one.file = file; blocks && file > 0 && t.roles[environment] != byFile && c.Environment != byFile {
				one.Block += " of file " + strconv.Itoa(file+1) // each file counts its own blocks
			}
			if one.None {
				none++
			}
			r.All = append(r.All, one)
		}
	}
	if pooled := t.pooled(r, used); pooled != "" {
		r.Remarks = append(r.Remarks, pooled)
	}
	if none > 0 {
		r.Remarks = append(r.Remarks, fmt.Sprintf("%s: %s without a value", t.name, quantity.Counted(none, "cell", "cells")))
	}
	return nil
}

// valueColumns are the columns with values.
func (t *table) valueColumns(c Columns) (at []int, err error) {
	names := c.Values
	if len(names) == 0 {
		names = t.values
	}
	if len(names) == 0 {
		names = []string{value}
	}
	for _, name := range names {
		found := t.find(name)
		if found < 0 {
			for i, column := range t.columns {
				if like, _ := path.Match(name, column); like && !slices.Contains(at, i) {
					at, found = append(at, i), i
				}
			}
		} else {
			at = append(at, found)
		}
		if found < 0 {
			return nil, t.lacks(value, name, len(c.Values) > 0)
		}
	}
	return at, nil
}

// find is the place of a column: with this name, or else with one that differs in upper and
// lower case.
func (t *table) find(name string) int {
	if i := slices.Index(t.columns, name); i >= 0 {
		return i
	}
	return slices.IndexFunc(t.columns, func(column string) bool { return strings.EqualFold(column, name) })
}

// Pseudo-columns have no place in the cells.
const (
	atColumn = -2
	atRow    = -3
)

// places are the columns of the roles. wide: there are several columns with values.
func (t *table) places(c Columns, wide bool) (map[string][]int, error) {
	at := map[string][]int{}
	given := map[string][]string{level: c.Level}
	for role, name := range map[string]string{environment: c.Environment, block: c.Block, work: c.Workload, metric: c.Metric, round: c.Round} {
		if name != "" {
			given[role] = []string{name}
		}
	}
	for _, role := range append([]string{better, unit}, roles...) {
		names, stated := given[role], len(given[role]) > 0
		if !stated && t.roles[role] != "" {
			names = []string{t.roles[role]}
		} else if !stated && (!t.made || t.find(role) >= 0) && role != better && role != unit {
			names = []string{role}
		}
		for _, name := range names {
			place := t.find(name)
			switch {
			case place >= 0:
			case name == byColumn && wide && (stated || role == environment):
				place = atColumn
			case name == byRow && stated:
				place = atRow
			case role == environment && !stated && wide && !t.made:
				place = atColumn
			case role == environment || stated:
				return nil, t.lacks(role, name, stated)
			default:
				continue
			}
			at[role] = append(at[role], place)
		}
	}
	if _, known := at[environment]; !known {
		return nil, t.lacks(environment, environment, false)
	}
	return at, nil
}

// lacks is the error about a column that is not there.
func (t *table) lacks(role, name string, stated bool) error {
	head := strictyaml.Quoted(strings.Join(t.columns, ", "))
	if stated {
		return fmt.Errorf("%s:1: there is no column %s for --%s: it has %s", t.name, strictyaml.Quoted(name), role, head)
	}
	if t.made {
		return fmt.Errorf("%s: which column names the %s? Say it with --%s COLUMN: it has %s", t.name, role, role, head)
	}
	if slices.ContainsFunc(t.columns, func(c string) bool { _, err := strconv.ParseFloat(c, 64); return err == nil }) {
		return fmt.Errorf("%s:1: there is no column %s: the first line is %s; if it has values already, add --no-header, and say which columns are meant by their numbers, as in --%s 1", t.name, role, head, role)
	}
	return fmt.Errorf("%s:1: there is no column %s: the first line must name %s and %s, best with %s, and may name %s, %s, %s and %s; it names %s; say which columns are meant, as in --%s COLUMN",
		t.name, role, environment, value, block, work, metric, level, round, head, role)
}

// record is the value in a column of a row.
func (t *table) record(i, column int, at map[string][]int, c Columns) (r Record, err error) {
	of := &t.rows[i]
	cell := func(place int) string {
		switch place {
		case atColumn:
			return t.columns[column]
		case atRow:
			return strconv.Itoa(i + 1)
		}
		return strings.TrimSpace(of.cells[place])
	}
	field := func(role string) string {
		if len(at[role]) == 0 {
			return ""
		}
		return cell(at[role][0])
	}
	wrong := func(place int, format string, args ...any) error {
		where := t.name
		if of.line > 0 && place < len(of.columns) && place >= 0 {
			where = fmt.Sprintf("%s:%d:%d", t.name, of.line, of.columns[place])
		}
		return fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...))
	}
	first := func(role string) int { return at[role][0] }
	r = Record{Environment: field(environment), Block: field(block), Workload: field(work), Metric: field(metric), Round: field(round),
		Better: field(better), Unit: field(unit), Line: of.line}
	if column < len(of.columns) {
		r.Column = of.columns[column]
	}
	if r.None = noValue(cell(column)) || cell(column) == "" && c.many; !r.None {
		if r.Value, err = number(cell(column), c.DecimalComma); err != nil {
			return r, wrong(column, "%s", err)
		}
	}
	if (t.made || len(c.Values) > 0) && len(at[metric]) == 0 && at[environment][0] != atColumn {
		r.Metric = t.columns[column]
	}
	if i := slices.Index(t.columns, seriesColumn); i >= 0 && t.made {
		r.series = of.cells[i]
	}
	r.levels(t, at[level], len(c.Level) > 0, cell)
	switch {
	case r.Environment == "":
		return r, wrong(first(environment), "the environment is empty: each row needs one")
	case len(at[round]) > 0 && r.Round == "":
		return r, wrong(first(round), "the round is empty: each row needs one, or leave the column out")
	case len(at[block]) > 0 && r.Block == "":
		return r, wrong(first(block), "the block is empty: each row needs one, or leave the column out")
	}
	return r, nil
}

// fits refuses names that do not fit into messages.
func (r *Record) fits(file string) error {
	for _, text := range []string{r.Environment, r.Block, r.Workload, r.Metric, r.Level, r.Round} {
		if len(text) > longest {
			return fmt.Errorf("%s:%d: the field %.20q… has %d bytes: at most %d are allowed", file, max(r.Line, 1), text, len(text), longest)
		}
	}
	return nil
}

// levels sets the level. named: its columns were named, and are its parameters.
func (r *Record) levels(t *table, places []int, named bool, cell func(int) string) {
	var parts []string
	for _, place := range places {
		name := byColumn
		if place >= 0 {
			name = t.columns[place]
		}
		if r.Level = cell(place); named && r.Level != "" {
			if r.Parameters == nil {
				r.Parameters = map[string]string{}
			}
			r.Parameters[name] = r.Level
			parts = append(parts, name+"="+r.Level)
		}
	}
	if len(parts) > 0 {
		slices.Sort(parts)
		r.Level = strings.Join(parts, ",")
	}
}

// noValue says of a cell that it says that there is no value.
func noValue(text string) bool {
	return slices.Contains([]string{"-", "na", "n/a", "null", "none"}, strings.ToLower(text))
}

// number is the number in a cell.
func number(text string, decimalComma bool) (float64, error) {
	plain := text
	if decimalComma {
		if strings.Contains(text, ".") {
			return 0, fmt.Errorf("%.40q has a point: with --decimal-comma numbers are written like 12,5", text)
		}
		plain = strings.Replace(text, ",", ".", 1)
	}
	v, err := strconv.ParseFloat(plain, 64)
	switch {
	case err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) || err != nil && !errors.Is(err, strconv.ErrSyntax):
		return 0, fmt.Errorf("%.40q is not a number: a value is one finite number", text)
	case err != nil && strings.Contains(text, ",") && !decimalComma:
		return 0, fmt.Errorf("%.40q is not a number: if its comma is a decimal one, add --decimal-comma; separators of thousands are not read", text)
	case err != nil:
		return 0, fmt.Errorf("%.40q is not a number: the column has one finite number per row, without its unit", text)
	case !quantity.Measured(v):
		return 0, fmt.Errorf("%.40q is out of range: values are 0, or between %g and %g", text, quantity.Least, quantity.Most)
	}
	return v, nil
}
