// Package parse turns what a load driver printed into named figures, one file
// a tool. A parser never guesses: output that is cut off, or that a version
// prints that nobody has looked at, is an error with the line that was not
// understood.
//
// It must not know packs, trials or units that people prefer: a figure has the
// unit that its parser declares, whatever the tool scaled it to.
package parse

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Parser reads one tool's output.
type Parser struct {
	Name     string
	About    string
	Versions string // of the tool, that its output was looked at
	Fields   []Field
	// Parse returns the fields that the output has. A field that the tool did
	// not print is absent, never zero.
	Parse func(stdout []byte) (map[string]float64, error)
}

// Field is one figure that a parser gives.
type Field struct {
	Name string
	Unit string
}

// parsers are the built-in ones. A new tool is one file and one line here.
var parsers = []Parser{dd, fio, redisBenchmark, sysbenchCPU, sysbenchMemory, wrk}

// Lookup finds a built-in parser.
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
func (p Parser) FieldNames() []string {
	names := make([]string, len(p.Fields))
	for i, f := range p.Fields {
		names[i] = f.Name
	}
	return names
}

// lines splits what a tool printed; of a line that was drawn over with carriage
// returns only the last state counts.
func lines(stdout []byte) []string {
	all := strings.Split(string(stdout), "\n")
	for i, l := range all {
		l = strings.TrimRight(l, "\r")
		all[i] = strings.TrimRight(l[strings.LastIndexByte(l, '\r')+1:], " \t")
	}
	return all
}

// number reads a finite number that stands in a line.
func number(text, line string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q in the line %q is not a number", strings.TrimSpace(text), clip(line))
	}
	return v, nil
}

// clip keeps a quoted line readable.
func clip(line string) string {
	if len(line) > 160 {
		return strings.ToValidUTF8(line[:160], "") + "..."
	}
	return line
}

// ending quotes the last line that says something.
func ending(all []string) string {
	for _, l := range slices.Backward(all) {
		if strings.TrimSpace(l) != "" {
			return fmt.Sprintf("the last line is %q", clip(l))
		}
	}
	return "it printed nothing"
}
