// Package parse parses the output of load drivers into named values, one file
// per tool. A parser never guesses: truncated output, or output of an unknown
// version, is an error with the line that was not understood.
//
// It must not know packs, trials or preferred units: a value has the unit that
// its parser declares, whatever the tool scaled it to.
package parse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Parser parses one tool's output.
type Parser struct {
	Name     string
	About    string
	Versions string // of the tool, that its output was looked at
	Fields   []Field
	// Parse returns the fields of the output. A field that the tool did not
	// print is absent, never zero.
	Parse func(stdout []byte) (map[string]float64, error)
	// Split splits a file with the output of several runs into one output each;
	// nil if the tool's outputs cannot be separated. Unknown text between them
	// is an error, as in Parse.
	Split func(file []byte) ([][]byte, error)
	// Settings returns how the tool says that it ran, by the tool's own names: threads,
	// block sizes, a version. Results are comparable only if these agree. It never
	// fails, since Parse judges the output; nil if the tool prints none.
	Settings func(stdout []byte) map[string]string
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

// parsers are the built-in parsers. docs/reference/parsers.md lists what a new one needs.
var parsers = finite(
	ab, bootTimes, cassandraStress, dd, fio, ghz, h2load, hpl, ioping, iozone, iperf3, jmeter, k6, latencies, memtier, netperf,
	pgbench, redisBenchmark, stages, stressNG, sysbenchCPU, sysbenchFileIO, sysbenchMemory, sysbenchOLTP,
	sysbenchThreads, vegetaCSV, wrk, wrk2,
)

// finite makes a value that overflowed an error, and leaves out those with _ before
// their names.
func finite(all ...Parser) []Parser {
	for i, p := range all {
		all[i].Parse = checked(p.Parse, func(v float64) float64 { return v })
		all[i].Series = checked(p.Series, func(points []Point) (sum float64) {
			for _, point := range points {
				sum += point.Second + point.Value
			}
			return sum
		})
		all[i].Histograms = checked(p.Histograms, func(h Histogram) (sum float64) {
			for _, b := range h {
				sum += b.Low + b.High + b.Count
			}
			return sum
		})
	}
	return all
}

// checked adds the checks of finite to a function; sum is not finite if a value is not.
func checked[T any](read func([]byte) (map[string]T, error), sum func(T) float64) func([]byte) (map[string]T, error) {
	if read == nil {
		return nil
	}
	return func(stdout []byte) (map[string]T, error) {
		found, err := read(stdout)
		if err != nil {
			return nil, err
		}
		for name, v := range found {
			if strings.HasPrefix(name, "_") {
				delete(found, name)
			} else if s := sum(v); math.IsNaN(s) || math.IsInf(s, 0) {
				return nil, fmt.Errorf("%s is %v: the output's values are not those of a run", name, s)
			}
		}
		return found, nil
	}
}

// Lookup returns a built-in parser.
func Lookup(name string) (Parser, bool) {
	i := slices.IndexFunc(parsers, func(p Parser) bool { return p.Name == name })
	if i < 0 {
		return Parser{}, false
	}
	return parsers[i], true
}

// Names lists the built-in parsers.
func Names() []string {
	names := make([]string, len(parsers))
	for i, p := range parsers {
		names[i] = p.Name
	}
	return names
}

// FieldNames lists the fields of a parser.
func (p Parser) FieldNames() []string { return names(p.Fields) }

// DistributionNames lists the distributions of a parser.
func (p Parser) DistributionNames() []string { return names(p.Distributions) }

// HasField reports whether a parser has a field. A declared name that ends in *
// stands for all names with that prefix.
func (p Parser) HasField(name string) bool {
	return slices.ContainsFunc(p.Fields, func(f Field) bool {
		family, open := strings.CutSuffix(f.Name, "*")
		return name == f.Name && !open || open && len(name) > len(family) && strings.HasPrefix(name, family)
	})
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

// endsWithALine checks that the output ends with a newline. Otherwise a value in
// the last line may be truncated: 12.5 of 12.57.
func endsWithALine(stdout []byte) error {
	if !strings.HasSuffix(string(stdout), "\n") {
		return fmt.Errorf("the output is truncated: %s", ending(lines(stdout)))
	}
	return nil
}

// number parses a finite number of a line.
func number(text, line string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q in the line %q is not a number", strings.TrimSpace(text), clip(line))
	}
	return v, nil
}

// take adds the values found in a line to the fields of these names.
func take(fields map[string]float64, line string, found []string, names ...string) error {
	for i, name := range names {
		v, err := number(found[i], line)
		if err != nil {
			return err
		}
		fields[name] = v
	}
	return nil
}

// decode reads one JSON document, after which nothing may follow.
func decode(what string, stdout []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(stdout))
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%s: %w; %s", what, err, ending(lines(stdout)))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("unexpected text after %s: %s", what, ending(lines(stdout)))
	}
	return nil
}

// whole parses an integer, which may not fit a float64 exactly.
func whole(text, line string) (int64, error) {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("%q in the line %q is not a count", clip(text), clip(line))
	}
	return v, nil
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
