package html

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"

	"tare/internal/attribution/analysis"
	"tare/internal/report/model"
)

// whyTable is an attribution as the page shows it.
type whyTable struct {
	Heading, Lead, From, Reference string
	Heads                          model.WhyColumns
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
func (p *page) WhyTables() (tables []whyTable) {
	shown := p.MainAttributions()
	for _, a := range p.Why {
		t := whyTable{Heading: model.WhyHeading(a), Lead: p.WhyLead(a), Heads: p.WhyColumns(), From: p.ShownName(a.From), Reference: model.SideFigure(a.Total.Contrast.Base, a.Unit), HasOrders: a.Orders > 1}
		t.Shown = slices.ContainsFunc(shown, func(s analysis.Attribution) bool {
			return s.Workload == a.Workload && s.Level == a.Level && s.Metric == a.Metric
		})
		f := model.NewFall(a, true)
		for _, s := range model.WhyRows(a) {
			c := s.Contrast
			r := whyRow{Name: s.Name, About: s.About, Change: typeset(model.EstimateText(&c)), Ends: typeset(model.IntervalText(&c)), Word: model.VerdictWord(&c), Verdict: string(c.Verdict), N: c.N,
				Orders: typeset(model.OrderSpread(s)), Bar: waterfallBar(f, s), Total: s.Part == ""}
			if r.Total {
				r.Name = p.endName(a)
			} else if s.Of != nil {
				r.Share = typeset(analysis.Percent(*s.Of))
			}
			t.Rows = append(t.Rows, r)
		}
		if !slices.ContainsFunc(t.Rows, func(r whyRow) bool { return r.Total }) {
			t.Rows = append(t.Rows, whyRow{Name: p.endName(a), Total: true})
		}
		for _, s := range p.WhySentences(a) {
			t.Sentences = append(t.Sentences, typeset(s))
		}
		tables = append(tables, t)
	}
	return tables
}

// endName is what the page's last row is called: the end, with its figure.
func (p *page) endName(a analysis.Attribution) string {
	return p.ShownName(a.To) + ", " + typeset(model.SideFigure(a.Total.Contrast.Values, a.Unit))
}

// waterfallBar is a part as a bar of the waterfall, with its interval as a whisker.
func waterfallBar(f model.Waterfall, s analysis.Share) template.HTML {
	c := s.Contrast
	if math.IsNaN(c.Estimate) {
		return ""
	}
	at := func(x float64) float64 { return 2 + 96*math.Max(0, math.Min(1, f.At(x))) }
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
func (p *page) FoldedWhy() []whyTable {
	return slices.DeleteFunc(p.WhyTables(), func(t whyTable) bool { return t.Shown })
}
