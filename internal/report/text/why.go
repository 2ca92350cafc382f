package text

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/attribution/analysis"
	"tare/internal/report/model"
)

// waterfallBar is a part in so many columns of text: from where the parts before it end
// to where it does. What is not material is drawn lightly.
func waterfallBar(f model.Waterfall, s analysis.Share, columns int) string {
	if math.IsNaN(s.Contrast.Estimate) {
		return ""
	}
	from, to := f.At(s.Before), f.At(s.Before+s.Contrast.Estimate)
	first := min(columns-1, int(math.Floor(math.Min(from, to)*float64(columns))))
	last := max(first+1, int(math.Round(math.Max(from, to)*float64(columns))))
	mark := "░"
	if s.Material {
		mark = "█"
	}
	return strings.Repeat(" ", first) + strings.Repeat(mark, last-first)
}

// WriteWhy writes the attribution of a run over a ladder, and what the kernel counted
// at both ends.
func WriteWhy(w io.Writer, in model.Input, o model.Options) error {
	t := newTerminal(o)
	v := model.New(in)
	t.why(v)
	t.fair(v)
	t.kernel(v.Kernel())
	t.failures("Failed trials", v.Failed)
	_, err := io.WriteString(w, strings.TrimPrefix(t.String(), "\n"))
	return err
}

func (t *terminal) why(v *model.Report) {
	list := v.MainAttributions()
	if t.All {
		list = v.Why
	}
	for i, a := range list {
		t.heading(model.WhyTitle + ": " + model.WhyHeading(a))
		if i == 0 {
			t.wrap(2, v.WhyLead(a))
		}
		t.waterfall(v, a)
		for _, s := range v.WhySentences(a) {
			t.wrap(2, s)
		}
	}
	if len(list) > 0 {
		for _, r := range v.Plan.Remarks {
			t.wrap(2, "note: "+r)
		}
	}
}

// The widths of the waterfall's columns: a name is cut before a bar gets too
// narrow to be read.
const (
	leastName, mostName = 18, 32
	leastBar            = 12
)

// waterfall is the table: the figure of one end, the parts, what they come to
// together, and the figure of the other end.
func (t *terminal) waterfall(v *model.Report, a analysis.Attribution) {
	c := &a.Total.Contrast
	lines := model.WhyRows(a)
	heads := v.WhyColumns()
	last := heads.Verdict
	if a.Orders > 1 {
		last = heads.Spread
	}
	table := [][]string{{heads.Part, heads.Change, heads.Interval, last}, {v.ShownName(a.From), model.SideFigure(c.Base, model.ShortUnit(a.Unit)), "", ""}}
	for _, s := range lines {
		name := "+ " + s.Name
		if s.Part == "" {
			name = "= total"
		}
		words := t.verdict(model.VerdictWord(&s.Contrast)) + strings.TrimPrefix(model.ShareWord(s), model.VerdictWord(&s.Contrast))
		if a.Orders > 1 && !model.WithoutBlocks(s) {
			words = model.OrderSpread(s)
		}
		table = append(table, []string{name, model.EstimateText(&s.Contrast), model.IntervalText(&s.Contrast), words})
	}
	table = append(table, []string{v.ShownName(a.To), model.SideFigure(c.Values, model.ShortUnit(a.Unit)), "", ""})
	widths := make([]int, 4)
	for _, r := range table {
		for i, text := range r {
			widths[i] = max(widths[i], ansi.StringWidth(text))
		}
	}
	others := 2 + widths[1] + widths[2] + widths[3] + 4 // and the blanks between
	widths[0] = min(widths[0], mostName, max(leastName, t.Width-others-leastBar))
	f, bar := model.NewFall(a), min(t.Width/4, t.Width-others-widths[0])
	for n, r := range table {
		r[0] = ansi.Truncate(r[0], widths[0], "…")
		line := "  "
		for i, text := range r {
			pad := strings.Repeat(" ", max(0, widths[i]-ansi.StringWidth(text)))
			if i == 1 {
				line += pad + text + " "
			} else {
				line += text + pad + " "
			}
		}
		if part := n - 2; bar >= leastBar/2 && 0 <= part && part < len(lines) {
			line += waterfallBar(f, lines[part], bar)
		}
		line = strings.TrimRight(line, " ")
		if n == 0 {
			line = t.paint(dim, line)
		}
		fmt.Fprintln(t, line)
	}
}
