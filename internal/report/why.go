package report

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/attribution/analysis"
	"tare/internal/cost"
	"tare/internal/verdict"
)

const whyTitle = "Why"

// apart takes the comparisons of single steps out of the contrasts, so that what
// is left compares whole environments, and makes the attributions of them.
func (v *view) apart() {
	v.Why = analysis.Of(v.Plan, v.Trials, v.Contrasts, analysis.Seen{Parity: v.Parity, Traced: v.Traced})
	if len(v.Plan.Steps) > 0 {
		v.Contrasts = slices.DeleteFunc(slices.Clone(v.Contrasts), func(c contrast) bool { return c.Part != "" })
	}
}

// Compared says whether the environment is compared with the baseline, as one
// that worked.
func (e environmentView) Compared() bool { return !e.Baseline && !e.Rung && e.Ran() }

// whyShown are the attributions that a reader sees first: by what the workload
// is judged by, and the CPU time of operations.
func (v *view) whyShown() []analysis.Attribution {
	return slices.DeleteFunc(slices.Clone(v.Why), func(a analysis.Attribution) bool {
		return !a.Primary && a.Metric != cost.CPU && a.Metric != companion
	})
}

// whyHeading names what an attribution is about.
func whyHeading(a analysis.Attribution) string {
	return place(a.Workload, a.Level) + ": " + a.Title() + ", " + a.Better + " is better"
}

// whyLead says how the parts were found, and what their intervals promise.
func (v *view) whyLead(a analysis.Attribution) string {
	text := fmt.Sprintf("From %s to %s, ", v.shown(a.From), v.shown(a.To))
	if a.Orders > 1 {
		text += fmt.Sprintf("each part switched on in %d orders of the parts, of which this is the mean", a.Orders)
	} else {
		text += "one part switched on after another"
	}
	parts := fmt.Sprintf("all %d parts", len(a.Parts))
	switch len(a.Parts) {
	case 1:
		return text + "."
	case 2:
		parts = "both parts"
	}
	return text + fmt.Sprintf("; the %s intervals hold for %s at once, that of the whole stands by itself.", v.Plan.Design.Confidence, parts)
}

// shareWord is the verdict on a part; for one that counts, its share of the whole.
func shareWord(s analysis.Share) string {
	text := word(&s.Contrast)
	if s.Material && s.Of != nil && s.Part != "" {
		text += ", " + analysis.Percent(*s.Of)
	}
	return text
}

// overOrders is the range of what the single orders say; "" where there is one.
func overOrders(s analysis.Share) string {
	if s.Least == nil || s.Most == nil {
		return ""
	}
	return change(*s.Least) + " … " + change(*s.Most)
}

// fall is the scale of a waterfall: all that any bar of it reaches.
type fall struct{ least, most float64 }

// With whiskers it has room for the intervals as well.
func newFall(a analysis.Attribution, whiskers bool) fall {
	var f fall
	reach := func(x float64) {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			f.least, f.most = math.Min(f.least, x), math.Max(f.most, x)
		}
	}
	for _, s := range append(slices.Clone(a.Parts), a.Total) {
		reach(s.Before + s.Contrast.Estimate)
		if whiskers && s.Contrast.Bounded() {
			reach(s.Before + s.Contrast.Low)
			reach(s.Before + s.Contrast.High)
		}
	}
	if f.least == f.most {
		f.most = f.least + 1
	}
	return f
}

// at is where a log ratio lies, from 0 to 1.
func (f fall) at(x float64) float64 { return (x - f.least) / (f.most - f.least) }

// bar is a part in so many columns of text: from where the parts before it end
// to where it does. What is not material is drawn lightly.
func (f fall) bar(s analysis.Share, columns int) string {
	if math.IsNaN(s.Contrast.Estimate) {
		return ""
	}
	from, to := f.at(s.Before), f.at(s.Before+s.Contrast.Estimate)
	first := min(columns-1, int(math.Floor(math.Min(from, to)*float64(columns))))
	last := max(first+1, int(math.Round(math.Max(from, to)*float64(columns))))
	mark := "░"
	if s.Material {
		mark = "█"
	}
	return strings.Repeat(" ", first) + strings.Repeat(mark, last-first)
}

// Why writes for the terminal where the difference between the ends of a run over
// a ladder comes from, and beside it what the kernel counted at both.
func Why(w io.Writer, in Input, o TerminalOptions) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	t := &terminal{TerminalOptions: o}
	v := newView(in)
	t.why(v)
	t.fair(v)
	t.kernel(v.Kernel())
	t.failures("Failed trials", v.Failed)
	_, err := io.WriteString(w, strings.TrimPrefix(t.String(), "\n"))
	return err
}

func (t *terminal) why(v *view) {
	list := v.whyShown()
	if t.All {
		list = v.Why
	}
	for i, a := range list {
		fmt.Fprintf(t, "\n%s\n", t.paint(bold, whyTitle+": "+whyHeading(a)))
		if i == 0 {
			t.wrap(2, v.whyLead(a))
		}
		t.waterfall(v, a)
		for _, s := range v.findings(a) {
			t.wrap(2, s)
		}
	}
	if len(list) > 0 {
		for _, r := range v.Plan.Remarks {
			t.wrap(2, "Mind: "+r)
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
func (t *terminal) waterfall(v *view, a analysis.Attribution) {
	c := &a.Total.Contrast
	lines := rows(a)
	heads := v.whyHeads()
	last := heads.Verdict
	if a.Orders > 1 {
		last = heads.Spread
	}
	table := [][]string{{heads.Part, heads.Change, heads.Interval, last}, {v.shown(a.From), end(c.Base, nounless(a.Unit)), "", ""}}
	for _, s := range lines {
		name := "+ " + s.Name
		if s.Part == "" {
			name = "= together"
		}
		words := t.verdict(word(&s.Contrast)) + strings.TrimPrefix(shareWord(s), word(&s.Contrast))
		if a.Orders > 1 && !nothing(s) {
			words = overOrders(s)
		}
		table = append(table, []string{name, change(middle(&s.Contrast)), ends(&s.Contrast), words})
	}
	table = append(table, []string{v.shown(a.To), end(c.Values, nounless(a.Unit)), "", ""})
	widths := make([]int, 4)
	for _, r := range table {
		for i, text := range r {
			widths[i] = max(widths[i], ansi.StringWidth(text))
		}
	}
	others := 2 + widths[1] + widths[2] + widths[3] + 4 // and the blanks between
	widths[0] = min(widths[0], mostName, max(leastName, t.Width-others-leastBar))
	f, bar := newFall(a, false), min(t.Width/4, t.Width-others-widths[0])
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
			line += f.bar(lines[part], bar)
		}
		line = strings.TrimRight(line, " ")
		if n == 0 {
			line = t.paint(dim, line)
		}
		fmt.Fprintln(t, line)
	}
}

func markdownWhy(b *strings.Builder, v *view) {
	for i, a := range v.whyShown() {
		fmt.Fprintf(b, "\n## %s: %s\n\n", whyTitle, escape(whyHeading(a)))
		if i == 0 {
			fmt.Fprintf(b, "%s\n\n", escape(v.whyLead(a)))
		}
		h := v.whyHeads()
		heads, rule := []string{h.Part, h.Change, h.Interval, h.Verdict, "blocks"}, "|---|---:|---|---|---:"
		if a.Orders > 1 {
			heads, rule = append(heads, h.Spread), rule+"|---"
		}
		fmt.Fprintf(b, "| %s |\n%s|\n", strings.Join(heads, " | "), rule)
		one := func(name string, side verdict.Side) {
			fmt.Fprintf(b, "| %s | %s |%s\n", escape(v.shown(name)), end(side, a.Unit), strings.Repeat(" |", len(heads)-2))
		}
		one(a.From, a.Total.Contrast.Base)
		for _, s := range rows(a) {
			name := escape(s.Name)
			if s.Part == "" {
				name = "**together**"
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %d", name, change(middle(&s.Contrast)), escape(ends(&s.Contrast)), shareWord(s), s.Contrast.N)
			if a.Orders > 1 {
				fmt.Fprintf(b, " | %s", overOrders(s))
			}
			b.WriteString(" |\n")
		}
		one(a.To, a.Total.Contrast.Values)
		b.WriteString("\n")
		for _, s := range v.findings(a) {
			fmt.Fprintf(b, "- %s\n", escape(s))
		}
	}
	if len(v.Why) > 0 && len(v.Plan.Remarks) > 0 {
		b.WriteString("\n")
		for _, r := range v.Plan.Remarks {
			fmt.Fprintf(b, "- Mind: %s\n", escape(r))
		}
	}
}

// whyTable is an attribution as the page shows it.
type whyTable struct {
	Heading, Lead, From, Reference string
	Heads                          whyHeads
	Rows                           []whyRow
	Sentences                      []string
	HasOrders, Shown               bool
}

type whyRow struct {
	Name, About, Change, Ends, Word, Verdict, Share, Orders string
	Total                                                   bool
	N                                                       int
	Bar                                                     template.HTML
}

// WhyTables of the metrics that come first; the others are folded away.
func (v *view) WhyTables() (tables []whyTable) {
	shown := v.whyShown()
	for _, a := range v.Why {
		t := whyTable{Heading: whyHeading(a), Lead: v.whyLead(a), Heads: v.whyHeads(), From: v.shown(a.From), Reference: end(a.Total.Contrast.Base, a.Unit), HasOrders: a.Orders > 1}
		t.Shown = slices.ContainsFunc(shown, func(s analysis.Attribution) bool {
			return s.Workload == a.Workload && s.Level == a.Level && s.Metric == a.Metric
		})
		f := newFall(a, true)
		for _, s := range rows(a) {
			c := s.Contrast
			r := whyRow{Name: s.Name, About: s.About, Change: typeset(change(middle(&c))), Ends: typeset(ends(&c)), Word: word(&c), Verdict: string(c.Verdict), N: c.N,
				Orders: typeset(overOrders(s)), Bar: f.draw(s), Total: s.Part == ""}
			if r.Total {
				r.Name = v.endName(a)
			} else if s.Of != nil {
				r.Share = typeset(analysis.Percent(*s.Of))
			}
			t.Rows = append(t.Rows, r)
		}
		if !slices.ContainsFunc(t.Rows, func(r whyRow) bool { return r.Total }) {
			t.Rows = append(t.Rows, whyRow{Name: v.endName(a), Total: true})
		}
		for _, s := range v.findings(a) {
			t.Sentences = append(t.Sentences, typeset(s))
		}
		tables = append(tables, t)
	}
	return tables
}

// endName is what the page's last row is called: the end, with its figure.
func (v *view) endName(a analysis.Attribution) string {
	return v.shown(a.To) + ", " + typeset(end(a.Total.Contrast.Values, a.Unit))
}

// draw is a part as a bar of the waterfall, with its interval as a whisker.
func (f fall) draw(s analysis.Share) template.HTML {
	c := s.Contrast
	if math.IsNaN(c.Estimate) {
		return ""
	}
	at := func(x float64) float64 { return 2 + 96*math.Max(0, math.Min(1, f.at(x))) }
	text := func(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) + "%" }
	from, to := at(s.Before), at(s.Before+c.Estimate)
	class := template.HTMLEscapeString(string(c.Verdict))
	if !s.Material && s.Part != "" {
		class += " light"
	}
	whisker := ""
	if c.Bounded() {
		whisker = fmt.Sprintf(`<line x1="%s" x2="%s" y1="7" y2="7"/>`, text(at(s.Before+c.Low)), text(at(s.Before+c.High)))
	}
	return template.HTML(fmt.Sprintf(`<svg class="fall" aria-hidden="true"><line class="zero" x1="%s" x2="%s" y1="0" y2="14"/><rect class="%s" x="%s" width="%s" y="2" height="10"/>%s</svg>`,
		text(at(0)), text(at(0)), class, text(math.Min(from, to)), text(math.Max(.4, math.Abs(to-from))), whisker))
}

// FoldedWhy are the tables of the metrics that do not come first.
func (v *view) FoldedWhy() []whyTable {
	return slices.DeleteFunc(v.WhyTables(), func(t whyTable) bool { return t.Shown })
}
