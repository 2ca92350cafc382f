package verdict

import (
	"fmt"
	"math"

	"tare/internal/stats"
)

// OrderUnpaired is the order of a plan without blocks: imported results. Its
// contrasts describe two independent samples. They have an estimate and an
// interval but no verdict, since no error rate is known.
const OrderUnpaired = "unpaired"

// UnknownFresh is the freshness of imported results.
const UnknownFresh = "unknown"

// enoughResults is the number of results below which there is a warning: the
// first interim analysis of the paired procedure.
const enoughResults = stats.LeastLook

// describeUnpaired fills in a contrast of two samples that no block pairs.
func (b *Book) describeUnpaired(e *entry) {
	c := &e.contrast
	s, base := e.s, e.base
	own, others := s.values(s.blocks), base.values(base.blocks)
	c.Unpaired, c.Verdict = true, None
	c.N = min(len(own), len(others))
	c.Values, c.Base = SideOf(own), SideOf(others)
	c.Confidence = float64(b.plan.Design.Confidence)
	c.Alpha = 1 - c.Confidence
	c.AlphaEq = 2 * c.Alpha
	reason := b.failing(e)
	if c.isShare() && !e.value {
		reason = Reason{Code: Shares}
	}
	if !reason.IsZero() {
		c.N, c.Reason = 0, reason
		c.warn(Warning{Code: reason.Code, Reason: reason})
		return
	}
	for name, side := range b.sides(e) {
		switch {
		case side.nonPositive > 0:
			c.N, c.Reason = 0, Reason{Code: NotPositiveOne, Side: name, Metric: c.Metric, Value: side.nonPositiveValue, Number: side.nonPositive}
			c.warn(Warning{Code: NotPositive, Reason: c.Reason})
			return
		case len(side.blocks) == 0:
			c.Reason = side.why(name)
			return
		}
	}
	interval := func(alpha float64) stats.Interval {
		if e.value {
			return e.estimate(s.logs, alpha)
		}
		return stats.Shift(s.logs, base.logs, alpha)
	}
	v := interval(c.Alpha)
	c.Estimate, c.Middle = v.Estimate, v.Estimate
	c.Low, c.High = v.Low, v.High
	c.Least, c.Most = math.Log(c.Values.Least/c.Base.Most), math.Log(c.Values.Most/c.Base.Least)
	c.OutlierShare = stats.OutlierShare(s.logs)
	c.TailP95, c.TailP99 = stats.QuantileRatio(own, others, .95), stats.QuantileRatio(own, others, .99)
	if v.Bounded() {
		c.IntervalN = c.N
	}
	c.Reason = Reason{Code: c.appearance(interval(c.AlphaEq))}
	b.conditions(e)
}

// appearance is how two samples look that have no verdict.
func (c *Contrast) appearance(equivalence stats.Interval) string {
	shown := stats.Interval{Estimate: c.Estimate, Low: c.Low, High: c.High}
	switch {
	case !shown.Bounded():
		return TooFew
	case equivalence.Inside(c.logMargin()):
		return LooksEquivalent
	case shown.ExcludesZero() && (c.Estimate > 0) == (c.Better == "higher"):
		return LooksFaster
	case shown.ExcludesZero():
		return LooksSlower
	}
	return LooksUndecided
}

// conditions warns of the conditions of the procedure that imported results do
// not meet.
func (b *Book) conditions(e *entry) {
	c := &e.contrast
	c.warn(Warning{Code: Unpaired, Imported: true})
	b.importWarnings(e)
	if min(c.Values.N, c.Base.N) < enoughResults {
		c.warn(Warning{Code: FewResults, Number: c.Values.N, Side: c.Environment, Second: c.Base.N, Other: c.Baseline})
	}
}

// importWarnings are those of imported results, paired or not.
func (b *Book) importWarnings(e *entry) {
	switch e.fresh {
	case UnknownFresh:
		e.contrast.warn(Warning{Code: FreshUnknown})
	case "run":
		e.contrast.warn(Warning{Code: OneInstance, Imported: true})
	}
}

// unpairedSentence is the wording of a contrast of two unpaired samples.
func (c Contrast) unpairedSentence() string {
	text := fmt.Sprintf("%s against %s %s", c.Environment, c.Baseline, c.Reason)
	if c.N == 0 {
		return text
	}
	text += ": " + Change(c.Estimate)
	if c.Bounded() {
		text += " " + c.interval(Change)
	}
	return text + fmt.Sprintf(" from %d and %d unpaired results: no verdict", c.Values.N, c.Base.N)
}
