// Package trend writes the primary metrics of a run for programs that follow values over
// commits, in the forms that they publish: the text of Go benchmarks for benchstat, and
// JSON for github-action-benchmark and Bencher.
package trend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"tare/internal/base/visible"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

// value is one number to follow, with its interval.
type value struct {
	place       string // workload and level
	environment string // or ENVIRONMENT/BASELINE of a ratio
	metric      string
	unit        string // "" of a ratio
	better      string
	number      float64
	low, high   float64
	blocks      int
	mark        string // of a confound
}

// values are the primary metrics of each environment, and their ratios to the baseline,
// which depend less on the machine.
func values(v *model.Report) (all []value) {
	add := func(c verdict.Contrast, environment, unit string) {
		r := c.Ratio()
		if !c.Primary || c.N == 0 || !finite(r.Estimate) {
			return
		}
		place := strings.TrimSpace(c.Workload + " " + c.Level)
		all = append(all, value{place, environment, c.Metric, unit, c.Better, r.Estimate, r.Low, r.High, c.N, model.ConfoundMark(&c)})
	}
	for _, e := range v.Environments {
		for _, c := range verdict.Values(e.Name, v.Plan, v.Trials, v.Manifest) {
			add(c, c.Environment, c.Unit)
		}
	}
	for _, c := range v.Contrasts {
		if !c.Unpaired && !c.RangeOnly() {
			add(c, c.Environment+"/"+c.Baseline, "")
		}
	}
	return all
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// GitHub makes the files of github-action-benchmark
// (https://github.com/benchmark-action/github-action-benchmark, tool: customBiggerIsBetter
// and customSmallerIsBetter): a list of name, unit, value, range and extra. A file has one
// direction, so there are two.
func GitHub(v *model.Report) ([]model.File, error) {
	type entry struct {
		Name  string  `json:"name"`
		Unit  string  `json:"unit"`
		Value float64 `json:"value"`
		Range string  `json:"range,omitempty"`
		Extra string  `json:"extra,omitempty"`
	}
	bigger, smaller := []entry{}, []entry{}
	for _, x := range values(v) {
		e := entry{Name: fmt.Sprintf("%s %s (%s)", x.place, x.metric, x.environment), Unit: x.unit, Value: x.number, Extra: strings.TrimSpace(fmt.Sprintf("n=%d %s", x.blocks, x.mark))}
		if x.unit == "" {
			e.Unit = "ratio"
		}
		if finite(x.low) && finite(x.high) {
			e.Range = fmt.Sprintf("%.4g … %.4g (95%%)", x.low, x.high)
		}
		if x.better == "higher" {
			bigger = append(bigger, e)
		} else {
			smaller = append(smaller, e)
		}
	}
	var files []model.File
	for name, list := range map[string][]entry{"github-bigger-is-better.json": bigger, "github-smaller-is-better.json": smaller} {
		text, err := json.MarshalIndent(list, "", "  ")
		if err != nil {
			return nil, err
		}
		files = append(files, model.File{Name: name, Data: append(text, '\n')})
	}
	slices.SortFunc(files, func(a, b model.File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

// Bencher makes a file in Bencher Metric Format
// (https://bencher.dev/docs/reference/bencher-metric-format/): benchmark, measure, value
// with its bounds.
func Bencher(v *model.Report) ([]model.File, error) {
	type metric struct {
		Value float64  `json:"value"`
		Low   *float64 `json:"lower_value,omitempty"`
		High  *float64 `json:"upper_value,omitempty"`
	}
	all := map[string]map[string]metric{}
	for _, x := range values(v) {
		m := metric{Value: x.number}
		if finite(x.low) && finite(x.high) {
			m.Low, m.High = &x.low, &x.high
		}
		name, measure := x.place+" ("+x.environment+")", x.metric
		if x.unit == "" {
			measure += " ratio"
		}
		if all[name] == nil {
			all[name] = map[string]metric{}
		}
		all[name][measure] = m
	}
	text, err := json.MarshalIndent(all, "", "  ")
	return []model.File{{Name: "bencher.json", Data: append(text, '\n')}}, err
}

// Benchstat makes a file in the format of Go benchmarks
// (https://go.dev/design/14313-benchmark-format): a line for each trial, and a line for
// each metric with the direction that is better. The environment is a part of the name,
// so that `benchstat -col /env` compares environments, and the metric is the unit, since
// metrics of one unit are different things.
func Benchstat(v *model.Report) ([]model.File, error) {
	var b bytes.Buffer
	w := benchfmt.NewWriter(&b)
	config := []benchfmt.Config{{Key: "study", Value: []byte(visible.Line(v.Plan.Name)), File: true}, {Key: "run", Value: []byte(visible.Line(v.Manifest.Run)), File: true}}
	known := map[string]bool{}
	for _, row := range v.Primary() {
		if unit := word(row.Metric.Name); !known[unit] {
			known[unit] = true
			fmt.Fprintf(&b, "Unit %s better=%s\n", unit, row.Metric.Better)
		}
	}
	for i := range v.Trials {
		t := &v.Trials[i]
		if t.Status != rundir.OK {
			continue
		}
		r := benchfmt.Result{Config: config, Iters: 1, Name: benchfmt.Name(nameOf(t))}
		for _, row := range v.Primary() {
			if row.Place().In(t.Environment) != t.Cell() {
				continue
			}
			if x, has := model.Value(t, row.Metric.Name); has {
				r.Values = append(r.Values, benchfmt.Value{Value: x, Unit: word(row.Metric.Name)})
			}
		}
		if len(r.Values) == 0 {
			continue
		}
		if err := w.Write(&r); err != nil {
			return nil, err
		}
	}
	return []model.File{{Name: "benchstat.txt", Data: b.Bytes()}}, nil
}

// nameOf is the name of a trial's benchmark without Benchmark, which the writer adds:
// Redis/clients=10/env=docker.
func nameOf(t *rundir.Trial) string {
	name := []rune(word(t.Workload))
	name[0] = unicode.ToUpper(name[0]) // a lower-case letter makes it no benchmark
	parts := []string{string(name)}
	for _, setting := range strings.Fields(t.Level) {
		parts = append(parts, word(setting))
	}
	return strings.Join(append(parts, "env="+word(t.Environment)), "/")
}

// word is a text without what ends a word or a part of a name.
func word(text string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '/' || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, text)
	if clean == "" {
		return "_"
	}
	return clean
}
