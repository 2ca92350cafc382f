package section

import (
	"math"
	"slices"
	"strings"

	"tare/internal/attribution/analysis"
	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/usage/evidence"
	"tare/internal/verdict"
)

func attribution(v *model.Report, o Options) Section {
	s := Section{ID: "attribution", Title: "Attribution"}
	if len(v.Why) == 0 {
		return s
	}
	s.Lead = v.WhyLead(v.Why[0])
	var without []string
	for _, a := range v.Why {
		main := model.MainAttribution(a)
		switch {
		case !main && !o.All:
			continue
		case !main && !model.Valued(a):
			without = append(without, model.LevelTitle(a.Workload, a.Level)+": "+a.Title())
			continue
		}
		p := Part{Title: model.WhyHeading(a), Table: ladder(v, a), Notes: plains(v.WhySentences(a))}
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
func ladder(v *model.Report, a analysis.Attribution) *Table {
	unit := model.ShortUnit(a.Unit)
	t := &Table{About: "Parts of " + model.WhyHeading(a), Class: "full parts", Cards: true, Columns: []Column{
		key("part"), number("change"), ends(v.Plan.Design.Confidence.String() + " interval"), column("verdict"), number("share"), number("blocks").spare(1)}}
	if a.Orders > 1 {
		t.Columns = append(t.Columns, ends("spread over orders"))
	}
	end := func(name string, side verdict.Side) Row { return Line(v.ShownName(name), model.SideFigure(side, unit)) }
	blank := func(r Row, class string) Row {
		r.Class = class
		for len(r.Cells) < len(t.Columns) {
			r.Cells = append(r.Cells, plain(""))
		}
		return r
	}
	fall, blocks := model.NewFall(a), v.BlockAnchor(a.Workload, a.Level)
	t.Rows = append(t.Rows, blank(end(a.From, a.Total.Contrast.Base), "from"))
	for _, s := range model.WhyRows(a) {
		c, name, class := s.Contrast, Cell{{Text: s.Name, About: s.About}}, ""
		if s.Part == "" {
			name, class = Cell{{Text: "total", Style: Strong}}, "total"
		}
		change := Text{Text: model.EstimateText(&c)}
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

// briefly is how many kernel events of each kind a terminal shows below the verdicts.
const briefly = 5

func kernel(v *model.Report, o Options) Section {
	s := Section{ID: "kernel", Title: "Kernel events", Lead: "Medians of traced trials. They ran after all other trials and count in no verdict, since tracing slows them. " +
		"Times are per operation, counts per thousand operations. Work that both sides do, such as that of a driver inside the instance, is counted on both."}
	for _, k := range v.Kernel() {
		t := &Table{About: k.Heading(), Class: "full kernel", Columns: []Column{key(""), number(k.Fast + ", count"), number(k.Slow + ", count"),
			number(k.Fast + ", time"), number(k.Slow + ", time"), number("change")}}
		for _, kind := range k.Sections {
			if o.Short && !o.All {
				kind = shorter(kind)
			}
			t.Rows = append(t.Rows, Row{Cells: []Cell{plain(kind.Title)}, Heading: true, Class: "group"})
			for _, r := range kind.Rows {
				t.Rows = append(t.Rows, Line(r.What, r.Fast, r.Slow, r.FastTime, r.SlowTime, r.Change))
			}
			if kind.Left > 0 {
				t.Rows = append(t.Rows, Line("and "+model.Counted(kind.Left, "more", "more")))
			}
		}
		s.Parts = append(s.Parts, Part{Title: k.Heading(), Table: t, Notes: plains(k.Remarks)})
	}
	return s
}

func shorter(kind evidence.Section) evidence.Section {
	if more := len(kind.Rows) - briefly; more > 0 {
		kind.Rows, kind.Left = kind.Rows[:briefly], kind.Left+more
	}
	return kind
}

func scores(v *model.Report, _ Options) Section {
	sheet := v.ScoreSheet()
	if sheet == nil {
		return Section{}
	}
	s := Section{ID: "score", Title: "Score sheet", Lead: sheet.Title}
	for _, part := range sheet.Parts {
		t := &Table{About: "Scores of " + part.Name, Class: "full", Pieces: true, Columns: []Column{key(part.Name), column("importance").spare(3), number("max")}}
		t.Columns = append(t.Columns, lists.Map(sheet.Shown, column)...)
		for _, r := range part.Rows {
			name := plain(r.Name)
			if r.Sum {
				name[0].Style = Strong
			}
			shown := Line(name, r.Importance, r.Best)
			for _, c := range r.Cells {
				shown.Cells = append(shown.Cells, scored(c))
			}
			t.Rows = append(t.Rows, shown)
		}
		s.Parts = append(s.Parts, Part{Table: t, Notes: plains(lists.Map(part.Ties, func(tie string) string { return "tie: " + tie }))})
	}
	s.Parts = append(s.Parts, Part{Notes: plains(sheet.Notes), Last: sheet.Legend()})
	return s
}

func scored(c model.ScoreCell) Cell {
	cell := Cell{{Text: c.Score, Style: Strong}}
	if c.Range != "" {
		cell = append(cell, Text{Text: " (" + c.Range + ")"})
	}
	for _, more := range []Text{{Text: c.Share, Style: Quiet, Spare: 2}, {Text: c.Ends, Style: Ends, Spare: 1}} {
		if more.Text != "" {
			more.Text = " " + more.Text
			cell = append(cell, more)
		}
	}
	return slices.Clip(cell)
}
