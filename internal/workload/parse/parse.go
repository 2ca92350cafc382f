// Package parse parses the output of load drivers into named values. A file of YAML in
// tools declares each parser; what patterns of lines cannot say is in a Go file of the
// tool's name. A parser never guesses: truncated output, or output of an unknown
// version, is an error with the line that was not understood.
//
// It must not know packs, trials or preferred units: a value has the unit that
// its parser declares, whatever the tool scaled it to.
package parse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/failing"
	"tare/internal/base/quantity"
)

// Parser parses one tool's output.
type Parser struct {
	Name     string
	About    string
	Versions string // of the tool, that its output was looked at
	Fields   []Field
	Primary  string // the field that compares; "" for the first rate
	// Describes are fields of which neither more nor less is better, whatever their unit.
	Describes []string
	// Parse returns the fields of the output. A field that the tool did not
	// print is absent, never zero.
	Parse func(stdout []byte) (map[string]float64, error)
	// Split splits a file with the output of several runs into one output each. Unknown
	// text between them is an error, as in Parse.
	Split func(file []byte) ([][]byte, error)
	// Settings returns how the tool says that it ran, by the tool's own names: threads,
	// block sizes, a version. Results are comparable only if these agree. It never
	// fails, since Parse judges the output; nil if the tool prints none.
	Settings func(stdout []byte) map[string]string
	// Other names what a piece of a split file is, where it is certainly none of this tool's
	// results: another test, a preparation. It is "" for all else.
	Other func(piece []byte) string
	// Unsure says why the runs of a file that Parse accepts may have been interrupted; "" if
	// they would tell.
	Unsure func(file []byte) string
	// ID returns the tool's identifier of the test, which client and server share;
	// nil if it prints none.
	ID func(stdout []byte) string
	// Series returns values over the time of one output, if the tool prints
	// them; nil if it does not. Series have names like fields.
	Series func(stdout []byte) (map[string][]Point, error)
	// Distributions are those that Histograms can return, with their units.
	Distributions []Field
	// Histograms returns the distributions of an output that Parse accepts; nil if
	// the tool prints none. One that the tool did not print is absent; one of no
	// values is empty.
	Histograms func(stdout []byte) (map[string]Histogram, error)
}

// Point is one value of a series.
type Point struct {
	Second float64 `json:"s"` // since the driver's first figure
	Value  float64 `json:"v"`
}

// Field is one value that a parser can return.
type Field struct {
	Name string
	Unit string
}

// FieldNames lists the fields of a parser.
func (p Parser) FieldNames() []string { return names(p.Fields) }

// DistributionNames lists the distributions of a parser.
func (p Parser) DistributionNames() []string { return names(p.Distributions) }

func names(fields []Field) (list []string) {
	for _, f := range fields {
		list = append(list, f.Name)
	}
	return list
}

// HasField reports whether a parser has a field. A declared name that ends in *
// stands for all names with that prefix.
func (p Parser) HasField(name string) bool {
	_, has := p.UnitOf(name)
	return has
}

// UnitOf is the unit of a field, if the parser has it.
func (p Parser) UnitOf(name string) (unit string, has bool) {
	i := slices.IndexFunc(p.Fields, func(f Field) bool {
		family, open := strings.CutSuffix(f.Name, "*")
		return name == f.Name && !open || open && len(name) > len(family) && strings.HasPrefix(name, family)
	})
	if i < 0 {
		return "", false
	}
	return p.Fields[i].Unit, true
}

// reading is what is read of one output.
type reading struct {
	stdout     []byte
	lines      []string
	logged     []string           // of lines: requests that were counted, before a report
	at         int                // the line that is being read, from 1; 0 for none
	fields     map[string]float64 // names that begin with _ are of values that are checked, or of which others are made
	series     map[string][]Point
	histograms map[string]Histogram // nil: the tool printed none
}

// fail ends the reading of an output with a problem, wherever in it that is found.
func fail(format string, args ...any) { failing.With(format, args...) }

// read reads an output with these functions.
func read(stdout []byte, with ...func(*reading)) (*reading, error) {
	r := &reading{stdout: stdout, lines: lines(stdout), fields: map[string]float64{}, series: map[string][]Point{}}
	err := failing.Caught(func() {
		for _, each := range with {
			each(r)
		}
	})
	return r, atLine(r.at, err)
}

// finite refuses values of which one overflowed or vanished, by the sum of what each
// consists of. It leaves out those with _ before their names.
func finite[T any](found map[string]T, sum func(T) float64) {
	for name, v := range found {
		if strings.HasPrefix(name, "_") {
			delete(found, name)
		} else if s := sum(v); !quantity.Measured(s) {
			fail("%s is %v: the output's values are not those of a run", name, s)
		}
	}
}

func (r *reading) finiteFields() { finite(r.fields, func(v float64) float64 { return v }) }

func (r *reading) finiteSeries() {
	finite(r.series, func(points []Point) (sum float64) {
		for _, point := range points {
			sum += point.Second + point.Value
		}
		return sum
	})
}

func (r *reading) finiteHistograms() {
	finite(r.histograms, func(h Histogram) (sum float64) {
		for _, b := range h {
			sum += b.Low + b.High + b.Count
		}
		return sum
	})
}

// take adds the values found in a line to the fields of these names.
func (r *reading) take(line string, found []string, names ...string) {
	for i, name := range names {
		r.fields[name] = number(found[i], line)
	}
}

// add adds a value that is there.
func (r *reading) add(name string, v *float64) {
	if v != nil {
		r.fields[name] = *v
	}
}

// count has each of the values in a distribution.
func (r *reading) count(name string, values []float64) {
	if r.histograms == nil {
		r.histograms = map[string]Histogram{}
	}
	r.histograms[name] = histogramOf(values)
}

// wholeLines checks that the output ends with a newline. Otherwise a value in
// the last line may be truncated: 12.5 of 12.57.
func (r *reading) wholeLines() {
	if !bytes.HasSuffix(r.stdout, []byte("\n")) {
		r.at = len(r.lines)
		fail("%s without a newline behind it, so that it may be cut off there: %s", ending(r.lines), addNewline)
	}
}

// need checks that the output had all of these fields.
func (r *reading) need(tool string, all []string, wanted ...string) {
	for _, name := range wanted {
		if _, ok := r.fields[name]; !ok {
			fail("no %s: the report of %s is not complete, %s", strings.TrimSpace(strings.ReplaceAll(name, "_", " ")), tool, ending(all))
		}
	}
}

// lines splits output into lines; of a line that was overwritten with carriage
// returns it returns the last state.
func lines(stdout []byte) []string {
	all := strings.Split(string(stdout), "\n")
	for i, l := range all {
		all[i] = lastState(l)
	}
	return all
}

func lastState(line string) string {
	line = strings.TrimRight(line, "\r")
	return strings.TrimRight(line[strings.LastIndexByte(line, '\r')+1:], " \t")
}

// number is a finite number of a line.
func number(text, line string) float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		fail("%q in the line %q is not a number", strings.TrimSpace(text), clip(line))
	}
	return v
}

// whole is an integer, which may not fit a float64 exactly.
func whole(text, line string) int64 {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 0 {
		fail("%q in the line %q is not a count", clip(text), clip(line))
	}
	return v
}

// decode reads one JSON document, after which nothing may follow. lines are those of the
// whole output.
func decode(what string, stdout []byte, lines []string, into any) {
	decoder := json.NewDecoder(bytes.NewReader(stdout))
	if err := decoder.Decode(into); err != nil {
		fail("%s: %w; %s", what, inJSON(stdout, err), ending(lines))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		fail("unexpected text after %s: %s", what, ending(lines))
	}
}

// clip shortens a quoted line.
func clip(line string) string {
	if len(line) > 160 {
		return strings.ToValidUTF8(line[:160], "") + "..."
	}
	return line
}

// ending quotes the last line that is not blank.
func ending(all []string) string {
	for _, l := range slices.Backward(all) {
		if strings.TrimSpace(l) != "" {
			return fmt.Sprintf("the last line is %q", clip(l))
		}
	}
	return "it printed nothing"
}
