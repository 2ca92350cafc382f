package verdict

import (
	"cmp"
	"fmt"

	"tare/internal/stats"
)

// Reason says why a contrast has no verdict: a code with the fields that its words need.
// The codes Zero, NotPositive, GivenUp, FewBlocks and Unlooked are those of the warnings.
type Reason struct {
	Code string
	// Side is the one that it is about, as contrasts name it; "" for both.
	Side   string
	Metric string
	Value  float64
	Number int     // of a block or a result; or how many of them there are
	Second int     // how many there are in the second run
	Share  float64 // of the other side, where Value is a share
	Cause  string  // in words of a trial, or of a contrast that was read
}

// The other codes of reasons.
const (
	Lacking         = "lacking"          // given up, since the trials have no such metric
	NotPositiveOne  = "not-positive-one" // imported: a result, which has no block
	Failing         = "failing"          // more of the operations on one side
	Shares          = "shares"           // the metric is the share of failed operations
	NoPairs         = "no-pairs"         // no block has both sides
	TooFew          = "too-few"          // results of independent samples
	LooksEquivalent = "looks-equivalent" // so do two samples, which have no verdict
	LooksFaster     = "looks-faster"
	LooksSlower     = "looks-slower"
	LooksUndecided  = "looks-undecided"
	NotPositiveRun  = "not-positive-run" // Side is the first run or the second one
	UnpairedRun     = "unpaired-run"
	FewInRuns       = "few-in-runs"
	Incomparable    = "incomparable" // a confound makes the comparison meaningless
	Told            = "told"         // in words that were written before
)

// IsZero reports whether there is no reason.
func (r Reason) IsZero() bool { return r.Code == "" }

// String is the reason in words.
func (r Reason) String() string {
	switch r.Code {
	case Zero:
		if r.Side == "" {
			return "0 on both sides: there is no ratio"
		}
		return fmt.Sprintf("0 in %s in block %d: there is no ratio", r.Side, r.Number)
	case NotPositive:
		return fmt.Sprintf("%s is %g in %s in block %d: only positive values have ratios", cmp.Or(r.Metric, "value"), r.Value, r.Side, r.Number)
	case NotPositiveOne:
		return fmt.Sprintf("%s is %g in %s, result %d: only positive values have ratios", r.Metric, r.Value, r.Side, r.Number)
	case GivenUp, Lacking:
		if cause := r.cause(); cause != "" {
			return "no value from " + r.Side + ": " + cause
		}
		return "no value from " + r.Side
	case Failing:
		return r.failing()
	case Shares:
		return "a share of failures, which has no verdict"
	case NoPairs:
		return "no block has a value on both sides"
	case FewBlocks:
		return fmt.Sprintf("%s: below %d there is no interval", blocksOf(r.Number), stats.LeastBlocks)
	case Unlooked:
		return fmt.Sprintf("%s: below %d there is no interval", blocksOf(r.Number), stats.LeastBlocks)
	case Unpaired:
		return "without blocks the values are unpaired"
	case NotPositiveRun:
		return fmt.Sprintf("the %s run has values of 0 or less, which have no ratio", r.Side)
	case UnpairedRun:
		return "imported, and the results are unpaired"
	case FewInRuns:
		return fmt.Sprintf("%d and %d blocks are too few for an interval at level %.2g", r.Number, r.Second, r.Value)
	case TooFew:
		return "too few results for an interval"
	case Incomparable:
		return "not comparable: " + r.Cause
	case LooksEquivalent:
		return "looks equivalent"
	case LooksFaster:
		return "looks faster"
	case LooksSlower:
		return "looks slower"
	case LooksUndecided:
		return "looks undecided"
	}
	return r.Cause
}

func (r Reason) cause() string {
	if r.Code == Lacking {
		return "the trial has no " + r.Metric
	}
	return r.Cause
}

// CauseOf is why this side has no value; "" where the reason is another.
func (r Reason) CauseOf(side string) string {
	if r.Side == side && (r.Code == GivenUp || r.Code == Lacking) {
		return r.cause()
	}
	return ""
}

// MarshalText writes the words.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads words.
func (r *Reason) UnmarshalText(text []byte) error {
	*r = Reason{}
	if len(text) > 0 {
		*r = Reason{Code: Told, Cause: string(text)}
	}
	return nil
}
