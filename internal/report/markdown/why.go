package markdown

import (
	"fmt"
	"strings"

	"tare/internal/report/model"
	"tare/internal/verdict"
)

func why(b *strings.Builder, v *model.Report) {
	for i, a := range v.MainAttributions() {
		fmt.Fprintf(b, "\n## %s: %s\n\n", model.WhyTitle, escape(model.WhyHeading(a)))
		if i == 0 {
			fmt.Fprintf(b, "%s\n\n", escape(v.WhyLead(a)))
		}
		h := v.WhyColumns()
		heads, rule := []string{h.Part, h.Change, h.Interval, h.Verdict, "blocks"}, "|---|---:|---|---|---:"
		if a.Orders > 1 {
			heads, rule = append(heads, h.Spread), rule+"|---"
		}
		fmt.Fprintf(b, "| %s |\n%s|\n", strings.Join(heads, " | "), rule)
		one := func(name string, side verdict.Side) {
			fmt.Fprintf(b, "| %s | %s |%s\n", escape(v.ShownName(name)), escape(model.SideFigure(side, a.Unit)), strings.Repeat(" |", len(heads)-2))
		}
		one(a.From, a.Total.Contrast.Base)
		for _, s := range model.WhyRows(a) {
			name := escape(s.Name)
			if s.Part == "" {
				name = "**total**"
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %d", name, model.EstimateText(&s.Contrast), escape(model.IntervalText(&s.Contrast)), model.ShareWord(s), s.Contrast.N)
			if a.Orders > 1 {
				fmt.Fprintf(b, " | %s", model.OrderSpread(s))
			}
			b.WriteString(" |\n")
		}
		one(a.To, a.Total.Contrast.Values)
		b.WriteString("\n")
		bullets(b, v.WhySentences(a))
	}
	if len(v.Why) > 0 && len(v.Plan.Remarks) > 0 {
		b.WriteString("\n")
		for _, r := range v.Plan.Remarks {
			fmt.Fprintf(b, "- Note: %s\n", escape(r))
		}
	}
}
