package parse

import (
	"fmt"
	"regexp"
	"strings"
)

// report is an output of lines whose kinds are all known.
type report struct {
	tool  string         // with its version, for messages
	first *regexp.Regexp // of the first line; nil if it is like any other
	// lines have figures: the named groups are the fields. Each is printed once at most.
	// A name that begins with _ is of a value that is checked, or of which others are made.
	lines  []*regexp.Regexp
	other  *regexp.Regexp // lines without figures
	failed *regexp.Regexp // lines that say that the run failed
	wanted []string       // fields that no report lacks
	// units are the factors of what is printed behind a number, or the values of texts that
	// are no number with a unit; nil for plain numbers.
	units map[string]float64
}

// patterns compiles expressions.
func patterns(texts ...string) (all []*regexp.Regexp) {
	for _, text := range texts {
		all = append(all, regexp.MustCompile(text))
	}
	return all
}

// anyOf matches a line that one of the expressions matches as a whole, or an empty one.
func anyOf(texts ...string) *regexp.Regexp {
	return regexp.MustCompile(`^(` + strings.Join(texts, "|") + `)?$`)
}

// read returns the fields of a report.
func (r report) read(all []string) (map[string]float64, error) {
	if r.first != nil && !r.first.MatchString(all[0]) {
		return nil, fmt.Errorf("the first line %q is not that of %s", clip(all[0]), r.tool)
	}
	fields := map[string]float64{}
	for i, line := range all {
		if r.failed != nil && r.failed.MatchString(line) {
			return nil, fmt.Errorf("%s reports %q", r.tool, clip(strings.TrimSpace(line)))
		}
		known := i == 0 && r.first != nil || r.other.MatchString(line)
		for _, p := range r.lines {
			m := p.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			known = true
			if err := r.take(fields, line, p.SubexpNames(), m); err != nil {
				return nil, err
			}
		}
		if !known {
			return nil, fmt.Errorf("%s does not print such a line: %q", r.tool, clip(line))
		}
	}
	return fields, complete(r.tool, fields, all, r.wanted...)
}

// take adds the named groups of a line.
func (r report) take(fields map[string]float64, line string, names, found []string) (err error) {
	for i, name := range names {
		if name == "" || found[i] == "" {
			continue
		}
		if _, twice := fields[name]; twice {
			return fmt.Errorf("a second line of the same kind: %q", clip(line))
		}
		if fields[name], err = r.value(found[i], line); err != nil {
			return err
		}
	}
	return nil
}

var scaled = regexp.MustCompile(`^([0-9.]+)([A-Za-z]*)$`)

func (r report) value(text, line string) (float64, error) {
	if v, special := r.units[text]; special || r.units == nil {
		if !special {
			return number(text, line)
		}
		return v, nil
	}
	m := scaled.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%q in the line %q is not a number", text, clip(line))
	}
	factor, known := r.units[m[2]]
	if !known {
		return 0, fmt.Errorf("unknown unit in %q of the line %q", text, clip(line))
	}
	v, err := number(m[1], line)
	return v * factor, err
}

func names(fields []Field) (list []string) {
	for _, f := range fields {
		list = append(list, f.Name)
	}
	return list
}

// complete checks that the output had all of these fields.
func complete(tool string, fields map[string]float64, all []string, wanted ...string) error {
	for _, name := range wanted {
		if _, ok := fields[name]; !ok {
			return fmt.Errorf("no %s: the report of %s is not complete, %s", strings.TrimSpace(strings.ReplaceAll(name, "_", " ")), tool, ending(all))
		}
	}
	return nil
}
