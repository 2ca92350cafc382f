// Package methods writes how a run was made: as a paragraph for a paper, and its sources
// as CITATION.cff.
//
// It must not decide what is said or cited: that comes from package model.
package methods

import (
	"bytes"
	"strings"
	"text/template"

	"github.com/goccy/go-yaml"

	"tare/internal/base/visible"
	"tare/internal/report/model"
)

var paragraph = template.Must(template.New("methods").Funcs(template.FuncMap{"join": strings.Join}).Parse(
	// What the text names is not named once more.
	`{{range $i, $s := .Methods}}{{if $i}} {{end}}{{.Text}}{{$open := " ("}}{{range .Cites}}{{if not .Software}}{{$open}}{{join .Families " and "}} {{.Year}}{{$open = "; "}}{{end}}{{end}}{{if ne $open " ("}}){{end}}.{{end}}

References

{{range .References}}{{range $i, $a := .Authors}}{{if $i}} and {{end}}{{or .Name .Given}}{{with .Family}} {{.}}{{end}}{{end}}{{with .Year}} ({{.}}){{end}}. {{.Title}}.
{{- with .Version}} Version {{.}}.{{end}}
{{- if .Journal}} {{.Journal}} {{.Volume}}{{with .Issue}}({{.}}){{end}}{{with .Start}}, {{.}}-{{end}}{{.End}}.{{end}}
{{- with .DOI}} doi:{{.}}{{end}}
{{end}}`))

// Text writes the methods as a paragraph, and the sources below it.
func Text(v *model.Report) ([]model.File, error) {
	var text bytes.Buffer
	err := paragraph.Execute(&text, v)
	return []model.File{{Name: "methods.txt", Data: []byte(visible.Text(text.String()))}}, err
}

// CFF writes CITATION.cff: how to cite tare, and the sources of the run.
func CFF(v *model.Report) ([]model.File, error) {
	text, err := yaml.MarshalWithOptions(v.Citation(), yaml.IndentSequence(true))
	return []model.File{{Name: "CITATION.cff", Data: text}}, err
}
