package verdict

import (
	"math"
	"strconv"
)

// twice is from which ratio on a change is printed as a factor: what rounds to ×2.00.
const twice = 1.995

// Change prints a log ratio as a change of the value: +3.1%, -20.0%, and from twice on as a
// factor: ×12.3. The form follows from the value alone, so that one value is the same text in
// every table and sentence.
func Change(d float64) string { return changeAs(d, math.Exp(d) >= twice) }

// changeAs prints it in a form.
func changeAs(d float64, factor bool) string {
	ratio := math.Exp(d)
	switch {
	case math.IsNaN(d):
		return "n/a"
	case math.IsInf(ratio, 1):
		return "∞"
	case factor:
		return "×" + Times(ratio)
	case math.IsInf(d, -1):
		return "-100%"
	}
	text := percent(ratio - 1)
	if d > 0 && text != "0.0%" {
		text = "+" + text
	}
	return text
}

// ChangeOf prints a ratio as Change prints its logarithm.
func ChangeOf(ratio float64) string { return Change(math.Log(ratio)) }

// Times prints a factor with three significant digits, or all of its whole part.
func Times(ratio float64) string {
	if ratio == 0 {
		return "0"
	}
	// 9.996 has two digits before the point, as it prints as 10.0.
	places := 2 - int(math.Floor(math.Log10(ratio*1.0005)))
	return strconv.FormatFloat(ratio, 'f', max(0, min(places, 2)), 64)
}

// EndsText prints the interval of an estimate of a log ratio, in the form of that estimate:
// [-3.1%, +2.0%], [×1.10, ×14.0]. An end that the data cannot bound says so, and one without
// any end is "unbounded"; "" where there is none.
func EndsText(estimate, low, high float64) string {
	switch {
	case math.IsNaN(low) || math.IsNaN(high):
		return ""
	case math.IsInf(low, -1) && math.IsInf(high, 1):
		return "unbounded"
	}
	factor := math.Exp(estimate) >= twice
	return "[" + changeAs(low, factor) + ", " + changeAs(high, factor) + "]"
}

func percent(x float64) string {
	text := strconv.FormatFloat(100*x, 'f', 1, 64) + "%"
	if text == "-0.0%" {
		text = "0.0%"
	}
	return text
}
