package selftest

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/internal/stats"
	"tare/internal/verdict"
)

// Summary is the result of a test: how often each design was wrong.
type Summary struct {
	Margin  float64       `json:"margin"`
	Sample  time.Duration `json:"sample_ns"`
	Took    time.Duration `json:"took_ns"` // without images and the search for the amount
	Cycles  int           `json:"cycles"`
	Lines   []Line        `json:"effects"`
	Rates   []Rates       `json:"rates"`
	Rows    []Outcome     `json:"outcomes"`
	Skipped []Skipped     `json:"skipped,omitempty"`
	// Failed counts trials.
	Failed int `json:"failed"`
	Trials int `json:"trials"`
	// Environments are those that were tested, with the amount of work of a sample.
	Environments []Tested `json:"environments"`
	Interrupted  bool     `json:"interrupted,omitempty"`
}

// Tested is an environment of the test.
type Tested struct {
	Environment string `json:"environment"`
	Label       string `json:"label,omitempty"` // shown with every value: tcg
	Operations  int64  `json:"operations"`      // of a sample; 0: not tested
	Requests    int64  `json:"requests"`
	// StealShare is the share of a core that the hypervisor took during samples; nil
	// where unknown.
	StealShare *float64 `json:"steal_share"`
}

// Skipped is an environment that could not be tested.
type Skipped struct {
	Environment string `json:"environment"`
	Reason      string `json:"reason"`
}

// Line sums up the outcomes of one effect in one environment and one design.
type Line struct {
	Environment string  `json:"environment"`
	Design      Design  `json:"design"`
	Effect      string  `json:"effect"`
	N           int     `json:"n"`
	Wrong       int     `json:"wrong"`
	Known       int     `json:"known"` // outcomes whose effect is known as a number
	Held        int     `json:"held"`  // of those, whose interval contains it
	Slower      int     `json:"slower"`
	Equivalent  int     `json:"equivalent"`
	Decided     int     `json:"decided"`
	Blocks      float64 `json:"blocks"`  // median of the decided ones; samples of a side in the usual design
	Seconds     float64 `json:"seconds"` // median of the decided ones
	Half        float64 `json:"half"`    // median half width of the interval, as a log ratio
}

// Rates are the shares over all environments and effects of a design.
type Rates struct {
	Design Design `json:"design"`
	// FalseAlarms are verdicts of a difference between equals.
	FalseAlarms Rate `json:"false_alarms"`
	// Held are the intervals that contain a known effect.
	Held Rate `json:"held"`
	// Found are the effects of at least the margin that were found as slower.
	Found Rate `json:"found"`
	// Equal are the equals that were found to be equivalent.
	Equal Rate `json:"equal"`
}

// Rate is a share of cases with its 95% interval. Low and High are 0 and 1 without
// cases.
type Rate struct {
	Of   int     `json:"of"`
	Hits int     `json:"hits"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// rate has the exact interval of a binomial share (Clopper and Pearson, The use of
// confidence or fiducial limits illustrated in the case of the binomial, Biometrika
// 26, 1934).
func rate(hits, of int) Rate {
	r := Rate{Of: of, Hits: hits, Low: 0, High: 1}
	const half = .025
	if hits > 0 {
		r.Low = distuv.Beta{Alpha: float64(hits), Beta: float64(of - hits + 1)}.Quantile(half)
	}
	if hits < of {
		r.High = distuv.Beta{Alpha: float64(hits + 1), Beta: float64(of - hits)}.Quantile(1 - half)
	}
	return r
}

// summarize evaluates outcomes: rows in, table out. The order of lines is that of the
// first outcome of each.
func summarize(rows []Outcome, margin float64) (lines []Line, rates []Rates) {
	for _, design := range []Design{Alternating, Usual} {
		of := slices.DeleteFunc(slices.Clone(rows), func(o Outcome) bool { return o.Design != design })
		if len(of) == 0 {
			continue
		}
		rates = append(rates, ratesOf(design, of, margin))
	}
	type key struct {
		environment string
		design      Design
		effect      string
	}
	groups := map[key][]Outcome{}
	var order []key
	for _, o := range rows {
		k := key{o.Environment, o.Design, o.Effect}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], o)
	}
	for _, k := range order {
		l := lineOf(groups[k], margin)
		l.Environment, l.Design, l.Effect = k.environment, k.design, k.effect
		lines = append(lines, l)
	}
	return lines, rates
}

func lineOf(rows []Outcome, margin float64) (l Line) {
	var blocks, seconds, halves []float64
	for _, o := range rows {
		l.N++
		if o.Wrong(margin) {
			l.Wrong++
		}
		if holds, known := o.Holds(); known {
			l.Known++
			if holds {
				l.Held++
			}
		}
		switch o.Verdict {
		case verdict.Slower:
			l.Slower++
		case verdict.Equivalent:
			l.Equivalent++
		}
		if decided(o) {
			l.Decided++
			blocks, seconds = append(blocks, float64(o.N)), append(seconds, o.Seconds)
		}
		halves = append(halves, (o.High-o.Low)/2)
	}
	l.Half = stats.Median(halves)
	if l.Decided > 0 {
		l.Blocks, l.Seconds = stats.Median(blocks), stats.Median(seconds)
	}
	return l
}

func decided(o Outcome) bool {
	return o.Verdict == verdict.Slower || o.Verdict == verdict.Faster || o.Verdict == verdict.Equivalent
}

func ratesOf(design Design, rows []Outcome, margin float64) Rates {
	share := func(among, hit func(Outcome) bool) Rate {
		hits, of := 0, 0
		for _, o := range rows {
			if among(o) {
				of++
				if hit(o) {
					hits++
				}
			}
		}
		return rate(hits, of)
	}
	is := func(v verdict.Verdict) func(Outcome) bool {
		return func(o Outcome) bool { return o.Verdict == v }
	}
	return Rates{
		Design:      design,
		FalseAlarms: share(Outcome.Null, func(o Outcome) bool { return o.Wrong(margin) }),
		Held: share(func(o Outcome) bool { _, known := o.Holds(); return known },
			func(o Outcome) bool { holds, _ := o.Holds(); return holds }),
		Found: share(func(o Outcome) bool { return !o.Null() && o.above(margin) }, is(verdict.Slower)),
		Equal: share(Outcome.Null, is(verdict.Equivalent)),
	}
}

// percent is a log ratio as a difference in percent.
func percent(log float64) float64 { return 100 * math.Expm1(log) }
