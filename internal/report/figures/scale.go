package figures

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/report/model"
	"tare/internal/verdict"
)

// changes is an axis of log ratios.
type changes struct {
	margin    float64
	straight  bool    // lengths are in proportion to logarithms; else linear near zero and logarithmic further out
	low, high float64 // bent
	from, to  float64 // of the picture
}

// newChanges is an axis on which the margin and all values lie.
func newChanges(margin float64, straight bool, values []float64) changes {
	a := changes{margin: margin, straight: straight}
	a.low, a.high = a.bend(-2*margin), a.bend(2*margin)
	for _, x := range values {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			a.low, a.high = math.Min(a.low, a.bend(x)), math.Max(a.high, a.bend(x))
		}
	}
	room := (a.high - a.low) * .04
	room = cmp.Or(room, .1)
	a.low, a.high = a.low-room, a.high+room
	return a
}

func (a changes) bend(d float64) float64 {
	if a.straight {
		return d
	}
	return model.Bend(d, a.margin)
}

// at is where a log ratio lies; what is not bounded lies at the end.
func (a changes) at(d float64) float64 {
	return a.from + (a.to-a.from)*math.Max(0, math.Min(1, (a.bend(d)-a.low)/(a.high-a.low)))
}

// rounded are ratios by the priority of their ticks.
var rounded = []float64{1, .5, 2, .1, 10, .9, 1.1, .2, 5, .01, 100, .8, 1.2, .95, 1.05, 1.02, .98, .02, 50, .05, 20, 1.5, 3, .7, .85, 1.15, .001, 1000, 1.01, .99}

// ticks are so far apart that their texts do not touch.
func (a changes) ticks(apart float64) (kept []float64) {
	for _, r := range rounded {
		d := math.Log(r)
		if a.bend(d) < a.low || a.bend(d) > a.high {
			continue
		}
		if !slices.ContainsFunc(kept, func(k float64) bool { return math.Abs(a.at(k)-a.at(d)) < apart }) {
			kept = append(kept, d)
		}
	}
	return kept
}

// tickText is a log ratio without needless digits: −10%, ×20.
func tickText(d float64) string {
	if ratio := math.Exp(d); ratio >= 1.995 {
		return "×" + strconv.FormatFloat(math.Round(ratio*100)/100, 'f', -1, 64)
	}
	return minus(strings.Replace(verdict.Change(d), ".0%", "%", 1))
}

// minus puts true minus signs before figures.
func minus(text string) string {
	return strings.NewReplacer("[-", "[−", ", -", ", −", " -", " −").Replace(strings.Replace("^"+text, "^-", "^−", 1))[1:]
}

// valueTicks are round values in the unit that a largest one is shown in, and that unit.
func valueTicks(most float64, unit string) ([]float64, model.Scale) {
	scale := model.ScaleFor(most, unit)
	ticks := evenly(most*scale.Factor, 4)
	for i := range ticks {
		ticks[i] /= scale.Factor
	}
	return ticks, scale
}

// evenly are round numbers from 0 to a largest one.
func evenly(most float64, wanted int) (ticks []float64) {
	if !(most > 0) || math.IsInf(most, 0) {
		return []float64{0}
	}
	step := math.Pow(10, math.Floor(math.Log10(most/float64(wanted))))
	for _, f := range []float64{1, 2, 5, 10} {
		if most/(step*f) <= float64(wanted) {
			step *= f
			break
		}
	}
	if !(step > 0) { // the smallest numbers that a float64 has
		return []float64{0}
	}
	for i := 0; float64(i)*step <= most*1.0001; i++ {
		ticks = append(ticks, float64(i)*step)
	}
	return ticks
}
