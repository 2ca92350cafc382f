package parse

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

// tools has a declaration for each parser, and in common what several have.
//
//go:embed tools
var tools embed.FS

// declaration is a parser as its file says it. docs/reference/parsers.md explains the keys.
type declaration struct {
	About         string            `yaml:"about"`
	Versions      string            `yaml:"versions"`
	Like          string            `yaml:"like"` // a file in common, whose lists come after these
	Fields        fields            `yaml:"fields"`
	Primary       string            `yaml:"primary"`   // the field that compares; "" for the first rate
	Describes     words             `yaml:"describes"` // fields of which neither more nor less is better, whatever their unit
	Distributions fields            `yaml:"distributions"`
	Split         splitting         `yaml:"split"`
	Settings      settings          `yaml:"settings"`
	SettingsAt    map[string]string `yaml:"settings_at"` // paths in a JSON document
	Kinds         kinds             `yaml:"kinds"`
	Unsure        doubt             `yaml:"unsure"`
	Report        report            `yaml:"report"`
}

// code is what a tool has besides its declaration.
type code struct {
	read       func(*reading)          // in place of a report
	then       func(*reading, *report) // after that was read
	split      func(file []byte) ([][]byte, error)
	settings   func(stdout []byte, declared map[string]string) map[string]string
	id         func(stdout []byte) string
	series     func(*reading) // of an output that was read
	histograms func(*reading) // of an output that was read, unless reading has added them
}

// Names lists the built-in parsers.
func Names() []string { return slices.Clone(builtin()) }

var builtin = sync.OnceValue(func() (names []string) {
	files, err := fs.Glob(tools, "tools/*.yaml")
	if err != nil {
		panic(err) // of the pattern
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), ".yaml"))
	}
	return names
})

// Lookup returns a built-in parser.
func Lookup(name string) (Parser, bool) {
	if !slices.Contains(builtin(), name) {
		return Parser{}, false
	}
	return declarationOf(name).parser(name, codeOf(name)), true
}

var declarations sync.Map // those that were used

func declarationOf(name string) *declaration {
	d, known := declarations.Load(name)
	if !known {
		d, _ = declarations.LoadOrStore(name, declared(name))
	}
	return d.(*declaration)
}

// declared reads a declaration, with what it has in common with others.
func declared(name string) *declaration {
	d := &declaration{}
	text, err := tools.ReadFile("tools/" + name + ".yaml")
	if err == nil {
		err = yaml.UnmarshalWithOptions(text, d, yaml.Strict())
	}
	if err != nil {
		panic(fmt.Errorf("the declaration of parser %s: %w", name, err)) // a test reads all
	}
	if d.Like == "" {
		return d
	}
	all := declared("common/" + d.Like)
	all.About, all.Primary, all.Describes = d.About, d.Primary, d.Describes
	all.Fields, all.Settings = slices.Concat(d.Fields, all.Fields), slices.Concat(d.Settings, all.Settings)
	own, of := &d.Report, &all.Report
	of.Figures, of.Other, of.Needs = slices.Concat(own.Figures, of.Figures), slices.Concat(own.Other, of.Other), slices.Concat(own.Needs, of.Needs)
	of.Positive, of.Then = own.Positive, own.Then
	return all
}

func (d *declaration) parser(name string, c code) Parser {
	p := Parser{Name: name, About: d.About, Versions: d.Versions, Fields: d.Fields, Distributions: d.Distributions, ID: c.id, Primary: d.Primary, Describes: d.Describes, Unsure: d.Unsure.of}
	p.Other = func(piece []byte) string {
		if kind := d.kindOf(piece); kind != name {
			return kind
		}
		return ""
	}
	steps := []func(*reading){c.read}
	if c.read == nil {
		steps = []func(*reading){d.Report.read, func(r *reading) {
			if c.then != nil {
				c.then(r, &d.Report)
			}
		}, d.Report.checkCounted, d.Report.compute}
	}
	with := func(more ...func(*reading)) []func(*reading) { return slices.Concat(steps, more) }
	p.Parse = func(stdout []byte) (map[string]float64, error) {
		r, err := read(stdout, with((*reading).finiteFields)...)
		if err != nil {
			return nil, err
		}
		return r.fields, nil
	}
	if c.series != nil {
		p.Series = func(stdout []byte) (map[string][]Point, error) {
			r, err := read(stdout, with(c.series, (*reading).finiteSeries)...)
			if err != nil {
				return nil, err
			}
			return r.series, nil
		}
	}
	if count := c.histograms; len(d.Distributions) > 0 {
		if count == nil {
			count = func(*reading) {}
		}
		p.Histograms = func(stdout []byte) (map[string]Histogram, error) {
			r, err := read(stdout, with(count, (*reading).finiteHistograms)...)
			if err != nil {
				return nil, err
			}
			return r.histograms, nil
		}
	}
	if p.Split = c.split; p.Split == nil {
		p.Split = d.split
	}
	if len(d.Settings)+len(d.SettingsAt) > 0 || c.settings != nil {
		p.Settings = func(stdout []byte) map[string]string {
			found := d.Settings.in(lines(stdout))
			if d.SettingsAt != nil {
				found = settingsAt(d.SettingsAt, stdout)
			}
			if c.settings != nil {
				return c.settings(stdout, found)
			}
			return found
		}
	}
	return p
}

// splitting says how a file with the outputs of several runs is split: before the first
// lines of runs, after the last ones, or after JSON documents.
type splitting struct {
	Before *pattern `yaml:"before"`
	After  *pattern `yaml:"after"`
	JSON   bool     `yaml:"json"`
}

func (d *declaration) split(file []byte) ([][]byte, error) {
	for at, line := range eachLine(file) {
		if err := d.Report.refuses(line); err != nil {
			return nil, atLine(at.number, err)
		}
	}
	switch s := d.Split; {
	case s.Before != nil:
		return splitAt(file, s.Before.match, d.own)
	case s.After != nil:
		return splitAfter(file, s.After.match)
	case s.JSON:
		return splitJSON(file)
	}
	return splitCounted(file, d.Report.First, d.own)
}

// fields are names with their units: requests errors (op), seconds (s).
type fields []Field

// UnmarshalYAML reads a text, or a list of texts of which some are for several prefixes.
func (f *fields) UnmarshalYAML(decode func(any) error) error {
	var text string
	if decode(&text) == nil {
		f.add("", text)
		return nil
	}
	var parts []struct {
		Of  []string `yaml:"of"`
		Are string   `yaml:"are"`
	}
	if err := decode(&parts); err != nil {
		return err
	}
	for _, part := range parts {
		for _, prefix := range part.Of {
			f.add(prefix, part.Are)
		}
		if part.Of == nil {
			f.add("", part.Are)
		}
	}
	return nil
}

func (f *fields) add(prefix, text string) {
	for group := range strings.SplitSeq(text, ")") {
		names, unit, _ := strings.Cut(strings.Trim(group, ", "), "(")
		for name := range strings.FieldsSeq(names) {
			*f = append(*f, Field{prefix + name, unit})
		}
	}
}
