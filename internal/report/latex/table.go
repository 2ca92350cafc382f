package latex

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/report/section"
)

// Widths in points, of tables in the size of footnotes. They are estimates, by which a
// table is laid out for a page of Letter or A4 with two columns; the font is the paper's.
const (
	columnWidth = 246.0
	pageWidth   = 535.0 // in Times, which is narrower and which most such pages have, 508
	letter      = 4.25
	separator   = 6.0 // between columns
	leastName   = 9 * letter
	mostName    = 22 * letter // beside the environments of a matrix
)

// dagger is the mark of a comparison that a confound affects.
const dagger = "$^\\dagger$"

// matrix is the verdicts, with as many environments beside each other as the page has room
// for. The others follow below.
func matrix(v *model.Report) string {
	var tables []string
	for all := v.Compared(); len(all) > 0; {
		n := len(all)
		for ; n > 1; n-- {
			wide := 0.0
			for _, c := range columnsOf(section.Matrix(v, all[:n]), math.Inf(1)) {
				if wide += separator + c.width; c.Key {
					wide -= math.Max(0, c.width-mostName)
				}
			}
			if wide <= pageWidth {
				break
			}
		}
		if table := tabular(section.Matrix(v, all[:n]), pageWidth); table != "" {
			tables = append(tables, table)
		}
		all = all[n:]
	}
	return strings.Join(tables, "\\par\\medskip\n")
}

// tabular is a table within a width, "" without rows: in a group, so that its settings end
// with it.
func tabular(t *section.Table, room float64) string {
	if len(t.Rows) == 0 {
		return ""
	}
	columns := columnsOf(t, room)
	across := func(text string) string {
		form := "l"
		if width(text) > room {
			form = ">{\\raggedright\\arraybackslash}p{\\linewidth}"
		}
		return fmt.Sprintf("\\multicolumn{%d}{@{}%s@{}}{%s} \\\\", len(columns), form, text)
	}
	rows, group := heads(columns), ""
	for k, r := range t.Rows {
		if r.Group != group {
			if group != "" {
				rows = append(rows, "\\addlinespace")
			}
			rows, group = append(rows, across(running(r.Group))), r.Group
		}
		if name := &columns[0].cells[k]; r.Group != "" && width(*name) > columns[0].width {
			rows, *name = append(rows, across(*name)), "" // in a line of its own
		}
		rows = append(rows, joined(lists.Map(columns, func(c column) string { return c.cells[k] })))
	}
	if strings.Contains(strings.Join(rows, ""), dagger) {
		rows = append(rows, "\\addlinespace", across(dagger+" something besides the layer differs"))
	}
	forms := strings.Join(lists.Map(columns, func(c column) string { return c.form }), "")
	return "{\\footnotesize\\setlength{\\tabcolsep}{3pt}%\n\\sisetup{retain-explicit-plus}%\n\\begin{tabular}{@{}" + forms + "@{}}\n\\toprule\n" + strings.Join(rows, "\n") + "\n\\bottomrule\n\\end{tabular}}%\n"
}

func joined(cells []string) string { return strings.Join(cells, " & ") + " \\\\" }

// heads of the columns, below those that neighbours share.
func heads(columns []column) []string {
	var above []string
	rules := ""
	for i := 0; i < len(columns); i++ {
		over, from := columns[i].Over, i+1
		for over != "" && i+1 < len(columns) && columns[i+1].Over == over {
			i++
		}
		if over == "" {
			above = append(above, "")
			continue
		}
		above = append(above, fmt.Sprintf("\\multicolumn{%d}{c}{%s}", i-from+2, escape(over)))
		rules += fmt.Sprintf("\\cmidrule(lr){%d-%d}", from, i+1)
	}
	below := []string{joined(lists.Map(columns, func(c column) string { return c.head })), "\\midrule"}
	if rules == "" {
		return below
	}
	return append([]string{joined(above), rules}, below...)
}

// column is one as LaTeX, with a cell for each row.
type column struct {
	section.Column
	head, form string
	cells      []string
	width      float64
}

// columnsOf are the columns of a table. Where it is too wide, names and prose are no wider
// than their share.
func columnsOf(t *section.Table, room float64) (columns []column) {
	rest := room + separator
	var flexible []int
	together := 0.0 // the width of the columns below one head
	for i, c := range t.Columns {
		columns = append(columns, columnOf(t, i, 0, room))
		if together += separator + columns[i].width; i == 0 || c.Over != t.Columns[i-1].Over {
			together = columns[i].width
		}
		if c.Over != "" && (i == len(t.Columns)-1 || c.Over != t.Columns[i+1].Over) {
			columns[i].width += math.Max(0, width(escape(c.Over))-together)
		}
		if rest -= separator; c.Key || c.Class == "prose" {
			flexible = append(flexible, i)
		} else {
			rest -= columns[i].width
		}
	}
	slices.SortFunc(flexible, func(a, b int) int { return cmp.Compare(columns[a].width, columns[b].width) })
	for n, i := range flexible {
		share := rest / float64(len(flexible)-n)
		rest -= math.Min(columns[i].width, share)
		if columns[i].width > share {
			columns[i] = columnOf(t, i, math.Max(share-2*separator, leastName), room) // the widths are estimates
		}
	}
	return columns
}

// columnOf is a column in lines of a width; 0 is one line. Below a heading, a name that is
// wider is not in the column.
func columnOf(t *section.Table, i int, limit, room float64) column {
	c := column{Column: t.Columns[i], form: "l"}
	percent, before := false, ""
	for _, r := range t.Rows {
		cell, text, marked := "", "", false
		if i < len(r.Cells) {
			text, marked = r.Cells[i].Plain(0), slices.ContainsFunc(r.Cells[i], func(t section.Text) bool { return t.Style == section.Mark })
		}
		bare := text
		if marked {
			bare = strings.TrimSuffix(text, model.Mark)
		}
		switch {
		case c.Number:
			bare, percent = strings.TrimSuffix(bare, "%"), percent || strings.HasSuffix(bare, "%")
			cell = number(bare)
		case c.Class == "ends":
			cell = interval(bare)
		case c.Over != "":
			cell = escape(shorter.Replace(bare))
		case limit > 0 && r.Group == "":
			cell = written(bare, int(limit/letter)-2)
		default:
			cell = escape(bare)
		}
		switch {
		case marked:
			cell += dagger
		case i == 0 && text == before && t.Columns[1].Key:
			cell = "" // as above
		case i == 0 && r.Group != "":
			cell = "\\quad " + cell
		}
		before = text
		c.cells = append(c.cells, cell)
		c.width = math.Max(c.width, width(cell))
	}
	c.head = escape(c.Head)
	switch {
	case limit > 0 && t.Rows[0].Group != "":
		c.width = limit
		return c
	case limit > 0:
		c.width, c.form = limit, fmt.Sprintf(">{\\raggedright\\arraybackslash\\hangindent=1em }p{%.3f\\linewidth}", limit/room)
	case c.Class == "ends":
		c.form = "r"
	case c.Number:
		if c.form = numbers(c.cells); percent && c.Over == "" {
			c.head += ", \\%"
		}
		c.head = "{" + c.head + "}"
	}
	c.width = math.Max(c.width, width(c.head))
	return c
}

// shorter are verdicts where space is scarce.
var shorter = strings.NewReplacer("inconclusive", "inconcl.", "no verdict", "none")

// unprinted are commands that print nothing, or one character that follows.
var unprinted = strings.NewReplacer(`\allowbreak{}`, "", `\quad `, "nn", `\num`, "", `\textbackslash`, "b", `\ifdefined\Umathcode`, "", `$\times$`, "+", dagger, "i", "{", "", "}", "", `\`, "", "$", "")

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

// number is a cell of an S column: what is no number is in braces.
func number(text string) string {
	bare := strings.TrimLeft(text, "+-")
	if text == "" || bare != "" && strings.Trim(bare, "0123456789.") == "" && strings.Count(bare, ".") <= 1 {
		return text
	}
	return "{" + escape(text) + "}"
}

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

var percentage = regexp.MustCompile(`[+-]?[0-9.]+%`)

// interval is one in per cent or as factors; without a sign for the unit.
func interval(text string) (out string) {
	last := 0
	for _, at := range percentage.FindAllStringIndex(text, -1) {
		out += escape(text[last:at[0]]) + "\\num{" + text[at[0]:at[1]-1] + "}"
		last = at[1]
	}
	return out + escape(text[last:])
}
