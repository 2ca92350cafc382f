// Package tables writes a run as tables for other programs: CSV, JSON and Parquet.
// Each table is a list of columns, from which all three formats, the schema of the JSON
// and the page of the docs are made.
//
// It must not compute anything: what a cell holds comes from package model.
package tables

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/subject"
	"tare/internal/verdict"
)

// Type is what the cells of a column hold.
type Type string

// The types.
const (
	Text    Type = "text"
	Number  Type = "number"
	Integer Type = "integer"
	Boolean Type = "boolean"
	Time    Type = "time"
)

// Column describes a column of a table.
type Column struct {
	Name  string
	Type  Type
	Unit  string // "unit" where the column of that name has it; "" for none
	About string
	// Values are all that a text can be; nil for any.
	Values []string
}

// Table is a table with its cells. A cell is nil where there is no value.
type Table struct {
	Name, About string
	Columns     []Column
	Rows        [][]any
	// Always: the table is written also without rows.
	Always bool
}

// column is a column of a table whose rows are made of an R.
type column[R any] struct {
	Column
	of func(R) any
}

func tableOf[R any](name, about string, columns []column[R], from []R) Table {
	return Table{Name: name, About: about,
		Columns: lists.Map(columns, func(c column[R]) Column { return c.Column }),
		Rows:    lists.Map(from, func(r R) []any { return lists.Map(columns, func(c column[R]) any { return c.of(r) }) })}
}

// Of returns all tables of a run.
func Of(v *model.Report) []Table {
	b := newBase(v)
	return []Table{b.observations(), b.samples(), b.contrasts(), b.nodes(), b.parts()}
}

// text is a text, or no value where it is empty.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// number is a number, or no value where there is none.
func number(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return x
}

// ratio is what a log ratio means. One without a bound has no value.
func ratio(d float64) any {
	if math.IsInf(d, 0) {
		return nil
	}
	return number(math.Exp(d))
}

func count(n int) any {
	if n == 0 {
		return nil
	}
	return int64(n)
}

func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC()
}

// base is the run that the tables are made of.
type base struct {
	*model.Report
	lanes map[string]int
}

func newBase(v *model.Report) *base {
	b := &base{v, map[string]int{}}
	for i, name := range v.Manifest.Nodes {
		b.lanes[name] = i + 1
	}
	for _, t := range v.Trials { // of a manifest that lists none
		if _, known := b.lanes[t.Node]; !known && t.Node != "" {
			b.lanes[t.Node] = len(b.lanes) + 1
		}
	}
	return b
}

// place is where in the study a row belongs.
type place struct {
	subject.Cell
	metric model.Metric
}

var oneParameter = regexp.MustCompile(`^([^=,]+)=(-?[0-9]+(?:\.[0-9]+)?)$`)

// placeColumns are those that most tables begin with.
func placeColumns[R any](b *base, of func(R) place) []column[R] {
	names := map[string]model.Environment{}
	for _, e := range b.Environments {
		names[e.Name] = e
	}
	parts := func(r R) []string { return oneParameter.FindStringSubmatch(of(r).Level) }
	return []column[R]{
		{Column{Name: "run", Type: Text, About: "name of the run directory"}, func(R) any { return text(b.Manifest.Run) }},
		{Column{Name: "workload", Type: Text, About: "name of the workload in the study"}, func(r R) any { return of(r).Workload }},
		{Column{Name: "level", Type: Text, About: "swept parameters with their values, `clients=10`; missing where nothing is swept"}, func(r R) any { return text(of(r).Level) }},
		{Column{Name: "level_parameter", Type: Text, About: "name of the swept parameter, if there is one with a number"}, func(r R) any {
			if p := parts(r); p != nil {
				return p[1]
			}
			return nil
		}},
		{Column{Name: "level_value", Type: Number, About: "its value"}, func(r R) any {
			if p := parts(r); p != nil {
				x, _ := strconv.ParseFloat(p[2], 64)
				return number(x)
			}
			return nil
		}},
		{Column{Name: "environment", Type: Text, About: "name of the environment in the study"}, func(r R) any { return of(r).Environment }},
		{Column{Name: "kind", Type: Text, About: "its kind: `native`, `docker`, ..."}, func(r R) any { return text(names[of(r).Environment].Kind) }},
		{Column{Name: "label", Type: Text, About: "what has to be said with each of its values, such as `tcg` for a guest under software emulation"}, func(r R) any { return text(names[of(r).Environment].Facts.Label) }},
		{Column{Name: "metric", Type: Text, About: "name of the metric"}, func(r R) any { return of(r).metric.Name }},
		{Column{Name: "unit", Type: Text, About: "unit of the metric; missing for a number without one"}, func(r R) any { return text(of(r).metric.Unit) }},
		{Column{Name: "better", Type: Text, About: "direction of the metric", Values: []string{"lower", "higher"}}, func(r R) any { return text(of(r).metric.Better) }},
		{Column{Name: "primary", Type: Boolean, About: "whether the metric decides when the run may stop"}, func(r R) any { return of(r).metric.Primary }},
	}
}

// at are the metrics of a place.
func (b *base) at(place subject.Place) []model.Metric {
	for _, w := range b.Workloads {
		if i := slices.IndexFunc(w.Levels, func(l model.Level) bool { return l.Place(w) == place }); i >= 0 {
			return w.Levels[i].Metrics
		}
	}
	return nil
}

var verdicts = []string{string(verdict.Slower), string(verdict.Faster), string(verdict.Equivalent), string(verdict.Inconclusive)}

func decision(c *verdict.Contrast) any {
	if c == nil || c.Verdict == verdict.None {
		return nil
	}
	return string(c.Verdict)
}

var statuses = []string{string(rundir.OK), string(rundir.Failed), string(rundir.Skipped)}
