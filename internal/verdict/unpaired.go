package verdict

import (
	"fmt"
	"math"

	"tare/internal/stats"
)

// OrderUnpaired is the order of a plan whose trials nothing pairs: imported
// results. Its contrasts describe two samples. They have an estimate and an
// interval, and never a verdict, since no error rate is known.
const OrderUnpaired = "unpaired"

// UnknownFresh says of a workload that nobody knows whether its instances were
// fresh.
const UnknownFresh = "unknown"

// enoughResults is the number of results from which the interval is not called
// small: where the procedure's own first look is.
var enoughResults = stats.NextLook(0)

// compare describes a contrast of two samples that nothing pairs.
func (b *Book) compare(e *entry) {
	c := &e.contrast
	s, base := e.s, e.base
	own, others := s.values(s.blocks), base.values(base.blocks)
	c.Unpaired, c.Verdict = true, None
	c.N = min(len(own), len(others))
	c.Values, c.Base = SideOf(own), SideOf(others)
	c.Confidence = float64(b.plan.Design.Confidence)
	c.Alpha = 1 - c.Confidence
	c.AlphaEq = 2 * c.Alpha
	for name, side := range b.sides(e) {
		switch {
		case side.useless > 0:
			c.N, c.Reason = 0, fmt.Sprintf("%s is %g in %s, result %d: only positive figures have ratios", c.Metric, side.uselessValue, name, side.useless)
			c.warning(NotPositive, "%s", c.Reason)
			return
		case len(side.blocks) == 0:
			c.Reason = "no figure from " + name
			if side.reason != "" {
				c.Reason += ": " + side.reason
			}
			return
		}
	}
	v := stats.Shift(s.logs, base.logs, c.Alpha)
	c.Estimate, c.Middle = v.Estimate, v.Estimate
	c.Low, c.High = v.Low, v.High
	c.Least, c.Most = math.Log(c.Values.Least/c.Base.Most), math.Log(c.Values.Most/c.Base.Least)
	c.OutlierShare = stats.OutlierShare(s.logs)
	c.TailP95, c.TailP99 = stats.QuantileRatio(own, others, .95), stats.QuantileRatio(own, others, .99)
	if v.Bounded() {
		c.IntervalN = c.N
	}
	c.Reason = c.appearance(stats.Shift(s.logs, base.logs, c.AlphaEq))
	b.conditions(e)
}

// appearance is what the two samples look like, in a word that no verdict uses.
func (c *Contrast) appearance(equivalence stats.Interval) string {
	shown := stats.Interval{Estimate: c.Estimate, Low: c.Low, High: c.High}
	switch {
	case !shown.Bounded():
		return "too few results for an interval"
	case equivalence.Inside(c.logMargin()):
		return "looks equivalent"
	case shown.ExcludesZero() && (c.Estimate > 0) == (c.Better == "higher"):
		return "looks faster"
	case shown.ExcludesZero():
		return "looks slower"
	}
	return "looks undecided"
}

// conditions warns of what the procedure asks for and these results do not
// have.
func (b *Book) conditions(e *entry) {
	c := &e.contrast
	c.warning(Unpaired, "not interleaved, or not known to be: a drift of the machine between the two samples looks like a difference, no error rate is known, and the interval describes these samples only")
	b.importWarnings(e)
	if least := min(c.Values.N, c.Base.N); least < enoughResults {
		c.warning(FewResults, "%d results of %s and %d of %s: few for an interval, and the procedure would not look before %d",
			c.Values.N, c.Environment, c.Base.N, c.Baseline, enoughResults)
	}
}

// importWarnings are those of imported results, paired or not.
func (b *Book) importWarnings(e *entry) {
	switch e.fresh {
	case UnknownFresh:
		e.contrast.warning(FreshUnknown, "nothing is known of whether the instance was fresh each time: if one instance gave all results, the variation between instances was not measured")
	case "run":
		e.contrast.warning(OneInstance, "one instance gave all results: the variation between instances was not measured")
	}
}

// described is the sentence for a contrast that nothing pairs.
func (c Contrast) described() string {
	text := fmt.Sprintf("%s against %s %s", c.Environment, c.Baseline, c.Reason)
	if c.N == 0 {
		return text
	}
	text += ": " + Change(c.Estimate)
	if c.Bounded() {
		text += " " + c.interval(Change)
	}
	return text + fmt.Sprintf(" from %d and %d results that nothing pairs: no verdict", c.Values.N, c.Base.N)
}
