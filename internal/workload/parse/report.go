package parse

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/base/failing"
)

// patterns are an expression a line. Each matches a whole line.
type patterns []*pattern

// UnmarshalText reads the expressions of a declaration.
func (p *patterns) UnmarshalText(text []byte) error {
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		*p = append(*p, expression("^(?:"+line+")$"))
	}
	return nil
}

// report is an output of lines whose kinds are all known.
type report struct {
	Of      string   `yaml:"of"`    // the tool with its version, for messages
	Whole   bool     `yaml:"whole"` // a value in the last line is only whole with its newline
	First   *pattern `yaml:"first"` // the first line; nil if it is like any other
	Counted counting `yaml:"counted"`
	// Figures are lines with values: the named groups are the fields. Each is printed
	// once at most.
	Figures patterns  `yaml:"figures"`
	Other   patterns  `yaml:"other"`  // lines without figures
	Beside  patterns  `yaml:"beside"` // lines without figures that may also precede the first
	Failed  *pattern  `yaml:"failed"` // lines that say that the run failed
	Refused []refusal `yaml:"refused"`
	Last    *pattern  `yaml:"last"`  // the line after which the tool prints nothing of its own; nil if it may
	Needs   words     `yaml:"needs"` // fields that no report lacks
	// Units are the factors of what is printed behind a number, or the values of texts that
	// are no number with a unit; nil for plain numbers.
	Units    map[string]float64 `yaml:"units"`
	Positive map[string]string  `yaml:"positive"` // what it means if one of these fields is 0
	Then     []formula          `yaml:"then"`
}

// refusal is what cannot be read of a tool that works, known by a line, with the way out.
type refusal struct {
	Line *pattern `yaml:"line"`
	Why  string   `yaml:"why"`
}

// refuses says why nothing is read of an output with this line.
func (p *report) refuses(line string) error {
	for _, each := range p.Refused {
		if each.Line.match(line) {
			return fmt.Errorf("%q: %s", clip(strings.TrimSpace(line)), each.Why)
		}
	}
	return nil
}

// words are a text with spaces between them.
type words []string

// UnmarshalText reads the words of a declaration.
func (w *words) UnmarshalText(text []byte) error {
	*w = strings.Fields(string(text))
	return nil
}

// read adds the fields of a report.
func (p *report) read(r *reading) {
	if p.Whole {
		r.wholeLines()
	}
	all := p.lines(r)
	failing.If(p.refuses(all[0])) // another version begins otherwise
	if p.First != nil && !p.First.match(all[0]) {
		fail("the first line %q is not that of %s", clip(all[0]), p.Of)
	}
	for i, line := range r.each(all) {
		if p.Failed != nil && p.Failed.match(line) {
			fail("%s reports %q", p.Of, clip(strings.TrimSpace(line)))
		}
		first := i == 0 && p.First != nil
		failing.If(p.refuses(line))
		if known := p.take(r, line); !known && line != "" && !first && !p.Other.match(line) && !p.Beside.match(line) && !aroundOutput.match(line) {
			fail("%q is no line that tare knows of %s%s", clip(line), p.Of, decimalComma(line))
		}
		if p.Last != nil && p.Last.match(line) {
			break
		}
	}
	r.need(p.Of, all, p.Needs...)
	for field, why := range p.Positive {
		if !(r.fields[field] > 0) {
			fail("%s: %s", why, ending(all))
		}
	}
}

func (p *report) compute(r *reading) {
	for _, f := range p.Then {
		f.compute(r)
	}
}

func (p patterns) match(line string) bool {
	return slices.ContainsFunc(p, func(one *pattern) bool { return one.match(line) })
}

// take adds the named groups of a line, if it is one with figures.
func (p *report) take(r *reading, line string) (known bool) {
	for _, one := range p.Figures {
		found := one.find(line)
		if found == nil {
			continue
		}
		known = true
		for i, name := range one.compiled().SubexpNames()[1:] {
			if name == "" || found[i] == "" {
				continue
			}
			if _, twice := r.fields[name]; twice {
				fail("a second line of the same kind: %q", clip(line))
			}
			r.fields[name] = p.value(found[i], line)
		}
	}
	return known
}

var scaled = expression(`^([0-9.]+)([A-Za-z]*)$`)

func (p *report) value(text, line string) float64 {
	if v, special := p.Units[text]; special || p.Units == nil {
		if special {
			return v
		}
		return number(text, line)
	}
	m := scaled.find(text)
	if m == nil {
		fail("%q in the line %q is not a number", text, clip(line))
	}
	factor, known := p.Units[m[1]]
	if !known {
		fail("unknown unit in %q of the line %q", text, clip(line))
	}
	return number(m[0], line) * factor
}

// formula computes a field of others and of numbers, from left to right:
// seconds = _minutes * 60 + _seconds.
type formula struct{ words }

func (f formula) compute(r *reading) {
	operand := func(text string) float64 {
		if text[0] >= '0' && text[0] <= '9' {
			return number(text, text)
		}
		return r.fields[text]
	}
	value := operand(f.words[2])
	for i := 3; i < len(f.words); i += 2 {
		switch next := operand(f.words[i+1]); f.words[i] {
		case "+":
			value += next
		case "*":
			value *= next
		case "/":
			value /= next
		}
	}
	r.fields[f.words[0]] = value
}
