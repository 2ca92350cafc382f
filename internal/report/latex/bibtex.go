package latex

import (
	"bytes"
	"fmt"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/report/model"
)

// BibTeX writes the sources for BibTeX and biber.
func BibTeX(v *model.Report) ([]model.File, error) {
	var out bytes.Buffer
	for _, r := range v.References() {
		kind := "article"
		authors := lists.Map(r.Authors, func(a model.Author) string {
			if a.Given == "" {
				return "{" + escape(a.Family) + "}" // a group has no given name to abbreviate
			}
			return escape(a.Family) + ", " + escape(a.Given)
		})
		fields := [][2]string{{"author", strings.Join(authors, " and ")}, {"title", "{" + escape(r.Title) + "}"}}
		if r.Software {
			kind = "misc" // which all styles know
			fields = append(fields, [2]string{"note", escape(strings.TrimSuffix("Computer program, version "+r.Version, ", version "))})
		}
		fields = append(fields, [][2]string{{"journal", escape(r.Journal)}, {"volume", r.Volume}, {"number", r.Number}, {"pages", strings.ReplaceAll(r.Pages, "-", "--")}, {"year", r.Year}, {"doi", r.DOI}}...)
		fmt.Fprintf(&out, "@%s{%s,\n", kind, r.Key)
		for _, f := range fields {
			if f[1] != "" {
				fmt.Fprintf(&out, "  %-8s= {%s},\n", f[0], f[1])
			}
		}
		out.WriteString("}\n\n")
	}
	return []model.File{{Name: "references.bib", Data: bytes.TrimSuffix(out.Bytes(), []byte("\n"))}}, nil
}
