// Package verdict turns the trials of a run into contrasts: one metric of one
// workload at one level, in one environment against the baseline, with an
// estimate, an interval and a verdict. It is a pure function of the plan and
// the trials.
//
// It must not know how a trial is run, nor when a run stops. The statistics are
// in package stats.
package verdict

import (
	"encoding/json"
	"fmt"
	"math"

	"tare/internal/stats"
	"tare/internal/subject"
)

// Verdict says how an environment compares with the baseline on one metric.
type Verdict string

// The verdicts.
const (
	Slower       Verdict = "slower"       // worse, whatever the metric counts
	Faster       Verdict = "faster"       // better
	Equivalent   Verdict = "equivalent"   // inside the margin
	Inconclusive Verdict = "inconclusive" // the interval is too wide to decide
	None         Verdict = "none"         // no interval at all; Reason says why
)

// FarAway is the number of blocks beyond which a projection is not printed as a
// number: extrapolated from few noisy blocks, it only says that this machine will
// not decide.
const FarAway = 1000

// Contrast is one metric of one workload at one level, in one environment
// against the baseline. Differences are natural-log ratios, environment over
// baseline, one per block.
type Contrast struct {
	Workload    string `json:"workload"`
	Level       string `json:"level,omitempty"` // of the swept parameters: clients=10
	Metric      string `json:"metric"`
	Unit        string `json:"unit"`
	Better      string `json:"better"` // lower or higher
	Primary     bool   `json:"primary"`
	Environment string `json:"environment"`
	Baseline    string `json:"baseline"`
	// BaseLevel is the level that this one is compared with, where the baseline
	// is the environment itself; "" where it is another one, at the same level.
	BaseLevel string `json:"base_level,omitempty"`
	// Part is the key of the part in which the two sides of a step differ, and Name
	// its title; "" for the total of a ladder. Orders is the number of steps that
	// switch the part on; the contrast is their mean, and Environment and Baseline
	// are those of the first.
	Part   string `json:"part,omitempty"`
	Name   string `json:"name,omitempty"`
	Orders int    `json:"orders,omitempty"`
	// Label is shown with every value of the environment, BaselineLabel with those
	// of the baseline: "tcg".
	Label         string `json:"label,omitempty"`
	BaselineLabel string `json:"baseline_label,omitempty"`

	// Unpaired: the sides are two independent samples. N is the size of the smaller
	// one, and there is no verdict.
	Unpaired bool `json:"unpaired,omitempty"`

	N int `json:"n"` // blocks with a value on both sides
	// Rounds are those that the blocks were compared by; nil if any block was compared
	// by its trials.
	Rounds *Rounds `json:"rounds,omitempty"`
	Values Side    `json:"values"`
	Base   Side    `json:"baseline_values"`
	// Middle, Least and Most are the median and the range of the log ratios.
	Middle float64 `json:"-"`
	Least  float64 `json:"-"`
	Most   float64 `json:"-"`

	// Estimate, Low and High are log ratios; an end without a bound is infinite.
	Estimate  float64 `json:"-"`
	Low       float64 `json:"-"`
	High      float64 `json:"-"`
	IntervalN int     `json:"interval_n"` // blocks that the interval is computed from; 0 while there is none
	// Confidence is that of the interval of this figure alone, whenever its run ended. An
	// interval of a part of a ladder holds for all parts together.
	Confidence float64 `json:"confidence"`
	// Simultaneous holds for all contrasts of the family together; zero where there is none.
	Simultaneous Ends `json:"simultaneous,omitzero"`
	// Precise: the interval is as narrow as the study asks for. While it is not, the
	// environment stays, also with a verdict.
	Precise bool    `json:"precise,omitempty"`
	Alpha   float64 `json:"alpha"`           // two-sided level of the interval
	AlphaEq float64 `json:"alpha_eq"`        // two-sided level of the interval that must lie inside the margin
	Family  int     `json:"m"`               // contrasts that share the error rate
	Margin  float64 `json:"margin"`          // a ratio: 0.02
	Looks   []int   `json:"looks,omitempty"` // looks taken so far
	Verdict Verdict `json:"verdict"`         //
	Look    int     `json:"look,omitempty"`  // number of blocks at the interim analysis that gave the verdict, or at the last one
	Block   int     `json:"block,omitempty"` // the block that settled the contrast
	Open    bool    `json:"open"`            // more blocks can still change the verdict
	Reason  Reason  `json:"reason,omitzero"` // why there is none

	// Leaning is where an inconclusive contrast leans: its interval excludes zero, but the
	// family shares the error. "" where it does not.
	Leaning Verdict `json:"leaning,omitempty"`
	// InsideMargin: equivalent, although the interval excludes zero.
	InsideMargin bool `json:"inside_margin,omitempty"`
	// Projection is how many blocks it would take to decide, and be precise where the run
	// waits for that; 0 where unknown.
	Projection   int     `json:"projection,omitempty"`
	OutlierShare float64 `json:"outlier_share"`
	// TailP95 and TailP99 compare the tails over the blocks: quantile of the
	// environment's values over that of the baseline's. 0 while there is none.
	TailP95 float64 `json:"tail_p95,omitempty"`
	TailP99 float64 `json:"tail_p99,omitempty"`
	// Companion is the metric to report together with this one.
	Companion string `json:"companion,omitempty"`
	// LengthBias is how much the length of the samples biases the estimate; nil where
	// it was not measured.
	LengthBias *LengthBias `json:"length_bias,omitempty"`
	// Nodes compares the nodes that the blocks ran on; nil if there are not several.
	Nodes    *Nodes    `json:"nodes,omitempty"`
	Warnings []Warning `json:"warnings,omitempty"`
}

// Ends of an interval, as log ratios. They are infinite where there is no bound.
type Ends struct{ Low, High float64 }

// Over is the interval of the quotient of two values that no block pairs, from theirs: the
// least and the most that both allow. With normal errors its confidence is at least theirs,
// however the two depend on each other.
func (e Ends) Over(other Ends) Ends { return Ends{e.Low - other.High, e.High - other.Low} }

// MarshalJSON writes an end without a bound as null.
func (e Ends) MarshalJSON() ([]byte, error) {
	return json.Marshal([]*float64{finite(e.Low), finite(e.High)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *Ends) UnmarshalJSON(data []byte) error {
	var in [2]*float64
	err := json.Unmarshal(data, &in)
	*e = Ends{orElse(in[0], math.Inf(-1)), orElse(in[1], math.Inf(1))}
	return err
}

// Figure is what is compared with the baseline.
func (c *Contrast) Figure() subject.Figure {
	return subject.Place{Workload: c.Workload, Level: c.Level}.In(c.Environment).Of(c.Metric)
}

// Rounds is the range of the number of rounds in a block that both sides have.
type Rounds struct {
	Least int `json:"least"`
	Most  int `json:"most"`
}

// String is "16 rounds", or "12 to 16 rounds".
func (r Rounds) String() string {
	switch {
	case r.Least < r.Most:
		return fmt.Sprintf("%d to %d rounds", r.Least, r.Most)
	case r.Most == 1:
		return "1 round"
	}
	return fmt.Sprintf("%d rounds", r.Most)
}

// Side summarises the values of one side, in the metric's unit: those of the
// blocks that both sides have, or all where no block has both.
type Side struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

// MarshalJSON writes the summary of no values as null: absent is not zero. So is what
// JSON has no number for.
func (s Side) MarshalJSON() ([]byte, error) {
	if s.N == 0 {
		s.Median, s.Least, s.Most = math.NaN(), math.NaN(), math.NaN()
	}
	return json.Marshal(struct {
		N      int      `json:"n"`
		Median *float64 `json:"median"`
		Least  *float64 `json:"least"`
		Most   *float64 `json:"most"`
	}{s.N, finite(s.Median), finite(s.Least), finite(s.Most)})
}

// Ratio is the estimate with its interval as a ratio, environment over
// baseline; the ends are 0 and infinite where there is no bound.
func (c Contrast) Ratio() stats.Interval {
	return stats.Interval{Estimate: math.Exp(c.Estimate), Low: math.Exp(c.Low), High: math.Exp(c.High)}
}

// RangeOnly reports whether a contrast has only a median and a range.
func (c *Contrast) RangeOnly() bool { return c.Verdict == None && !c.Unpaired }

// Point is the log ratio to show: the estimate, or the median of the blocks where there is no
// interval.
func (c *Contrast) Point() float64 {
	if c.RangeOnly() {
		return c.Middle
	}
	return c.Estimate
}

// Bounded reports whether there is an interval to show.
func (c Contrast) Bounded() bool {
	return c.IntervalN > 0 && !math.IsInf(c.Low, 0) && !math.IsInf(c.High, 0)
}

type fields Contrast // the plain ones, without the methods

type span struct {
	Estimate *float64 `json:"estimate"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
}

type withEnds struct {
	fields
	span
	// null without blocks
	OutlierShare *float64 `json:"outlier_share"`
	Ratios       span     `json:"ratios"`
	Range        span     `json:"range"` // of the blocks' ratios: median, least, most
}

// MarshalJSON writes null where JSON has no number: an end without a bound, an
// estimate from no blocks.
func (c Contrast) MarshalJSON() ([]byte, error) {
	r := c.Ratio()
	out := withEnds{
		fields: fields(c),
		span:   span{finite(c.Estimate), finite(c.Low), finite(c.High)},
		Ratios: span{finite(r.Estimate), finite(r.Low), finite(r.High)},
		Range:  span{finite(math.Exp(c.Middle)), finite(math.Exp(c.Least)), finite(math.Exp(c.Most))},
	}
	if c.N > 0 {
		out.OutlierShare = &c.OutlierShare
	}
	if out.span.Low == nil {
		out.Ratios.Low = nil // exp(-∞) is 0, and would look like a bound
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Contrast) UnmarshalJSON(data []byte) error {
	var in withEnds
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*c = Contrast(in.fields)
	c.OutlierShare = orElse(in.OutlierShare, 0)
	c.Estimate = orElse(in.span.Estimate, math.NaN())
	c.Low, c.High = orElse(in.span.Low, math.Inf(-1)), orElse(in.span.High, math.Inf(1))
	c.Middle = math.Log(orElse(in.Range.Estimate, math.NaN()))
	c.Least, c.Most = math.Log(orElse(in.Range.Low, math.NaN())), math.Log(orElse(in.Range.High, math.NaN()))
	return nil
}

func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func orElse(p *float64, otherwise float64) float64 {
	if p == nil {
		return otherwise
	}
	return *p
}
