package latex

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/attribution/analysis"
	"tare/internal/report/model"
	"tare/internal/verdict"
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
		formats = append(formats, numbers(cellsOf(lines, i)))
	}
	for _, l := range lines {
		if l.rule {
			rows = append(rows, "\\addlinespace")
		}
		if l.heading != "" {
			rows = append(rows, across(columns, l.heading))
			continue
		}
		rows = append(rows, strings.Join(l.cells, " & ")+" \\\\")
	}
	return rows, formats
}

// cellsOf are the cells of a column that are not empty.
func cellsOf(lines []line, column int) (cells []string) {
	for _, l := range lines {
		if l.heading == "" && l.cells[column] != "" {
			cells = append(cells, l.cells[column])
		}
	}
	return cells
}

// across is a text over all columns. One that is wider than the page's column is set in
// lines.
func across(columns int, text string) string {
	form := "l"
	if width(text) > columnWidth {
		form = ">{\\raggedright\\arraybackslash}p{\\columnwidth}"
	}
	return fmt.Sprintf("\\multicolumn{%d}{@{}%s@{}}{%s} \\\\", columns, form, text)
}

// Widths in points, of tables in the size of footnotes. They are estimates, by which a
// table is laid out for a page of Letter or A4 with two columns; the font is the paper's.
const (
	columnWidth = 246.0
	pageWidth   = 535.0 // in Times, which is narrower and which most such pages have, 508
	letter      = 4.25
	separator   = 6.0 // between columns
)

// unprinted are commands that print nothing, or one character that follows.
var unprinted = strings.NewReplacer(`\allowbreak{}`, "", `\quad `, "", `\num`, "", `\textbackslash`, "b", `\ifdefined\Umathcode`, "", `$\times$`, "+", `$^\dagger$`, "i", "{", "", "}", "", `\`, "", "$", "")

// width estimates how wide a cell of a table is, by the widths of Computer Modern.
func width(cell string) (w float64) {
	for _, r := range unprinted.Replace(cell) {
		switch {
		case strings.ContainsRune("+-", r): // signs of numbers
			w += 6.6
		case strings.ContainsRune("mwMW%&@", r):
			w += 6.8
		case strings.ContainsRune(" .,:;!'()[]|/fijlrtI", r):
			w += 2.7
		default:
			w += letter
		}
	}
	return w
}

// widest is the width of the widest of cells.
func widest(cells ...string) (w float64) {
	for _, c := range cells {
		w = math.Max(w, width(c))
	}
	return w
}

// workload is a table of the primary metrics of a workload.
func workload(v *model.Report, w model.Workload) string {
	const name, first = 0, "\\quad "
	var lines []line
	marked := false
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
				title = running(l.Name) + ": " + title
			}
			lines = append(lines, line{heading: title, rule: len(lines) > 0},
				line{cells: []string{first + escape(v.Base.Shown), scaled(m.Reference, scale), "", "", "", ""}})
			for _, c := range m.Ran() {
				cells := []string{first + escape(c.Environment.Shown), scaled(c.Median, scale), "", "", "", ""}
				if k := c.Contrast; k != nil {
					cells[2], cells[3] = change(model.EstimateText(k)), interval(k)
					cells[4], cells[5] = escape(model.VerdictWord(k))+mark(k), fmt.Sprint(k.N)
					marked = marked || mark(k) != ""
				} else {
					cells[4] = model.Missing
				}
				lines = append(lines, line{cells: cells})
			}
		}
	}
	head := []string{"", "{Median}", "{Change, \\%}", escape(v.Plan.Design.Confidence.String()) + " interval", "Verdict", "$n$"}
	room := columnWidth - 8.5 // of the indent
	for i := range head {
		if i != name {
			room -= widest(append(cellsOf(lines, i), head[i])...) + separator
		}
	}
	lines = aside(lines, name, math.Max(room, 6*letter))
	if marked {
		lines = append(lines, line{heading: footnote, rule: true})
	}
	rows, formats := layout(lines, len(head), 1, 2)
	return tabular("l"+formats[0]+formats[1]+"rlr", head, rows)
}

// aside sets a name that is wider than its column in a line of its own.
func aside(lines []line, column int, room float64) (all []line) {
	for _, l := range lines {
		if l.heading == "" && width(l.cells[column]) > room {
			all = append(all, line{heading: l.cells[column], rule: l.rule})
			l.cells[column], l.rule = "", false
		}
		all = append(all, l)
	}
	return all
}

// mark is that of a comparison that a confound affects, and footnote explains it.
func mark(c *verdict.Contrast) string {
	if model.ConfoundMark(c) == "" {
		return ""
	}
	return "$^\\dagger$"
}

const footnote = "$^\\dagger$ something besides the layer differs"

// matrix is a table with a row for each primary metric, and the change with its interval
// and verdict in each environment. Environments that have no room beside each other follow
// below.
func matrix(v *model.Report) string {
	environments := v.Compared()
	var names []line // workload and metric
	var metrics []model.Metric
	before := ""
	for _, r := range v.Primary() {
		name := ""
		if r.Workload.Name != before {
			name, before = escape(r.Workload.Name), r.Workload.Name
		}
		title := running(r.Metric.Name)
		if r.Level.Name != "" {
			title += ", " + running(r.Level.Name)
		}
		names, metrics = append(names, line{cells: []string{name, title}}), append(metrics, r.Metric)
	}
	if len(environments) == 0 || len(names) == 0 {
		return ""
	}
	const mostWorkload, mostMetric = 22 * letter, 40 * letter
	first := math.Min(mostWorkload, widest(append(cellsOf(names, 0), "Workload")...))
	second := math.Min(mostMetric, widest(append(cellsOf(names, 1), "Metric")...))
	columns := "ll"
	if second == mostMetric {
		columns = fmt.Sprintf("l>{\\raggedright\\arraybackslash\\hangindent=1em }p{%.3f\\textwidth}", mostMetric/pageWidth)
	}
	var each [][]line // of the cells of an environment
	var wide []float64
	for _, e := range environments {
		cells := make([]line, len(metrics))
		for i, m := range metrics {
			cells[i].cells = []string{"{" + model.Missing + "}", "", ""}
			if c := m.Cell(e.Name); c != nil && c.Contrast != nil {
				k := c.Contrast
				cells[i].cells = []string{change(model.EstimateText(k)), interval(k), escape(short(model.VerdictWord(k))) + mark(k)}
			}
		}
		three := 2 * separator
		for i := range 3 {
			three += widest(cellsOf(cells, i)...)
		}
		each, wide = append(each, cells), append(wide, math.Max(three, width(escape(e.Shown))))
	}
	beside := fitting(wide, pageWidth-first-second-separator)
	formats := make([][]string, beside)
	for i := range each {
		formats[i%beside] = append(formats[i%beside], cellsOf(each[i], 0)...)
	}
	for _, cells := range formats {
		columns += numbers(cells) + "rl"
	}
	var head, rows []string
	for from := 0; from < len(environments); from += beside {
		top, below, rules := []string{"Workload", "Metric"}, []string{"", ""}, ""
		shown := environments[from:min(from+beside, len(environments))]
		var lines []line
		for i, n := range names {
			cells := slices.Clone(n.cells)
			for k := range shown {
				cells = append(cells, each[from+k][i].cells...)
			}
			lines = append(lines, line{cells: cells})
		}
		for i, e := range shown {
			top = append(top, fmt.Sprintf("\\multicolumn{3}{c}{%s}", escape(e.Shown)))
			below = append(below, "{\\%}", "interval", "")
			rules += fmt.Sprintf("\\cmidrule(lr){%d-%d}", 3+3*i, 5+3*i)
		}
		top[len(top)-1] += " \\\\\n" + rules + "\n" + strings.Join(below, " & ")
		some, _ := layout(aside(lines, 0, mostWorkload), 2+3*beside)
		if head == nil {
			head = top
		} else {
			rows = append(rows, "\\midrule", strings.Join(top, " & ")+" \\\\", "\\midrule")
		}
		rows = append(rows, some...)
	}
	if slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, "$^\\dagger$") }) {
		rows = append(rows, "\\addlinespace", across(2+3*beside, footnote))
	}
	return tabular(columns, head, rows)
}

// fitting is how many columns of these widths fit beside each other, if the others are
// set below them.
func fitting(widths []float64, room float64) (beside int) {
	for panels := 1; ; panels++ {
		beside = (len(widths) + panels - 1) / panels
		places := make([]float64, beside)
		for i, w := range widths {
			places[i%beside] = math.Max(places[i%beside], w)
		}
		sum := 0.0
		for _, w := range places {
			sum += w + separator
		}
		if sum <= room || beside == 1 {
			return beside
		}
	}
}

// short is a verdict where space is scarce.
func short(word string) string {
	if word == "inconclusive" {
		return "inconcl."
	}
	return strings.Replace(word, "no verdict", "none", 1)
}

// environments is a table of what ran.
func environments(v *model.Report) string {
	names, kinds, abouts := []string(nil), []string(nil), []string(nil)
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
		names, kinds, abouts = append(names, running(e.Shown)), append(kinds, escape(e.Kind)), append(abouts, running(about))
	}
	const mostName = 20 * letter
	name, first := math.Min(mostName, widest(append(names, "Environment")...)), "l"
	if name == mostName {
		first = fmt.Sprintf(">{\\raggedright\\arraybackslash}p{%.2f\\columnwidth}", mostName/columnWidth)
	}
	head := []string{"Environment", "Kind"}
	columns := first + "l"
	known := slices.ContainsFunc(abouts, func(about string) bool { return about != "" })
	if known { // not so of imported results
		rest := columnWidth - name - widest(append(kinds, "Kind")...) - 3*separator
		head = append(head, "Versions and options")
		columns += fmt.Sprintf(">{\\raggedright\\arraybackslash}p{%.2f\\columnwidth}", math.Min(.62, rest/columnWidth))
	}
	var rows []string
	for i := range names {
		cells := []string{names[i], kinds[i]}
		if known {
			cells = append(cells, abouts[i])
		}
		rows = append(rows, strings.Join(cells, " & ")+" \\\\")
	}
	return tabular(columns, head, rows)
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
