package html

import (
	"fmt"
	"html/template"
	"regexp"

	"tare/internal/verdict"

	"tare/internal/environment"
	"tare/internal/report/model"
)

// Costs of a workload at all its levels.
func (p *page) Costs(w model.Workload) model.CostTable { return p.Report.CostTable(w, w.Levels, true) }

// page is the data of the HTML template.
type page struct {
	*model.Report
	Back   string // the address of the page about the run; "" for none
	Policy string
	Script template.JS
	Style  template.CSS
	Data   template.JS
	bars   bars
	index  trialIndex
}

func (p *page) Headlines() []model.Headline {
	all := p.Report.Headlines()
	for i := range all {
		all[i].Text = typeset(all[i].Text)
	}
	return all
}

// Bar is an interval as a small picture, on one scale for the whole page.
func (p *page) Bar(c *verdict.Contrast) template.HTML { return p.bars.draw(c) }

// Spoilers is what doctor found that may spoil measurements.
func (p *page) Spoilers() []environment.Finding { return p.Manifest.Noise }

// Fixable are the findings of an environment that need something.
func (p *page) Fixable(e model.Environment) []environment.Finding {
	return model.NeedingFix(e.Facts.Findings)
}

// OptionsOf an environment, in words.
func (p *page) OptionsOf(e model.Environment) string { return model.OptionsInWords(e) }

// Outliers is the share of blocks far from the rest.
func (p *page) Outliers(c *verdict.Contrast) string {
	return fmt.Sprintf("%.0f%%", 100*c.OutlierShare)
}

// typeset puts a real minus before figures; a hyphen within a name stays.
func typeset(text string) string { return minus.ReplaceAllString(text, "$1−$2") }

var minus = regexp.MustCompile(`(^|[ \[])-([0-9])`)

// usageIn is a table with the workload that it is of.
type usageIn struct {
	Workload model.Workload
	Table    model.UsageTable
}
