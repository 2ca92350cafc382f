package verdict

import (
	"fmt"
	"math"
	"regexp"
	"strconv"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/usage/cost"
)

var bytes = regexp.MustCompile(`^([KMGTk]i?)?B$`)

// amount reports whether the metric is an amount, of which there is more or less,
// and not a time or a rate.
func (c Contrast) amount() bool { return bytes.MatchString(c.Unit) || cost.Named(c.Metric) }

// Wording is a contrast as one sentence, without a full stop.
func Wording(c Contrast) string {
	if c.Label != "" && !environment.Emulated(c.Label) {
		c.Environment += " [" + c.Label + "]"
	}
	text := c.sided().sentence()
	if c.Part != "" {
		text = c.Name + ": " + text
	}
	if environment.Emulated(c.Label) {
		text = "under software emulation (" + c.Label + ") " + text
	}
	if environment.Emulated(c.BaselineLabel) && c.BaseLevel == "" {
		text += "; the baseline ran under software emulation (" + c.BaselineLabel + ")"
	}
	for _, w := range c.Warnings {
		if w.Code == Confound {
			text += "; " + w.String()
		}
	}
	return text
}

// sided names the sides of a contrast within one environment by their levels.
func (c Contrast) sided() Contrast {
	if c.BaseLevel != "" {
		c.Environment, c.Baseline = c.Environment+" at "+c.Level, "at "+c.BaseLevel
	}
	return c
}

func (c Contrast) sentence() string {
	switch c.Verdict {
	case Slower, Faster:
		return fmt.Sprintf("%s, decided after %s", c.difference(), c.look())
	case Equivalent:
		text := fmt.Sprintf("%s is equivalent to %s within %s: %s, decided after %s",
			c.Environment, c.Baseline, quantity.Share(c.Margin), c.change(), c.look())
		if c.InsideMargin {
			text += "; a real difference, inside the margin"
		}
		return text
	case Inconclusive:
		leaning := ""
		if c.Leaning != "" {
			leaning = ", leaning " + string(c.Leaning)
		}
		text := fmt.Sprintf("%s against %s is inconclusive after %s%s: ", c.Environment, c.Baseline, c.look(), leaning)
		if !c.Bounded() {
			yet := ""
			if c.Open {
				yet = " yet"
			}
			return text + Change(c.Estimate) + ", too few blocks" + yet + " for an interval at this level"
		}
		text += c.change()
		if c.Projection > 0 {
			if c.Projection > FarAway {
				text += fmt.Sprintf("; it would take more than %d blocks", FarAway)
			} else {
				text += fmt.Sprintf("; it would take about %s", blocksOf(c.Projection))
			}
		}
		return text
	}
	if c.Unpaired {
		return c.unpairedSentence()
	}
	text := fmt.Sprintf("%s against %s has no verdict: %s", c.Environment, c.Baseline, c.Reason)
	if c.N > 0 {
		text += fmt.Sprintf("; median %s, range %s to %s", Change(c.Middle), Change(c.Least), Change(c.Most))
	}
	return text
}

// look is how much the verdict is based on.
func (c Contrast) look() string {
	if c.Rounds == nil {
		return blocksOf(c.Look)
	}
	return blocksOf(c.Look) + " of " + c.Rounds.String()
}

// difference names the direction and the size, from twice or half on as tables print it.
func (c Contrast) difference() string {
	word, more := string(c.Verdict), c.Estimate > 0
	if math.Abs(c.Estimate) >= math.Ln2 || math.Exp(c.Estimate) >= twice || math.IsInf(c.High, 1) {
		if c.amount() {
			word = map[bool]string{true: "larger", false: "smaller"}[more]
		}
		return fmt.Sprintf("%s is %s than %s: %s", c.Environment, word, c.Baseline, c.change())
	}
	size, ends := func(d float64) string { return percent(math.Expm1(d)) }, c
	if !more {
		size = func(d float64) string { return percent(-math.Expm1(d)) }
		ends.Low, ends.High = c.High, c.Low
	}
	verb := "is"
	if c.amount() {
		verb, word = "takes", map[bool]string{true: "more", false: "less"}[more]
	}
	return fmt.Sprintf("%s %s %s %s than %s %s", c.Environment, verb, size(c.Estimate), word, c.Baseline, ends.interval(size))
}

// change is the estimate with its interval, as tables print them.
func (c Contrast) change() string {
	return fmt.Sprintf("%s %s (%s)", Change(c.Estimate), EndsText(c.Estimate, c.Low, c.High), c.percentage())
}

// interval prints both ends with the confidence.
func (c Contrast) interval(print func(float64) string) string {
	return fmt.Sprintf("[%s, %s] (%s)", print(c.Low), print(c.High), c.percentage())
}

func (c Contrast) percentage() string {
	return strconv.FormatFloat(100*c.Confidence, 'g', 4, 64) + "%"
}
