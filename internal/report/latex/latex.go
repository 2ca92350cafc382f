// Package latex writes tables of a run for papers: with booktabs and siunitx, as wide as
// a column or a page of two columns, and the methods as a paragraph.
//
// It must not compute anything: what it prints comes from package model.
package latex

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/verdict"
)

// Write makes all tables of a run.
func Write(v *model.Report) (files []model.File, err error) {
	add := func(name, about, body string) {
		if body != "" {
			text := fmt.Sprintf("%% %s\n%% Run %s, tare %s.\n", about, comment(v.Manifest.Run), comment(v.Manifest.Tare)) + body
			files = append(files, model.File{Name: name + ".tex", Data: []byte(text)})
		}
	}
	const needs = "Needs \\usepackage{booktabs,siunitx}."
	add("methods", "How the run was made. \\cite refers to references.bib (--format bib).", methods(v))
	add("table-verdicts", "Verdicts by environment, for a table* of a page with two columns. "+needs, matrix(v))
	add("table-environments", "The environments with their versions, for a column. "+needs, environments(v))
	taken := map[string]bool{}
	for _, w := range v.Workloads {
		name := "table-" + model.FileName(w.Name)
		for taken[name] || slices.Contains([]string{"table-verdicts", "table-environments", "table-parts"}, name) {
			name += "-workload"
		}
		taken[name] = true
		add(name, "One workload in all environments, for a column. "+needs, workload(v, w))
	}
	add("table-parts", "The parts of the isolation layer, for a column. "+needs, parts(v))
	return files, nil
}

// methods is the paragraph about the run.
func methods(v *model.Report) string {
	var out strings.Builder
	for _, s := range v.Methods() {
		out.WriteString(running(s.Text))
		if len(s.Cites) > 0 {
			fmt.Fprintf(&out, "~\\cite{%s}", strings.Join(lists.Map(s.Cites, func(r model.Reference) string { return r.Key }), ","))
		}
		out.WriteString(".\n")
	}
	return out.String()
}

// tabular is a table of columns, in a group, so that its settings end with it.
func tabular(columns string, head []string, rows []string) string {
	if len(rows) == 0 {
		return ""
	}
	return "{\\footnotesize\\setlength{\\tabcolsep}{3pt}%\n\\sisetup{retain-explicit-plus}%\n\\begin{tabular}{@{}" + columns + "@{}}\n\\toprule\n" + strings.Join(head, " & ") + " \\\\\n\\midrule\n" + strings.Join(rows, "\n") + "\n\\bottomrule\n\\end{tabular}}%\n"
}

// number is a cell of an S column: what is no number is in braces.
func number(text string) string {
	bare := strings.TrimLeft(text, "+-")
	if bare != "" && strings.Trim(bare, "0123456789.") == "" && strings.Count(bare, ".") <= 1 {
		return text
	}
	return "{" + escape(text) + "}"
}

// change is a change in per cent without the sign for it, as a cell of an S column.
func change(text string) string { return number(strings.TrimSuffix(text, "%")) }

// numbers is the S column that holds the cells: as many digits before and after the point
// as the longest has.
func numbers(cells []string) string {
	whole, places, sign := 1, 0, ""
	for _, c := range cells {
		if strings.HasPrefix(c, "{") {
			continue
		}
		if strings.ContainsAny(c, "+-") {
			sign = "+"
		}
		before, after, _ := strings.Cut(strings.TrimLeft(c, "+-"), ".")
		whole, places = max(whole, len(before)), max(places, len(after))
	}
	return fmt.Sprintf("S[table-format=%s%d.%d]", sign, whole, places)
}

// interval is that of a contrast, in per cent or as factors; without a sign for the unit.
func interval(c *verdict.Contrast) string {
	if c.N == 0 {
		return ""
	}
	low, high, prefix := c.Low, c.High, ""
	if model.RangeOnly(c) {
		low, high, prefix = c.Least, c.Most, "range "
	}
	if math.IsNaN(low) || math.IsNaN(high) {
		return ""
	}
	if math.IsInf(low, -1) && math.IsInf(high, 1) {
		return "unbounded"
	}
	ends := lists.Map(model.Changes(low, high), func(text string) string {
		if bare, is := strings.CutSuffix(text, "%"); is {
			return "\\num{" + bare + "}"
		}
		return escape(text)
	})
	return prefix + "{[}" + strings.Join(ends, ", ") + "{]}"
}

// heading of a metric: its name, the unit of the numbers below, and its direction.
func heading(m model.Metric, scale model.Scale) string {
	text := m.Title()
	if unit := strings.TrimSpace(scale.Suffix); unit != "" {
		text += ", " + unit
	}
	return running(text + ", " + m.Better + " is better")
}

// scaled is a median in the unit of the heading.
func scaled(x float64, s model.Scale) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "{" + model.Missing + "}"
	}
	return number(model.Digits(x * s.Factor))
}
