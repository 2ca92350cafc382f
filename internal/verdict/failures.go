package verdict

import (
	"fmt"
	"math"
	"strconv"

	"tare/internal/stats"
	"tare/internal/subject"
	"tare/internal/workload"
)

// shares are those of the operations that failed, of a cell by block.
type shares map[int][]float64

// shareOf is the mean of some cells in a block, if all of them have one.
func (b *Book) shareOf(cells []subject.Cell, block int) (mean float64, ok bool) {
	var means []float64
	for _, at := range cells {
		all := b.shares[at][block]
		if len(all) == 0 {
			return 0, false
		}
		means = append(means, meanShare(all))
	}
	return meanShare(means), true
}

// failing says of a contrast that one side fails more than the other beyond chance, so that
// its speed is not that of the same work; a Reason of nothing where that is not so.
func (b *Book) failing(e *entry) Reason {
	if e.value {
		return Reason{}
	}
	var own, base, differences []float64
	blocks := max(e.s.last(), e.base.last())
	for block := 1; block <= blocks; block++ {
		x, has := b.shareOf(e.ofCells, block)
		y, baseHas := b.shareOf(e.overCells, block)
		if has {
			own = append(own, x)
		}
		if baseHas {
			base = append(base, y)
		}
		if has && baseHas {
			differences = append(differences, x-y)
		}
	}
	c := e.contrast.sided()
	reason := Reason{Code: Failing, Side: c.Environment, Value: meanShare(own), Share: meanShare(base)}
	if reason.Value < reason.Share {
		reason.Side, reason.Value, reason.Share = c.Baseline, reason.Share, reason.Value
	}
	switch {
	case stats.AllFailed(own), stats.AllFailed(base): // nothing of it is left to be compared
	case b.plan.Design.Order == OrderUnpaired && stats.FailsMoreUnpaired(own, base):
	case b.plan.Design.Order != OrderUnpaired && stats.FailsMore(differences):
	default:
		return Reason{}
	}
	reason.Metric = b.plan.Workload(c.Workload).Pack.OperationsWord()
	return reason
}

func meanShare(values []float64) (mean float64) {
	for _, v := range values {
		mean += v
	}
	return mean / float64(max(len(values), 1)) // a mean of ones is one
}

func (r Reason) failing() string {
	text := fmt.Sprintf("not compared: %s of the %s failed in %s", ShareText(r.Value), r.Metric, r.Side)
	if r.Share > 0 {
		text += fmt.Sprintf(", and %s on the other side", ShareText(r.Share))
	}
	return text
}

// ShareText prints a share of failures in percent. Neither few nor nearly all are rounded to
// none or all.
func ShareText(share float64) string {
	percent := 100 * share
	switch {
	case math.IsNaN(share):
		return "n/a"
	case percent > 99.9 && percent < 100:
		return "over 99.9%"
	case percent >= 10:
		return strconv.FormatFloat(percent, 'f', 1-min(1, int(percent/100)), 64) + "%"
	}
	return strconv.FormatFloat(percent, 'g', 2, 64) + "%"
}

// isShare reports whether a contrast is about that share itself: it has values, and no ratio.
func (c *Contrast) isShare() bool { return c.Metric == workload.ErrorRatio }
