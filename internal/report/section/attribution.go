package section

import (
	"fmt"
	"math"
	"strings"

	"tare/internal/attribution/analysis"
	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/subject"
	"tare/internal/usage/evidence"
	"tare/internal/verdict"
)

func attribution(v *model.Report, o Options) Section {
	s := Section{ID: "attribution", Title: "Attribution", Paper: "parts"}
	if len(v.Why) == 0 {
		return s
	}
	s.Lead = v.WhyLead(v.Why[0])
	var without []string
	for _, a := range v.Why {
		main := model.MainAttribution(a)
		switch {
		case !main && !o.All, !a.Primary && o.Paper:
			continue
		case !main && !model.Valued(a):
			without = append(without, model.LevelTitle(a.Workload, a.Level)+": "+a.Title())
			continue
		}
		p := Part{Title: model.WhyHeading(a), Table: ladder(v, a, o), Notes: plains(v.WhySentences(a))}
		if model.Valued(a) {
			p.Figure = a
		}
		if !main && !o.Short {
			p.Folded, p.Title = p.Title, ""
		}
		s.Parts = append(s.Parts, p)
	}
	last := Part{Notes: plains(lists.Map(v.Plan.Remarks, func(r string) string { return "note: " + r }))}
	if len(without) > 0 {
		last.Last = "No value for " + strings.Join(without, ", ") + "."
	}
	s.Parts = append(s.Parts, last)
	return s
}

// ladder is the table of an attribution: the value at one end, the parts, what they come
// to together, and the value at the other end.
func ladder(v *model.Report, a analysis.Attribution, o Options) *Table {
	unit := model.ShortUnit(a.Unit)
	t := &Table{About: "Parts of " + model.WhyHeading(a), Class: "full parts", Cards: true, Columns: []Column{
		key("part"), number("change"), ends(v.Plan.Design.Confidence.String() + " interval"), column("verdict"), number("share"), number("blocks").spare(1)}}
	if a.Orders > 1 {
		t.Columns = append(t.Columns, ends("spread over orders"))
	}
	if o.Paper {
		t.Columns = t.Columns[:5]
	}
	end := func(name string, side verdict.Side) Row { return Line(v.ShownName(name), model.SideFigure(side, unit)) }
	blank := func(r Row, class string) Row {
		r.Class = class
		for len(r.Cells) < len(t.Columns) {
			r.Cells = append(r.Cells, plain(""))
		}
		return r
	}
	fall, blocks := model.NewFall(a), v.BlockAnchor(subject.Place{Workload: a.Workload, Level: a.Level})
	t.Rows = append(t.Rows, blank(end(a.From, a.Total.Contrast.Base), "from"))
	for _, s := range model.WhyRows(a) {
		c, name, class := s.Contrast, Cell{{Text: s.Name, About: s.About}}, ""
		if s.Part == "" {
			name, class = Cell{{Text: "total", Style: Strong}}, "total"
		}
		change := Text{Text: model.EstimateText(&c), Class: "change"}
		if c.N > 0 {
			change.Link = blocks
		}
		share := ""
		switch {
		case s.Part == "":
		case s.Of != nil:
			share = analysis.Percent(*s.Of)
		case !s.Decided():
			share = "undecided"
		}
		r := Line(name, Cell{change}, model.IntervalText(&c), judged(&c), share, c.N, model.OrderSpread(s))
		if r.Cells = r.Cells[:len(t.Columns)]; !math.IsNaN(c.Estimate) {
			from, to := fall.At(s.Before), fall.At(s.Before+c.Estimate)
			r.Bar = &Bar{math.Min(from, to), math.Max(from, to), !s.Material}
		}
		r.Class = class
		t.Rows = append(t.Rows, r)
	}
	t.Rows = append(t.Rows, blank(end(a.To, a.Total.Contrast.Values), "total"))
	return t
}

// mostKernel is how many kernel events of each kind are shown, and mostKernelBrief on a
// terminal below the verdicts.
const mostKernel, mostKernelBrief = 10, 5

func kernel(v *model.Report, o Options) Section {
	s := Section{ID: "kernel", Title: "Kernel events", Lead: "Medians of traced trials. They ran after all other trials and count in no verdict, since tracing slows them. " +
		"Times are per operation, counts per thousand operations. Work that both sides do, such as that of a driver inside the instance, is counted on both."}
	most := mostKernel
	if o.Short && !o.All {
		most = mostKernelBrief
	}
	counted, base := v.Counted(), v.ShownName(v.Plan.Baseline)
	for _, w := range v.Workloads {
		for _, l := range w.Levels {
			for _, e := range v.Environments {
				here, there := counted[l.Place(w).In(e.Name)], counted[l.Place(w).In(v.Plan.Baseline)]
				if e.Baseline || len(here) == 0 || len(there) == 0 {
					continue
				}
				title := fmt.Sprintf("%s: %s vs %s", model.LevelTitle(w.Name, l.Name), e.Shown, base)
				t := &Table{About: title, Class: "full kernel", Columns: []Column{key(""), number(base + ", count"), number(e.Shown + ", count"),
					number(base + ", time"), number(e.Shown + ", time"), number("change")}}
				for _, kind := range evidence.Table(evidence.Compare(here, there), most) {
					t.Rows = append(t.Rows, Row{Cells: []Cell{plain(kind.Title)}, Heading: true, Class: "group"})
					for _, r := range kind.Rows {
						t.Rows = append(t.Rows, Line(r.What, r.Fast, r.Slow, r.FastTime, r.SlowTime, r.Change))
					}
					if kind.Left > 0 {
						t.Rows = append(t.Rows, Line(fmt.Sprintf("and %d more", kind.Left)))
					}
				}
				remarks := evidence.Remarks(here, there)
				if w.Pack.Operations == "" {
					remarks = append([]string{"the workload counts no operations, so nothing is per operation"}, remarks...)
				}
				s.Parts = append(s.Parts, Part{Title: title, Table: t, Notes: plains(remarks)})
			}
		}
	}
	return s
}
