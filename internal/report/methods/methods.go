// Package methods writes how a run was made: as a paragraph for a paper, and its sources
// as CITATION.cff.
//
// It must not decide what is said or cited: that comes from package model.
package methods

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	"tare/internal/base/lists"
	"tare/internal/base/visible"
	"tare/internal/report/model"
)

// Text writes the methods as a paragraph, and the sources below it.
func Text(v *model.Report) ([]model.File, error) {
	var sentences []string
	for _, s := range v.Methods() {
		text := s.Text
		// What the text names is not named once more.
		if cites := lists.Filter(s.Cites, func(r model.Reference) bool { return !r.Software }); len(cites) > 0 {
			text += " (" + strings.Join(lists.Map(cites, short), "; ") + ")"
		}
		sentences = append(sentences, text+".")
	}
	text := strings.Join(sentences, " ") + "\n\nReferences\n\n" + strings.Join(lists.Map(v.References(), long), "\n") + "\n"
	return []model.File{{Name: "methods.txt", Data: []byte(visible.Text(text))}}, nil
}

// short is a source in a text.
func short(r model.Reference) string {
	return strings.Join(lists.Map(r.Authors, func(a model.Author) string { return a.Family }), " and ") + " " + r.Year
}

// long is a source in a list.
func long(r model.Reference) string {
	text := strings.Join(lists.Map(r.Authors, name), " and ")
	if r.Year != "" {
		text += " (" + r.Year + ")"
	}
	text += ". " + r.Title + "."
	if r.Version != "" {
		text += " Version " + r.Version + "."
	}
	if r.Journal != "" {
		text += " " + r.Journal + " " + r.Volume
		if r.Number != "" {
			text += "(" + r.Number + ")"
		}
		if r.Pages != "" {
			text += ", " + r.Pages
		}
		text += "."
	}
	if r.DOI != "" {
		text += " doi:" + r.DOI
	}
	return text
}

func name(a model.Author) string { return strings.TrimSpace(a.Given + " " + a.Family) }

// CFF writes CITATION.cff, the Citation File Format 1.2.0: how to cite tare, and the
// sources of the run.
func CFF(v *model.Report) ([]model.File, error) {
	all := v.References()
	document := yaml.MapSlice{{Key: "cff-version", Value: "1.2.0"}, {Key: "message", Value: "To cite the analysis of this run, cite tare and the references."}}
	var references []yaml.MapSlice
	for _, r := range all {
		if r.Software {
			document = append(document, entry(r)...)
			continue
		}
		references = append(references, entry(r))
	}
	if len(references) > 0 {
		document = append(document, yaml.MapItem{Key: "references", Value: references})
	}
	text, err := yaml.MarshalWithOptions(document, yaml.IndentSequence(true))
	return []model.File{{Name: "CITATION.cff", Data: text}}, err
}

func entry(r model.Reference) (fields yaml.MapSlice) {
	add := func(key string, value any) {
		if value != "" {
			fields = append(fields, yaml.MapItem{Key: key, Value: value})
		}
	}
	add("type", map[bool]string{true: "software", false: "article"}[r.Software])
	add("title", visible.Line(r.Title))
	var authors []yaml.MapSlice
	for _, a := range r.Authors {
		if a.Given == "" {
			authors = append(authors, yaml.MapSlice{{Key: "name", Value: a.Family}})
			continue
		}
		authors = append(authors, yaml.MapSlice{{Key: "family-names", Value: a.Family}, {Key: "given-names", Value: a.Given}})
	}
	add("authors", authors)
	if r.Software {
		add("version", visible.Line(r.Version))
		add("license", "Apache-2.0")
		return fields
	}
	add("journal", r.Journal)
	add("volume", r.Volume)
	add("issue", r.Number)
	if begin, end, both := strings.Cut(r.Pages, "-"); both {
		add("start", begin)
		add("end", end)
	}
	var year int
	if _, err := fmt.Sscan(r.Year, &year); err == nil {
		add("year", year)
	}
	add("doi", r.DOI)
	return fields
}
