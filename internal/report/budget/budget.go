// Package budget reads rules about what a layer may cost, such as
//
//	nginx requests_per_second docker/native >= 0.9
//	p99 gvisor <= 5ms
//
// and decides each from the trials of a run: met or broken if the whole interval is on
// one side of the bound, and else undecided.
//
// It must not know how a trial is run, nor what a program does with the result. The
// intervals come from package verdict.
package budget

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/strictyaml"
)

// MaxSize is the size of the largest file of rules.
const MaxSize = strictyaml.MaxSize

// Rule is one line of a budget.
type Rule struct {
	Line int    `json:"line"`
	Text string `json:"rule"`

	workload    string   // "" is each that has the metric
	level       []string // settings such as clients=10; each level that has them
	metric      string
	environment string
	base        string // "" for a value in the metric's unit
	atLeast     bool   // >=, else <=
	bound       string
	ratio       float64 // the bound of a ratio
}

// Parse reads a budget: a rule a line, # starts a comment. The error lists every line
// that is wrong.
func Parse(name string, data []byte) ([]Rule, error) {
	if len(data) > int(MaxSize) {
		return nil, fmt.Errorf("%s has more than %s", name, MaxSize)
	}
	var rules []Rule
	var wrong []string
	for n, line := range strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(spaced.Replace(line))
		if len(fields) == 0 {
			continue
		}
		r, err := parse(fields)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %v", name, n+1, err))
			continue
		}
		r.Line = n + 1
		rules = append(rules, r)
	}
	switch {
	case len(wrong) > 0:
		return nil, fmt.Errorf("%s", strings.Join(wrong, "\n"))
	case len(rules) == 0:
		return nil, fmt.Errorf("%s has no rule; write one a line: %s", name, form)
	}
	return rules, nil
}

// spaced are the spellings of a rule that mean the same, and which keyboards, editors and
// tare's own reports have.
var spaced = strings.NewReplacer("≥", " >= ", "≤", " <= ", ">=", " >= ", "<=", " <= ", "−", "-", " / ", "/")

const form = "[WORKLOAD [PARAMETER=VALUE...]] METRIC ENVIRONMENT[/BASELINE] >= or <= BOUND, such as nginx requests_per_second docker/native >= 0.9"

func parse(fields []string) (r Rule, err error) {
	r.Text = strings.Join(fields, " ")
	at := slices.IndexFunc(fields, func(f string) bool { return strings.ContainsAny(f, "<>") })
	if at > 0 && fields[at] != ">=" && fields[at] != "<=" {
		return r, fmt.Errorf("%s in %s is not a comparison; write >= or <=", strictyaml.Quoted(fields[at]), strictyaml.Quoted(r.Text))
	}
	if at < 2 || at == len(fields)-1 {
		return r, fmt.Errorf("%s is not a rule; write %s", strictyaml.Quoted(r.Text), form)
	}
	r.atLeast = fields[at] == ">="
	r.metric = fields[at-2]
	r.environment, r.base, _ = strings.Cut(fields[at-1], "/")
	if at > 2 {
		r.workload, r.level = fields[0], fields[1:at-2]
	}
	for _, setting := range r.level {
		if !strings.Contains(setting, "=") {
			return r, fmt.Errorf("%s in %s is not a level; write PARAMETER=VALUE between workload and metric", strictyaml.Quoted(setting), strictyaml.Quoted(r.Text))
		}
	}
	r.bound = strings.Join(fields[at+1:], " ")
	if strings.HasSuffix(fields[at-1], "/") || r.environment == "" || r.environment == r.base {
		return r, fmt.Errorf("%s names no two environments; write ENVIRONMENT/BASELINE", strictyaml.Quoted(fields[at-1]))
	}
	if r.base != "" {
		if r.ratio, err = ratio(r.bound); err != nil {
			return r, err
		}
	}
	return r, nil
}

// factor is the sign of a factor, as the reports write it.
const factor = "×"

// ratio reads the bound of a ratio: 0.9, 90%, ×1.5 or, with a sign as a change, -10%.
func ratio(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimPrefix(text, factor), "%")
	signed := strings.HasPrefix(number, "+") || strings.HasPrefix(number, "-")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if signed {
		v++
	}
	if err != nil || signed && !percent || percent && strings.HasPrefix(text, factor) || !(v > 0) || math.IsInf(v, 1) {
		return 0, fmt.Errorf("%s is not a ratio above 0; write 0.9, 90%%, ×1.5 or, as a change, -10%%", strictyaml.Quoted(text))
	}
	return v, nil
}
