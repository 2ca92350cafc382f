package latex

import (
	"bytes"
	"strings"
	"text/template"

	"tare/internal/report/model"
)

// A group has no given name to abbreviate; misc is a type that all styles know.
var bibliography = template.Must(template.New("bib").Funcs(template.FuncMap{"tex": balanced}).Parse(
	`{{range $n, $r := .References}}{{if $n}}
{{end}}@{{if .Software}}misc{{else}}article{{end}}{{"{"}}{{.Key}},
  author  = {{"{"}}{{range $i, $a := .Authors}}{{if $i}} and {{end}}{{with .Name}}{{"{"}}{{tex .}}}{{else}}{{tex .Family}}, {{tex .Given}}{{end}}{{end}}},
  title   = {{"{{"}}{{tex .Title}}}},
{{if .Software}}  note    = {Computer program{{with .Version}}, version {{tex .}}{{end}}},
{{end}}{{with .Journal}}  journal = {{"{"}}{{tex .}}},
{{end}}{{with .Volume}}  volume  = {{"{"}}{{.}}},
{{end}}{{with .Issue}}  number  = {{"{"}}{{.}}},
{{end}}{{with .Start}}  pages   = {{"{"}}{{.}}--{{$r.End}}},
{{end}}{{with .Year}}  year    = {{"{"}}{{.}}},
{{end}}{{with .DOI}}  doi     = {{"{"}}{{.}}},
{{end}}}
{{end}}`))

// balanced is a text as LaTeX without braces of its own: BibTeX counts escaped ones too.
func balanced(text string) string {
	return strings.NewReplacer(`\{`, `\textbraceleft{}`, `\}`, `\textbraceright{}`).Replace(escape(text))
}

// BibTeX writes the sources for BibTeX and biber.
func BibTeX(v *model.Report) ([]model.File, error) {
	var out bytes.Buffer
	err := bibliography.Execute(&out, v)
	return []model.File{{Name: "references.bib", Data: out.Bytes()}}, err
}
