package prices

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"tare/internal/base/term"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/stats"
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
}

// Add a workload.
func (c *Check) Add(p Profile, predictions []Prediction) {
	c.Workloads = append(c.Workloads, Checked{p, predictions})
}

// outcome is what an environment adds to the CPU time of an operation, predicted and measured.
type outcome struct {
	workload            string
	native              float64
	predicted, measured Amount
	// inside: the measured value is in the predicted interval. Overlap: the intervals meet.
	inside, overlap bool
	off             float64 // of the whole CPU time of an operation, predicted over measured
	incomparable    string
}

// of says whether the prediction is one of an environment that was measured.
func (one Prediction) of(m Measured) bool {
	return one.Environment == m.Environment || one.Kind != "" && one.Kind == m.Kind
}

func (c Check) outcomes(environment string) (all []outcome) {
	for _, w := range c.Workloads {
		for _, one := range w.Predictions {
			for _, m := range w.Profile.Measured {
				if m.Environment != environment || !one.of(m) {
					continue
				}
				o := outcome{workload: w.Profile.Workload, native: w.Profile.CPU.Estimate, predicted: one.MoreCPU, measured: m.MoreCPU, incomparable: m.Incomparable}
				if p := one.MoreCPU; p.bounded() {
					o.inside = *p.Low <= m.MoreCPU.Estimate && m.MoreCPU.Estimate <= *p.High
				}
				o.overlap = meet(one.MoreCPU, m.MoreCPU)
				o.off = (o.native+o.predicted.Estimate)/(o.native+o.measured.Estimate) - 1
				all = append(all, o)
			}
		}
	}
	return all
}

// Text writes a table of each environment that was measured, and what is left out.
func (c Check) Text(w io.Writer, columns int) {
	if c.Without != "" {
		fmt.Fprint(w, term.Prose(c.Without, columns))
		return
	}
	fmt.Fprint(w, term.Prose(notModelled, columns))
	var environments []string
	if len(c.Workloads) > 0 {
		for _, m := range c.Workloads[0].Profile.Measured {
			environments = append(environments, m.Environment)
		}
	}
	for _, name := range environments {
		all := c.outcomes(name)
		if len(all) < 2 {
			continue
		}
		rows := [][]string{{"CPU of an operation", "native", "predicted", "measured", "error"}}
		inside, overlap, offs, left := 0, 0, []float64(nil), []string(nil)
		for _, o := range all {
			total := func(a Amount) string {
				text := model.Figure(o.native+a.Estimate, nano)
				if a.bounded() {
					s := model.ScaleFor(o.native+a.Estimate, nano)
					text = fmt.Sprintf("%s [%s, %s]%s", model.In(s, o.native+a.Estimate), model.In(s, o.native+*a.Low), model.In(s, o.native+*a.High), s.Suffix)
				}
				return text
			}
			mark := ""
			switch {
			case o.incomparable != "":
				mark = " †"
				if reason := "not comparable: " + o.incomparable; !slices.Contains(left, reason) {
					left = append(left, reason)
				}
			case o.inside:
				inside++
			default:
				mark = " *"
			}
			if o.incomparable == "" {
				offs = append(offs, math.Abs(o.off))
				if o.overlap {
					overlap++
				}
			}
			rows = append(rows, []string{o.workload, model.Figure(o.native, nano), total(o.predicted), total(o.measured), signedPercent(o.off) + mark})
		}
		fmt.Fprintf(w, "\n%s: predicted against measured\n", name)
		aligned(w, rows, columns)
		text := fmt.Sprintf("The measured value is within the predicted interval in %d of %d (* not), and the intervals meet in %d; the median error is %s.",
			inside, len(offs), overlap, model.Percent(stats.Median(offs)))
		if len(left) > 0 {
			text += " † " + strings.Join(left, "; ") + ": left out of these."
		}
		fmt.Fprint(w, term.Prose(text, columns))
	}
}

// Gaps says of each workload of a run, of which one was counted or traced in the baseline, how
// much of what an environment adds the prices explain; "" where there is nothing to say.
func (l List) Gaps(w io.Writer, r *rundir.Run, columns int) {
	contrasts := model.Contrasts(r)
	for _, workload := range r.Plan.Workloads {
		p, err := ProfileOf(r, workload, contrasts)
		if err != nil {
			continue
		}
		for _, one := range l.Predict(p) {
			for _, m := range p.Measured {
				if one.of(m) && m.MoreCPU.Estimate > 0 && !m.MoreCPU.holdsZero() && m.Incomparable == "" {
					fmt.Fprint(w, "\n", term.Prose(one.gap(p, m), columns))
				}
			}
		}
	}
}

// far is how many times a gap is more than predicted, or less, that is a finding.
const far = 1.5

// gap compares a measured difference with its prediction.
func (one Prediction) gap(p Profile, m Measured) string {
	predicted, gap := one.MoreCPU, m.MoreCPU
	text := fmt.Sprintf("By the price list of this machine, %s would add %s%s to the CPU time of an operation of %s; it adds %s%s: ",
		m.Environment, predicted.estimate(), spaced(predicted), p.Workload, gap.estimate(), spaced(gap))
	ratio := gap.Estimate / predicted.Estimate
	switch {
	case (ratio > far || !(ratio > 1/far)) && meet(predicted, gap):
		text += "the intervals are too wide to say more."
	case !(ratio > 0):
		text += "the prices do not explain it."
	case ratio > far:
		text += model.Figure(gap.Estimate-predicted.Estimate, nano) + " of it has no price (caches, contention, the disk, or what the list leaves out)."
	case ratio < 1/far:
		text += "less than calls one by one would cost."
	default:
		text += fmt.Sprintf("the prices explain %s of it.", model.Percent(min(1, 1/ratio)))
	}
	return text + " " + one.sentence(p)
}

// meet says whether two intervals do.
func meet(a, b Amount) bool {
	return a.bounded() && b.bounded() && *a.Low <= *b.High && *b.Low <= *a.High
}

func (a *Amount) holdsZero() bool { return a.bounded() && *a.Low <= 0 && *a.High >= 0 }

func spaced(a Amount) string {
	if !a.bounded() {
		return ""
	}
	return " " + a.interval()
}
