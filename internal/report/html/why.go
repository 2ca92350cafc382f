package html

import (
	"html/template"
	"slices"

	"tare/internal/attribution/analysis"
	"tare/internal/report/figures"
	"tare/internal/report/model"
)

// whyTable is an attribution as the page shows it.
type whyTable struct {
	Heading, Lead, From, Reference string
	Blocks                         string // the anchor of the blocks of its level; "" for none
	Heads                          model.WhyColumns
	Rows                           []whyRow
	Sentences                      []string
	HasOrders, Shown               bool
	Waterfall                      template.HTML
}

type whyRow struct {
	Name, About, Change, Ends, Word, Verdict, Share, Orders string
	Total                                                   bool
	N                                                       int
}

// valued reports whether any block has a value of an attribution on both sides of a step.
func valued(a analysis.Attribution) bool {
	return a.Total.Contrast.N > 0 || slices.ContainsFunc(a.Parts, func(s analysis.Share) bool { return s.Contrast.N > 0 })
}

// WhyTables of the metrics that come first; the others are folded away.
func (p *page) WhyTables() (tables []whyTable) {
	shown := p.MainAttributions()
	for _, a := range p.Why {
		t := whyTable{Heading: model.WhyHeading(a), Lead: p.WhyLead(a), Heads: p.WhyColumns(), From: p.ShownName(a.From), Reference: model.SideFigure(a.Total.Contrast.Base, a.Unit), HasOrders: a.Orders > 1}
		t.Blocks = p.blocksOf(a.Workload, a.Level)
		t.Shown = slices.ContainsFunc(shown, func(s analysis.Attribution) bool {
			return s.Workload == a.Workload && s.Level == a.Level && s.Metric == a.Metric
		})
		switch {
		case valued(a):
			t.Waterfall = template.HTML(figures.Waterfall(p.Report, a)) // its texts are escaped
		case !t.Shown:
			continue
		}
		for _, s := range model.WhyRows(a) {
			c := s.Contrast
			r := whyRow{Name: s.Name, About: s.About, Change: typeset(model.EstimateText(&c)), Ends: typeset(model.IntervalText(&c)), Word: model.VerdictWord(&c), Verdict: string(c.Verdict), N: c.N,
				Orders: typeset(model.OrderSpread(s)), Total: s.Part == ""}
			if r.Total {
				r.Name = p.endName(a)
			} else if s.Of != nil {
				r.Share = typeset(analysis.Percent(*s.Of))
			} else if !s.Decided() {
				r.Share = "undecided"
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

// WhyWithout are the metrics without a table, since they have no value.
func (p *page) WhyWithout() (names []string) {
	main := p.MainAttributions()
	for _, a := range p.Why {
		isMain := slices.ContainsFunc(main, func(m analysis.Attribution) bool {
			return m.Workload == a.Workload && m.Level == a.Level && m.Metric == a.Metric
		})
		if !valued(a) && !isMain {
			names = append(names, model.LevelTitle(a.Workload, a.Level)+": "+a.Title())
		}
	}
	return names
}

// FoldedWhy are the tables of the metrics that do not come first.
func (p *page) FoldedWhy() []whyTable {
	return slices.DeleteFunc(p.WhyTables(), func(t whyTable) bool { return t.Shown })
}
