package html

import (
	"fmt"
	"html/template"
	"regexp"

	"tare/internal/verdict"

	"tare/internal/report/model"
	"tare/internal/report/section"
)

// page is the data of the HTML template.
type page struct {
	*model.Report
	Back     string // the address of the page about the run; "" for none
	Policy   string
	Script   template.JS
	Style    template.CSS
	Data     template.JS
	Sections []section.Section
	bars     bars
	index    trialIndex
}

// Bar is an interval as a small picture, on one scale for the whole page.
func (p *page) Bar(c *verdict.Contrast) template.HTML { return p.bars.draw(c) }

// Outliers is the share of blocks far from the rest.
func (p *page) Outliers(c *verdict.Contrast) string {
	return fmt.Sprintf("%.0f%%", 100*c.OutlierShare)
}

// typeset puts a real minus before figures; a hyphen within a name stays.
func typeset(text string) string { return minus.ReplaceAllString(text, "$1−$2") }

var minus = regexp.MustCompile(`(^|[ \[])-([0-9])`)
