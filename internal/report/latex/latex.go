// Package latex writes tables of a run for papers: with booktabs and siunitx, as wide as
// a column or a page of two columns, and the methods as a paragraph.
//
// It must not compute anything: what it prints comes from package section.
package latex

import (
	"fmt"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/report/section"
)

// Write makes all tables of a run.
func Write(v *model.Report) (files []model.File, err error) {
	taken := map[string]bool{}
	add := func(name, about, body string) {
		for taken[name] {
			name += "-workload"
		}
		taken[name] = true
		if body != "" {
			text := fmt.Sprintf("%% %s\n%% Run %s, tare %s.\n", about, comment(v.Manifest.Run), comment(v.Manifest.Tare)) + body
			files = append(files, model.File{Name: name + ".tex", Data: []byte(text)})
		}
	}
	const needs = " Needs \\usepackage{booktabs,siunitx}."
	paper := section.Options{Paper: true}
	add("methods", "How the run was made. \\cite refers to references.bib (--format bib).", methods(v))
	add("table-verdicts", "Verdicts by environment, for a table* of a page with two columns."+needs, matrix(v))
	for _, s := range section.Of(v, section.Paper, paper) {
		add("table-"+s.Paper, s.Title+", for a column."+needs, tabular(together(s).Narrow(0), columnWidth))
	}
	for _, w := range v.Workloads {
		add("table-"+model.FileName(w.Name), "One workload in all environments, for a column."+needs, tabular(section.Comparisons(v, w.Levels, paper).Narrow(0), columnWidth))
	}
	return files, nil
}

// together is a section as one table, with the titles of its parts above the rows.
func together(s section.Section) *section.Table {
	var all section.Table
	for _, p := range s.Parts {
		if p.Table == nil {
			continue
		}
		all.Columns = append([]section.Column{{Group: true}}, p.Table.Columns...)
		for _, r := range p.Table.Rows {
			r.Cells = append([]section.Cell{{{Text: p.Title}}}, r.Cells...)
			all.Rows = append(all.Rows, r)
		}
	}
	return &all
}

// methods is the paragraph about the run.
func methods(v *model.Report) string {
	var out strings.Builder
	for _, s := range v.Methods() {
		out.WriteString(running(s.Text))
		if len(s.Cites) > 0 {
			fmt.Fprintf(&out, "~\\cite{%s}", strings.Join(lists.Map(s.Cites, model.Reference.Key), ","))
		}
		out.WriteString(".\n")
	}
	return out.String()
}
