package budget

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/verdict"
)

// Outcome says whether a run keeps a rule.
type Outcome string

// The outcomes.
const (
	Met       Outcome = "met"
	Broken    Outcome = "broken"
	Undecided Outcome = "undecided"
)

// Result is a rule for one workload at one level.
type Result struct {
	Rule
	Workload    string            `json:"workload"`
	Level       string            `json:"level,omitempty"`
	Metric      string            `json:"metric"`
	Unit        string            `json:"unit"` // of bound and interval; "" for a ratio
	Environment string            `json:"environment"`
	Baseline    string            `json:"baseline,omitempty"`
	Label       string            `json:"label,omitempty"`
	Outcome     Outcome           `json:"outcome"`
	Bound       float64           `json:"bound"`
	Estimate    *float64          `json:"estimate"` // null without a value, and an end without a bound
	Low         *float64          `json:"low"`
	High        *float64          `json:"high"`
	N           int               `json:"n"` // blocks
	Confidence  float64           `json:"confidence"`
	Reason      string            `json:"reason,omitempty"` // why it is undecided
	Warnings    []verdict.Warning `json:"warnings,omitempty"`

	contrast verdict.Contrast
	// zero says that a value was 0 in all blocks, which has no logarithm and so no interval.
	zero bool
	// failing is why a value is not that of the same work as the baseline's.
	failing string
}

// Check decides all rules. A rule about something that the run does not have is an
// error: it would otherwise be kept by no longer being measured.
func Check(rules []Rule, in model.Input) ([]Result, error) {
	var results []Result
	var wrong []error
	known := tables{in: in, of: map[string][]verdict.Contrast{}}
	for _, r := range rules {
		found, err := known.decide(r)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: %w", r.Line, err))
		}
		results = append(results, found...)
	}
	return results, errors.Join(wrong...)
}

// tables are the contrasts of a run, by what they compare with.
type tables struct {
	in model.Input
	of map[string][]verdict.Contrast
}

func (t tables) decide(r Rule) ([]Result, error) {
	names := lists.Map(t.in.Plan.Environments, func(e study.Environment) string { return e.Name })
	for _, name := range []string{r.environment, cmp.Or(r.base, r.environment)} {
		if !slices.Contains(names, name) {
			return nil, errors.New(strictyaml.Unknown("environment", name, names))
		}
	}
	all := lists.Filter(t.contrasts(r), func(c verdict.Contrast) bool { return c.Environment == r.environment && c.Part == "" })
	if reason := t.unmeasured(r, all); reason != "" {
		// The values of the baseline have all names that a rule can have.
		if _, _, err := t.named(r, t.contrasts(Rule{environment: t.in.Plan.Baseline})); err != nil {
			return nil, err
		}
		return []Result{{Rule: r, Workload: r.workload, Level: strings.Join(r.level, ","), Metric: r.metric, Environment: r.environment, Baseline: r.base,
			Outcome: Undecided, Bound: r.ratio, Reason: reason, contrast: verdict.Contrast{Estimate: math.NaN()}}}, nil
	}
	name, metrics, err := t.named(r, all)
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, c := range metrics {
		if c.Metric != name {
			continue
		}
		result := Result{Rule: r, Workload: c.Workload, Level: c.Level, Metric: c.Metric, Environment: c.Environment, Baseline: r.base,
			Label: c.Label, N: c.N, Confidence: c.Confidence, Bound: r.ratio, Warnings: c.Warnings, contrast: c}
		if r.base == "" {
			result.Unit = c.Unit
			if result.Bound, err = model.ParseFigure(r.bound, c.Unit); err != nil {
				return nil, err
			}
			if c.NoRatio() {
				result.N, result.zero = t.zeros(c)
			}
		}
		result.failing = t.failing(r, &c)
		result.conclude()
		results = append(results, result)
	}
	return results, nil
}

// named are the contrasts of the workloads and levels that a rule names, among some, and
// the name of its metric there.
func (t tables) named(r Rule, among []verdict.Contrast) (string, []verdict.Contrast, error) {
	metrics := lists.Filter(among, func(c verdict.Contrast) bool {
		return (r.workload == "" || c.Workload == r.workload) && r.at(c.Level)
	})
	if len(metrics) == 0 {
		return "", nil, fmt.Errorf("the run has no %s; it has %s", strictyaml.Quoted(strings.Join(append([]string{r.workload}, r.level...), " ")), t.workloads())
	}
	if r.workload == "" && slices.ContainsFunc(t.in.Plan.Workloads, func(w study.Workload) bool { return w.Name == r.metric }) {
		return "", nil, fmt.Errorf("%s is a workload: write a metric after it", r.metric)
	}
	name, err := metricOf(r.metric, metrics)
	return name, metrics, err
}

// contrasts are those that a rule is decided by.
func (t tables) contrasts(r Rule) []verdict.Contrast {
	in := t.in
	// The report of a ladder has its ends alone, besides its parts.
	if r.base == in.Plan.Baseline && (len(in.Plan.Steps) == 0 || slices.ContainsFunc(in.Contrasts, func(c verdict.Contrast) bool { return c.Environment == r.environment && c.Part == "" })) {
		return in.Contrasts
	}
	key := cmp.Or(r.base, r.environment+" ")
	if all, known := t.of[key]; known {
		return all
	}
	switch {
	case r.base != "":
		t.of[key] = verdict.With(r.base, in.Plan, in.Trials, in.Manifest)
		if in.Mark != nil {
			t.of[key] = in.Mark(t.of[key])
		}
	default:
		t.of[key] = verdict.Values(r.environment, in.Plan, in.Trials, in.Manifest)
	}
	return t.of[key]
}

// failing says of a comparison, or of a value by that with the run's baseline, that its
// environment fails more than the other side.
func (t tables) failing(r Rule, c *verdict.Contrast) string {
	if r.base == "" {
		of := c.Figure()
		c = lists.Find(t.in.Contrasts, func(c *verdict.Contrast) bool { return c.Figure() == of && c.Part == "" })
	}
	if c == nil || c.Reason.Code != verdict.Failing || c.Reason.Side != c.Environment {
		return ""
	}
	return c.Reason.String()
}

// zeros is how many values a contrast's environment has, and whether all are 0.
func (t tables) zeros(c verdict.Contrast) (n int, all bool) {
	zero := 0
	for _, trial := range t.in.Trials {
		x, has := trial.Metrics[c.Metric]
		if !has || trial.Status != rundir.OK || trial.Environment != c.Environment || trial.Workload != c.Workload || trial.Level != c.Level {
			continue
		}
		if n++; x == 0 {
			zero++
		}
	}
	return n, n > 0 && zero == n
}

// unmeasured says why an environment has no values at all; "" where it has.
func (t tables) unmeasured(r Rule, all []verdict.Contrast) string {
	if slices.ContainsFunc(all, func(c verdict.Contrast) bool { return c.N > 0 || c.Values.N > 0 }) {
		return ""
	}
	for _, name := range []string{r.environment, r.base} {
		for _, f := range t.in.Manifest.Environments[name].Findings {
			if f.State == environment.Missing {
				return fmt.Sprintf("%s did not run: %s", name, f.Reason)
			}
		}
	}
	if len(all) > 0 {
		return "" // each contrast has its reason
	}
	return "no trial has a value"
}

func (t tables) workloads() string {
	var all []string
	for _, w := range t.in.Plan.Workloads {
		for _, l := range w.Levels {
			all = append(all, place(w.Name, l.Name))
		}
	}
	return strings.Join(all, ", ")
}

var nextSetting = regexp.MustCompile(`[ ,]+([^ ,=]+=)`)

// place is a workload at a level as a rule writes it: redis clients=50.
func place(workload, level string) string {
	return strings.TrimSpace(workload + " " + nextSetting.ReplaceAllString(level, " $1"))
}

// at reports whether a level has all settings of the rule.
func (r Rule) at(level string) bool {
	level = place("", level)
	return !slices.ContainsFunc(r.level, func(want string) bool { return !strings.Contains(" "+level+" ", " "+want+" ") })
}

// mostMetrics are so many that an error lists them.
const mostMetrics = 20

// metricOf finds a metric by its name or by the end of it after a _: p99.
func metricOf(name string, among []verdict.Contrast) (string, error) {
	var names, primary, ending []string
	for _, c := range among {
		if c.Metric == name {
			return name, nil
		}
		if !slices.Contains(names, c.Metric) {
			names = append(names, c.Metric)
			if c.Primary && !slices.Contains(primary, c.Metric) {
				primary = append(primary, c.Metric)
			}
			if strings.HasSuffix(c.Metric, "_"+name) {
				ending = append(ending, c.Metric)
			}
		}
	}
	switch len(ending) {
	case 1:
		return ending[0], nil
	case 0:
		if near := strictyaml.Nearest(name, names); near != "" && len(names) > mostMetrics {
			return "", fmt.Errorf("unknown metric %s; did you mean %q?", strictyaml.Quoted(name), near)
		}
		if len(names) <= mostMetrics {
			return "", errors.New(strictyaml.Unknown("metric", name, names))
		}
		return "", fmt.Errorf("%s, and %d others that are not primary", strictyaml.Unknown("metric", name, primary), len(names)-len(primary))
	}
	return "", fmt.Errorf("%s could be any of %s: write the whole name", name, strings.Join(ending, ", "))
}

// conclude decides by the interval.
func (r *Result) conclude() {
	v := r.interval()
	r.Outcome = Undecided
	r.Estimate, r.High = finite(v.Estimate), finite(v.High)
	if v.Low > 0 || r.zero {
		r.Low = finite(v.Low)
	}
	switch {
	case r.failing != "":
		// What fails is quick: it keeps no bound.
		r.Outcome, r.Reason = Broken, r.failing
		return
	case r.zero:
		if !v.Bounded() {
			r.Reason = "too few blocks for an interval"
			return
		}
	case r.Baseline == "" && r.contrast.NoRatio():
		r.Reason = "some values are 0 or less: the interval is computed from logarithms"
		return
	case !r.contrast.Bounded():
		r.Reason = cmp.Or(r.contrast.Reason.String(), "the interval has no bound")
		return
	case r.contrast.Unpaired && r.Baseline != "":
		// As in the report, which gives no verdict.
		r.Reason = "the results are not paired, so the interval does not include drift of the machine"
		return
	}
	kept, broken := v.Low >= r.Bound, v.High < r.Bound
	if !r.atLeast {
		kept, broken = v.High <= r.Bound, v.Low > r.Bound
	}
	switch {
	case kept:
		r.Outcome = Met
	case broken:
		r.Outcome = Broken
	default:
		r.Reason = "the interval has the bound inside"
	}
}

// interval is that of the ratio, or of the value.
func (r *Result) interval() stats.Interval {
	if r.zero {
		return stats.HodgesLehmann(make([]float64, r.N), 1-r.contrast.Confidence)
	}
	return r.contrast.Ratio()
}

func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// Measured is the estimate with its interval in words, in the notation of the bound:
// 0.962 [0.941, 0.984], or -3.8% [-5.9%, -1.6%].
func (r Result) Measured() string {
	v := r.interval()
	shown := r.shown(v.Estimate, v.Low, v.High)
	switch {
	case math.IsNaN(v.Estimate):
		return model.Missing
	case !r.zero && !r.contrast.Bounded(), !v.Bounded():
		return shown[0]
	}
	return fmt.Sprintf("%s [%s, %s]", shown[0], shown[1], shown[2])
}

func (r Result) shown(all ...float64) []string {
	switch {
	case r.Baseline == "":
		return lists.Map(all, func(v float64) string { return model.ShortFigure(v, r.Unit) })
	case strings.HasPrefix(r.bound, factor):
		return lists.Map(all, func(v float64) string { return factor + model.Digits(v) })
	case !strings.HasSuffix(r.bound, "%"):
		return lists.Map(all, model.Digits)
	case strings.ContainsAny(r.bound, "+-"):
		return lists.Map(all, verdict.ChangeOf)
	}
	return lists.Map(all, func(v float64) string { return model.Digits(100*v) + "%" })
}

// Sum counts the outcomes.
func Sum(results []Result) (met, broken, undecided int) {
	for _, r := range results {
		switch r.Outcome {
		case Met:
			met++
		case Broken:
			broken++
		default:
			undecided++
		}
	}
	return met, broken, undecided
}
