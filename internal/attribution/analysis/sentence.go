package analysis

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tare/internal/cost"
)

// Title is what the metric is called in sentences and headings.
func (a Attribution) Title() string {
	if c, known := cost.Lookup(a.Metric); known {
		return c.Title + " per thousand operations"
	}
	return strings.ReplaceAll(a.Metric, "_", " ")
}

// sentence says of a material part what it does to the metric.
func (s Share) sentence(a *Attribution) string {
	c := s.Contrast
	metric := a.Title()
	var text string
	switch rises := c.Estimate > 0; {
	case rises && c.Estimate >= math.Ln2:
		text = fmt.Sprintf("%s multiplies %s by %s [%s, %s]", s.subject(), metric, factor(c.Estimate), factor(c.Low), factor(c.High))
	case rises && a.Better == "higher":
		text = fmt.Sprintf("%s gives %s more %s", s.subject(), span(c.Estimate, c.Low, c.High), metric)
	case rises:
		text = fmt.Sprintf("%s adds %s to %s", s.subject(), span(c.Estimate, c.Low, c.High), metric)
	case a.Better == "higher":
		text = fmt.Sprintf("%s costs %s of %s", s.subject(), span(c.Estimate, c.High, c.Low), metric)
	default:
		text = fmt.Sprintf("%s takes %s off %s", s.subject(), span(c.Estimate, c.High, c.Low), metric)
	}
	if s.Of != nil {
		text += ", " + Percent(*s.Of) + " of the whole"
	}
	if s.Least != nil && s.Most != nil {
		text += fmt.Sprintf(" (from %s to %s over the orders)", change(*s.Least), change(*s.Most))
	}
	if s.About != "" {
		text += ": " + strings.TrimSuffix(s.About, ".")
	}
	return text + "."
}

// subject is the part's name as a sentence begins with it.
func (s Share) subject() string {
	if s.Rest() {
		return "What no part explains (" + s.Name + ")"
	}
	return "The " + s.Name
}

// span prints a change as its size: 12% [10, 14].
func span(estimate, nearer, farther float64) string {
	size := func(d float64) float64 { return 100 * math.Expm1(d) * math.Copysign(1, estimate) }
	digits := 0
	if math.Abs(size(farther)-size(nearer)) < 10 {
		digits = 1
	}
	print := func(d float64) string { return strconv.FormatFloat(size(d), 'f', digits, 64) }
	return fmt.Sprintf("%s%% [%s, %s]", print(estimate), print(nearer), print(farther))
}

func factor(d float64) string {
	digits := min(2, max(0, 2-int(math.Floor(d/math.Ln10))))
	return strconv.FormatFloat(math.Exp(d), 'f', digits, 64)
}

func change(d float64) string {
	return strconv.FormatFloat(100*math.Expm1(d), 'f', 1, 64) + "%"
}

// Percent prints a share of the whole, which is below zero for a part that
// works against it.
func Percent(share float64) string {
	text := strconv.FormatFloat(100*share, 'f', 0, 64)
	if text == "-0" {
		text = "0"
	}
	return text + "%"
}
