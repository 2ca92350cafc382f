package anomaly

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tare/internal/base/lists"
	"tare/internal/stats"
)

// Words are the finding in words. figure formats a value with its unit.
func (f Finding) Words(figure func(v float64, unit string) string) string {
	in := terms{f.Imported, "block", func(v float64) string { return figure(v, f.Unit) }}
	if f.Imported {
		in.noun = "result"
	}
	if f.Against == "" {
		return f.words(in)
	}
	in.figure = func(ratio float64) string { return percent(ratio - 1) }
	return "difference from " + f.Against + ": " + f.words(in)
}

// terms are what the words depend on besides what was found.
type terms struct {
	imported bool
	noun     string // for a block: the blocks of an import are its results
	figure   func(float64) string
}

// Range is that of some values.
type Range struct {
	N           int
	Least, Most float64
	Blocks      []int
}

// span is the range; one value if both ends look the same.
func (in terms) span(r Range) string {
	least, most := in.figure(r.Least), in.figure(r.Most)
	if least == most {
		return least
	}
	return least + " to " + most
}

// Modes are two ranges without values in between.
type Modes struct {
	Low, High Range
	Ratio     float64 // of their medians
}

func (m Modes) words(in terms) string {
	few := fmt.Sprintf("%d %ss", m.Low.N, in.noun)
	if m.Low.N == 1 {
		few = "1 " + in.noun
	}
	text := fmt.Sprintf("two modes without values in between: %s at %s (%s) and %d at %s (%s), a factor of %.2f apart; neither mean nor median describes both",
		few, in.span(m.Low), lists.Ranges(m.Low.Blocks), m.High.N, in.span(m.High), lists.Ranges(m.High.Blocks), m.Ratio)
	if n := math.Round(m.Ratio); n >= 2 && math.Abs(m.Ratio/n-1) < .05 && in.imported {
		text += fmt.Sprintf("; check whether the number of cores or threads changed, which would give a factor of %.0f", n)
	}
	return text
}

// Trend is one over the blocks.
type Trend struct {
	N int
	stats.Trend
}

func (t Trend) words(in terms) string {
	return fmt.Sprintf("drift over the %ss: %s from the first of %d to the last (Mann-Kendall, p %s); the values depend on the time of measurement",
		in.noun, percent(math.Expm1(t.Total)), t.N, probability(t.P))
}

// Outlier is a value far from all others.
type Outlier struct {
	Block  int
	First  bool
	Value  float64
	Others Range
}

func (o Outlier) words(in terms) string {
	which, cold := fmt.Sprintf("%s %d", in.noun, o.Block), ""
	if o.First && in.imported {
		which, cold = "the first result", ", as after a cold start"
	}
	return fmt.Sprintf("%s is far from the other %d: %s vs %s%s", which, o.Others.N, in.figure(o.Value), in.span(o.Others), cold)
}

// Spreading is the interquartile range of an environment, as a share.
type Spreading struct {
	Environment string
	Share       float64
}

// Spreads are those that are far wider than the baseline's.
type Spreads struct {
	Wide     []Spreading
	Baseline Spreading
}

func (s Spreads) words(terms) string {
	wide := lists.Map(s.Wide, func(w Spreading) string { return share(w.Share) + " in " + w.Environment })
	return fmt.Sprintf("the interquartile range of the results is %s, and %s in %s: the environments differ in their variation, or the machine did",
		strings.Join(wide, ", "), share(s.Baseline.Share), s.Baseline.Environment)
}

// Bests are best results that agree, while the medians do not.
type Bests struct {
	Baseline       string
	Own, Baselines float64
	Change         float64 // of the median
}

func (b Bests) words(in terms) string {
	return fmt.Sprintf("its best result equals that of %s (%s and %s), but its median is %s away: the difference is not always present, so the environment alone hardly causes it",
		b.Baseline, in.figure(b.Own), in.figure(b.Baselines), percent(b.Change))
}

// Limit is what bounds the best results of several environments.
type Limit struct {
	Environments []string
	Value        float64
}

func (l Limit) words(in terms) string {
	return fmt.Sprintf("the best results of %s agree to %s at %s: a shared limit (a network line, a set rate, a core at its full clock) bounds them, and hides which of them is better",
		strings.Join(l.Environments, ", "), share(agree/2), in.figure(l.Value))
}

// Same are values that are all the same.
type Same struct {
	N      int
	Within float64 // a share
}

func (s Same) words(terms) string {
	return fmt.Sprintf("all %d results of all environments lie within %s: such a value was set (a rate, a duration) and not measured, so it shows no difference between environments",
		s.N, share(math.Max(s.Within, 1e-6)))
}

// Factor is one that no environment explains.
type Factor struct {
	Baseline string
	Ratio    float64
}

func (f Factor) words(terms) string {
	return fmt.Sprintf("%.2f times as fast as %s: no environment makes CPU-bound work so much faster; check that the machine and the number of cores or threads were the same", f.Ratio, f.Baseline)
}

// Setting is one of the tool that has several values, each in other environments.
type Setting struct {
	Name    string
	Choices []Choice
}

// Choice is a value of a setting, and the environments that have it.
type Choice struct {
	Value   string
	Holders []Holder
}

// Holder is an environment with a value of a setting; Results are those that have it, if
// others of the environment have another one.
type Holder struct {
	Environment string
	Results     []int
}

func (s Setting) words(terms) string {
	return s.differs() + "; the values measure different work, not only different environments"
}

func (s Setting) differs() string {
	return s.Name + " differs: " + strings.Join(lists.Map(s.Choices, func(c Choice) string {
		return c.Value + " in " + strings.Join(lists.Map(c.Holders, Holder.String), " and ")
	}), ", ")
}

// String is the environment with its results.
func (h Holder) String() string {
	if len(h.Results) == 0 {
		return h.Environment
	}
	return fmt.Sprintf("%s (results %s)", h.Environment, lists.Ranges(h.Results))
}

// Work are settings that have several values in one environment.
type Work []Setting

func (w Work) words(terms) string {
	swept := lists.Map(w, func(s Setting) string { return s.Name })
	mixed := lists.Map(w, func(s Setting) string {
		if len(s.Choices) == 2 {
			return s.differs()
		}
		return s.Name + " is " + orList(lists.Map(s.Choices, func(c Choice) string { return c.Value }))
	})
	return fmt.Sprintf("results of one environment measure different work: %s. Import them with --level %s (in a manifest, levels: [%s]), which makes a level of each combination",
		strings.Join(mixed, "; "), strings.Join(swept, ","), strings.Join(swept, ", "))
}

// Distance is how long after the baseline an environment was measured.
type Distance struct {
	Environment string
	After       time.Duration
}

// Distances are those of days.
type Distances struct {
	Baseline string
	Each     []Distance
}

func (d Distances) words(terms) string {
	far := lists.Map(d.Each, func(d Distance) string {
		return fmt.Sprintf("%s %.1f days %s", d.Environment, d.After.Abs().Hours()/24, map[bool]string{true: "before", false: "after"}[d.After < 0])
	})
	return fmt.Sprintf("measured days apart, %s %s: the results do not tell whether machine, kernel and software were the same", strings.Join(far, ", "), d.Baseline)
}

// orList lists values, of many only the first ones.
func orList(values []string) string {
	if len(values) > 8 {
		return fmt.Sprintf("%s or one of %d more", strings.Join(values[:8], ", "), len(values)-8)
	}
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

func percent(x float64) string { return fmt.Sprintf("%+.1f%%", 100*x) }

// share formats a share with two significant digits.
func share(x float64) string {
	return strconv.FormatFloat(100*x, 'g', 2, 64) + "%"
}

func probability(p float64) string {
	if p < .001 {
		return "< 0.1%"
	}
	return "= " + share(p)
}
