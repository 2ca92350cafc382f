package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// TerminalOptions say what the terminal can show.
type TerminalOptions struct {
	Width  int  // columns; 0 means 80
	Colour bool // beside the words, never instead of them
	All    bool // every metric, not only the primary ones and what operations cost
}

// Terminal writes the verdicts as tables, a workload at one level each, and
// after them what was skipped, what failed and what was remarked.
func Terminal(w io.Writer, in Input, o TerminalOptions) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	v := newView(in)
	t := &terminal{TerminalOptions: o}
	t.wrap(0, t.paint(bold, v.Plan.Study)+"  "+v.Manifest.Run)
	t.wrap(0, v.overview())
	for _, wv := range v.Workloads {
		for _, l := range wv.Levels {
			t.level(v, wv, l)
			t.costs(v.costs(wv, []levelView{l}, false))
		}
	}
	t.costless(v)
	t.fair(v)
	t.why(v)
	t.kernel(briefly(v.Kernel(), o.All))
	t.sheet(v.Sheet())
	t.against(v)
	t.within(v.WithinRows())
	t.growths(v.Growths())
	t.copies(v.CopiesRows())
	t.paths(v.Ways())
	t.imported(v)
	t.skipped(v)
	t.failures("Failed trials", v.Failed)
	t.failures("Skipped trials", v.Known)
	t.notes(v)
	_, err := io.WriteString(w, t.String())
	return err
}

type terminal struct {
	TerminalOptions
	strings.Builder
}

// The few renditions that the tables use.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (t *terminal) paint(code, text string) string {
	if !t.Colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (t *terminal) verdict(word string) string {
	code := map[string]string{"slower": red, "faster": cyan, "equivalent": green, "inconclusive": yellow}[word]
	if code == "" {
		return word
	}
	return t.paint(code, word)
}

// level prints one table: below each metric's name the environments.
func (t *terminal) level(v *view, w workloadView, l levelView) {
	var rows [][]string
	headings := map[int]string{}
	for _, m := range l.Metrics {
		if !t.All && !m.Primary && !m.Companion {
			continue
		}
		headings[len(rows)] = m.heading()
		rows = append(rows, []string{v.Base.Shown, brief(m.Reference, m.Unit), t.paint(dim, "baseline"), "", "", ""})
		for _, c := range m.Cells {
			if !c.Environment.Ran() {
				continue // listed once, with its mend
			}
			rows = append(rows, t.row(c, m))
			if c.Contrast != nil && remark(c.Contrast) != "" {
				rows = append(rows, []string{"", remark(c.Contrast)})
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	title := place(w.Name, l.Name)
	fmt.Fprintf(t, "\n%s\n", t.paint(bold, title))
	widths := t.widths(rows)
	for i, r := range rows {
		if h, ok := headings[i]; ok {
			t.wrap(2, t.paint(dim, h))
		}
		t.line(r, widths)
	}
}

func (t *terminal) row(c cell, m metricView) []string {
	name := c.Environment.Shown
	if c.Contrast == nil {
		return []string{name, missing, c.Reason}
	}
	k := c.Contrast
	return []string{name, brief(c.Median, m.Unit), change(middle(k)), ends(k), t.verdict(word(k)) + markOf(k), counts(k)}
}

// widths fits the columns into the terminal: where they are too many, the last
// but the verdict go first.
func (t *terminal) widths(rows [][]string) []int {
	widths := make([]int, 6)
	for _, r := range rows {
		if len(r) < len(widths) {
			continue
		}
		for i, text := range r {
			widths[i] = max(widths[i], ansi.StringWidth(text))
		}
	}
	for _, r := range rows { // names of rows that have but a reason
		widths[0] = max(widths[0], ansi.StringWidth(r[0]))
	}
	for _, drop := range []int{5, 1, 3} {
		total := 2
		for _, n := range widths {
			if n > 0 {
				total += n + 2
			}
		}
		if total <= t.Width+2 {
			break
		}
		widths[drop] = 0
	}
	return widths
}

func (t *terminal) line(r []string, widths []int) {
	if len(r) < len(widths) {
		t.wrap(2, r[0]+strings.Repeat(" ", max(0, widths[0]-ansi.StringWidth(r[0])))+"  "+strings.Join(r[1:], ", "))
		return
	}
	var line strings.Builder
	for i, text := range r {
		if widths[i] == 0 {
			continue
		}
		pad := strings.Repeat(" ", max(0, widths[i]-ansi.StringWidth(text)))
		line.WriteString("  ")
		if i == 1 || i == 2 {
			line.WriteString(pad + text)
		} else {
			line.WriteString(text + pad)
		}
	}
	t.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

func (t *terminal) skipped(v *view) {
	if len(v.Skipped) == 0 {
		return
	}
	fmt.Fprintf(t, "\n%s\n", t.paint(bold, "Skipped environments"))
	for _, s := range v.Skipped {
		t.wrap(2, s.Environment.Shown)
		for _, f := range s.Findings {
			t.wrap(4, "needs "+f.What+": "+f.Reason)
			if f.Fix != "" {
				t.wrap(4, "mend: "+f.Fix)
			}
		}
	}
}

func (t *terminal) failures(title string, list []failure) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(t, "\n%s\n", t.paint(bold, title))
	for _, f := range list {
		t.wrap(2, fmt.Sprintf("%d × %s, %s: %s", len(f.Blocks), f.Shown, place(f.Workload, f.Level), f.Reason))
	}
}

func (t *terminal) notes(v *view) {
	var cautions []note
	for _, h := range v.headlines() {
		if h.Caution != "" {
			cautions = append(cautions, note{Environment: h.Environment, Text: h.Caution})
		}
	}
	all := slices.Concat(cautions, v.Notes, v.unquiet())
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(t, "\n%s\n", t.paint(bold, "Notes"))
	for _, n := range all {
		t.wrap(2, n.String())
	}
}

// wrap prints text in lines that fit, indented; what continues is indented
// further.
func (t *terminal) wrap(indent int, text string) {
	room := max(20, t.Width-indent-2)
	for i, line := range Wrap(text, room) {
		if i > 0 {
			t.WriteString("  ")
		}
		t.WriteString(strings.Repeat(" ", indent) + line + "\n")
	}
}
