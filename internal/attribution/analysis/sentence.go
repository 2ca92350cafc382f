package analysis

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tare/internal/usage/cost"
	"tare/internal/verdict"
)

// Title is what the metric is called in sentences and headings.
func (a Attribution) Title() string {
	if c, known := cost.Lookup(a.Metric); known {
		return c.InWords()
	}
	return strings.ReplaceAll(a.Metric, "_", " ")
}

// sentence says of a material part what it does to the metric. The cause is told
// where the part makes things cheaper.
func (s Share) sentence(a *Attribution, cause string) string {
	c := s.Contrast
	metric := a.Title()
	var text string
	switch rises := c.Estimate > 0; {
	case strings.HasPrefix(verdict.Change(c.Estimate), "×"): // as tables print it
		text = fmt.Sprintf("%s %s to %s %s", s.does("takes", "take"), metric, verdict.Change(c.Estimate), verdict.EndsText(c.Estimate, c.Low, c.High))
	case rises && a.Better == "higher":
		text = fmt.Sprintf("%s %s more %s", s.does("gives", "give"), span(c.Estimate, c.Low, c.High), metric)
	case rises:
		text = fmt.Sprintf("%s %s to %s", s.does("adds", "add"), span(c.Estimate, c.Low, c.High), metric)
	case a.Better == "higher":
		text = fmt.Sprintf("%s %s of %s", s.does("costs", "cost"), span(c.Estimate, c.High, c.Low), metric)
	default:
		text = fmt.Sprintf("%s %s off %s", s.does("takes", "take"), span(c.Estimate, c.High, c.Low), metric)
	}
	if s.Of != nil {
		text += ", " + Percent(*s.Of) + " of the whole"
	}
	if s.Least != nil && s.Most != nil {
		text += fmt.Sprintf(" (from %s to %s over the orders)", verdict.Change(*s.Least), verdict.Change(*s.Most))
	}
	// A subject in the singular is the change itself, and needs no more words.
	if why := s.told(c.Estimate > 0 == (a.Better == "higher"), cause); why != "" && (s.step.Subject == "" || s.step.Many) {
		text += ": " + strings.TrimSuffix(why, ".")
	}
	return text + "."
}

// told is what a sentence says of the part itself. What it puts on the way can be
// the cause of a cost and not of a gain: there it is what was switched, and the
// cause if one was seen.
func (s Share) told(cheaper bool, cause string) string {
	switch {
	case !cheaper:
		return s.About
	case s.Rest():
		return s.step.Switched
	case s.step.Switched == "":
		return cause
	}
	return s.step.Switched + "; " + cause
}

// does is how a sentence about the part begins, with one of two verbs.
func (s Share) does(one, many string) string {
	subject := s.step.Subject
	switch {
	case s.Rest():
		return "What no part explains (" + s.Name + ") " + one
	case subject == "":
		subject = "The " + s.Name
	}
	if s.step.Many {
		return subject + " " + many
	}
	return subject + " " + one
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

// Percent prints a share of the whole, which is below zero for a part that
// works against it.
func Percent(share float64) string {
	text := strconv.FormatFloat(100*share, 'f', 0, 64)
	if text == "-0" {
		text = "0"
	}
	return text + "%"
}
