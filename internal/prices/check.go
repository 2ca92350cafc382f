package prices

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"tare/internal/base/term"
	"tare/internal/report/model"
	"tare/internal/stats"
	"tare/internal/verdict"
)

// Check holds predictions against what was measured beside them.
type Check struct {
	Workloads []Checked `json:"workloads"`
	// Without says why there are no predictions; "" where there are.
	Without string `json:"without,omitempty"`
}

// Checked is one workload.
type Checked struct {
	Profile     Profile      `json:"profile"`
	Predictions []Prediction `json:"predictions,omitempty"`
	Gaps        []Gap        `json:"gaps,omitempty"`
}

// Add a workload.
func (c *Check) Add(p Profile, predictions []Prediction) {
	c.Workloads = append(c.Workloads, Checked{p, predictions, p.Gaps(predictions)})
}

// Text writes a table of each environment that was measured, and what is left out.
func (c Check) Text(w io.Writer, columns int) {
	if c.Without != "" {
		fmt.Fprint(w, term.Prose(c.Without, columns))
		return
	}
	fmt.Fprint(w, term.Prose(notModelled, columns))
	var names []string
	of := map[string][]Gap{}
	for _, one := range c.Workloads {
		for _, g := range one.Gaps {
			if !slices.Contains(names, g.Environment) {
				names = append(names, g.Environment)
			}
			of[g.Environment] = append(of[g.Environment], g)
		}
	}
	for _, name := range names {
		if len(of[name]) > 1 {
			checked(w, name, of[name], columns)
		}
	}
}

// checked is the table of one environment.
func checked(w io.Writer, name string, all []Gap, columns int) {
	rows := [][]string{{"CPU of an operation", "native", "predicted", "measured", "error"}}
	inside, bounded := 0, 0
	var offs []float64
	var left, misses []string
	for _, g := range all {
		mark := ""
		switch {
		case g.Incomparable != "":
			mark = " †"
			if reason := "not comparable: " + g.Incomparable; !slices.Contains(left, reason) {
				left = append(left, reason)
			}
		case g.Within == nil:
		case *g.Within:
			inside, bounded = inside+1, bounded+1
		default:
			bounded++
			mark = " *"
			misses = append(misses, g.miss())
		}
		if g.Incomparable == "" {
			offs = append(offs, math.Abs(g.Off))
		}
		rows = append(rows, []string{g.Workload, model.Figure(g.Native, nano), g.total(g.Expected), g.total(g.Measured), verdict.Change(math.Log1p(g.Off)) + mark})
	}
	fmt.Fprintf(w, "\n%s: predicted against measured\n", name)
	aligned(w, rows, columns)
	text := fmt.Sprintf("The measured value is within the predicted interval, which has the noise of a measurement in it, in %d of %d (* not)", inside, bounded)
	if bounded == 0 {
		text = fmt.Sprintf("There are fewer than %d blocks of the profile or the price list, so that no prediction has an interval", stats.LeastBlocks)
	}
	if len(offs) > 0 {
		text += fmt.Sprintf("; the median error is %s", model.Percent(stats.Median(offs)))
	}
	text += "."
	if len(left) > 0 {
		text += " † " + strings.Join(left, "; ") + ": left out of these."
	}
	fmt.Fprint(w, term.Prose(text, columns))
	for _, miss := range misses {
		fmt.Fprint(w, term.Prose(miss, columns))
	}
}

// total of an operation, with its interval.
func (g Gap) total(more Amount) string {
	v := g.Native + more.Estimate
	if !more.bounded() {
		return model.Figure(v, nano)
	}
	s := model.ScaleFor(v, nano)
	return fmt.Sprintf("%s [%s, %s]%s", model.In(s, v), model.In(s, g.Native+*more.Low), model.In(s, g.Native+*more.High), s.Suffix)
}

// miss says what is predicted too much or too little, and which item is most of it.
func (g Gap) miss() string {
	off, how := g.Measured.Estimate-g.Predicted.Estimate, "more"
	if off < 0 {
		how = "less"
	}
	text := fmt.Sprintf("* %s: %s %s than predicted", g.Workload, model.Figure(math.Abs(off), nano), how)
	if g.Largest != "" {
		text += ", of which the largest item is " + g.Largest
	}
	if len(g.prediction.Unpriced) > 0 {
		text += "; without a price: " + strings.Join(g.prediction.Unpriced, ", ")
	}
	return text + "."
}
