package latex

import (
	"fmt"
	"math"
	"strings"

	"tare/internal/attribution/analysis"
	"tare/internal/report/model"
)

// line is a row of cells, or a heading over all columns.
type line struct {
	cells   []string
	heading string
	rule    bool // above it
}

// layout makes rows of lines, and the S columns of those with an index in numeric.
func layout(lines []line, columns int, numeric ...int) (rows []string, formats []string) {
	for _, i := range numeric {
		var cells []string
		for _, l := range lines {
			if l.heading == "" && l.cells[i] != "" {
				cells = append(cells, l.cells[i])
			}
		}
		formats = append(formats, numbers(cells))
	}
	for _, l := range lines {
		if l.rule {
			rows = append(rows, "\\addlinespace")
		}
		if l.heading != "" {
			rows = append(rows, fmt.Sprintf("\\multicolumn{%d}{@{}l}{%s} \\\\", columns, l.heading))
			continue
		}
		rows = append(rows, strings.Join(l.cells, " & ")+" \\\\")
	}
	return rows, formats
}

// workload is a table of the primary metrics of a workload.
func workload(v *model.Report, w model.Workload) string {
	var lines []line
	for _, l := range w.Levels {
		for _, m := range l.Metrics {
			if !m.Primary {
				continue
			}
			scale := model.ScaleFor(m.Reference, m.Unit)
			if math.IsNaN(m.Reference) {
				scale = model.Scale{Factor: 1, Suffix: m.Unit}
			}
			title := heading(m, scale)
			if l.Name != "" {
				title = escape(l.Name) + ": " + title
			}
			lines = append(lines, line{heading: title, rule: len(lines) > 0},
				line{cells: []string{"\\quad " + escape(v.Base.Shown), scaled(m.Reference, scale), "", "", "", ""}})
			for _, c := range m.Ran() {
				cells := []string{"\\quad " + escape(c.Environment.Shown), scaled(c.Median, scale), "", "", "", ""}
				if c.Contrast != nil {
					cells[2], cells[3] = change(model.EstimateText(c.Contrast)), interval(c.Contrast)
					cells[4], cells[5] = escape(model.VerdictWord(c.Contrast)), fmt.Sprint(c.Contrast.N)
				} else {
					cells[4] = model.Missing
				}
				lines = append(lines, line{cells: cells})
			}
		}
	}
	rows, formats := layout(lines, 6, 1, 2)
	return tabular("l"+formats[0]+formats[1]+"rlr", []string{"", "{Median}", "{Change, \\%}", escape(v.Plan.Design.Confidence.String()) + " interval", "Verdict", "$n$"}, rows)
}

// matrix is a table with a row for each primary metric, and the change with its interval
// and verdict in each environment.
func matrix(v *model.Report) string {
	environments := v.Compared()
	if len(environments) == 0 {
		return ""
	}
	head, numeric := []string{"Workload", "Metric"}, []int{}
	for i, e := range environments {
		head = append(head, fmt.Sprintf("\\multicolumn{3}{c}{%s}", escape(e.Shown)))
		numeric = append(numeric, 2+3*i)
	}
	var lines []line
	before := ""
	for _, w := range v.Workloads {
		for _, l := range w.Levels {
			for _, m := range l.Metrics {
				if !m.Primary {
					continue
				}
				name := ""
				if w.Name != before {
					name, before = escape(w.Name), w.Name
				}
				title := escape(m.Name)
				if l.Name != "" {
					title += ", " + escape(l.Name)
				}
				cells := []string{name, title}
				for _, e := range environments {
					c := cellOf(m, e.Name)
					if c == nil || c.Contrast == nil {
						cells = append(cells, "{"+model.Missing+"}", "", "")
						continue
					}
					cells = append(cells, change(model.EstimateText(c.Contrast)), interval(c.Contrast), escape(short(model.VerdictWord(c.Contrast))))
				}
				lines = append(lines, line{cells: cells})
			}
		}
	}
	if len(lines) == 0 {
		return ""
	}
	rows, formats := layout(lines, len(head), numeric...)
	columns := "ll"
	for _, f := range formats {
		columns += f + "rl"
	}
	sub := []string{"", ""}
	for range environments {
		sub = append(sub, "{\\%}", "interval", "")
	}
	rules := ""
	for i := range environments {
		rules += fmt.Sprintf("\\cmidrule(lr){%d-%d}", 3+3*i, 5+3*i)
	}
	head[len(head)-1] += " \\\\\n" + rules + "\n" + strings.Join(sub, " & ")
	return tabular(columns, head, rows)
}

// short is a verdict where space is scarce.
func short(word string) string {
	if word == "inconclusive" {
		return "inconcl."
	}
	return strings.Replace(word, "no verdict", "none", 1)
}

func cellOf(m model.Metric, environment string) *model.Cell {
	for i := range m.Cells {
		if m.Cells[i].Environment.Name == environment {
			return &m.Cells[i]
		}
	}
	return nil
}

// environments is a table of what ran.
func environments(v *model.Report) string {
	var rows []string
	for _, e := range v.Environments {
		if e.Rung {
			continue
		}
		about := model.Versions(e.Facts.Versions)
		if words := e.UnusualOptions(); words != "" {
			about = strings.Trim(about+"; "+words, "; ")
		}
		if !e.Ran() {
			about = "did not run on this machine"
		}
		rows = append(rows, fmt.Sprintf("%s & %s & %s \\\\", escape(e.Shown), escape(e.Kind), running(about)))
	}
	return tabular("ll>{\\raggedright\\arraybackslash}p{0.62\\columnwidth}", []string{"Environment", "Kind", "Versions and options"}, rows)
}

// parts is a table of the ladders of the primary metrics.
func parts(v *model.Report) string {
	var lines []line
	for _, a := range v.MainAttributions() {
		if !a.Primary {
			continue
		}
		lines = append(lines, line{heading: escape(model.WhyHeading(a)), rule: len(lines) > 0})
		for _, s := range model.WhyRows(a) {
			c, name, share := s.Contrast, s.Name, ""
			if s.Part == "" {
				name = "total: " + v.ShownName(a.To)
			} else if s.Of != nil {
				share = escape(analysis.Percent(*s.Of))
			}
			lines = append(lines, line{cells: []string{"\\hangindent=1em " + escape(name), change(model.EstimateText(&c)), interval(&c), escape(model.VerdictWord(&c)), share}})
		}
	}
	if len(lines) == 0 {
		return ""
	}
	rows, formats := layout(lines, 5, 1)
	return tabular(">{\\raggedright\\arraybackslash}p{0.27\\columnwidth}"+formats[0]+"rlr", []string{"Part", "{Change, \\%}", escape(v.Plan.Design.Confidence.String()) + " interval", "Verdict", "Share"}, rows)
}
