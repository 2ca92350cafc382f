package score

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
)

// Judged is a feature that nobody measures, such as usability: one evaluator or several
// give each environment a score on a scale, with the reason.
type Judged struct {
	Scale []string    `yaml:"scale" json:"scale"` // what the scores 0, 1, 2 ... mean
	By    []Judgement `yaml:"by" json:"by"`
}

// Judgement is that of one evaluator.
type Judgement struct {
	Evaluator string         `yaml:"evaluator" json:"evaluator"`
	Scores    map[string]int `yaml:"scores" json:"scores"` // by environment
	Reason    string         `yaml:"reason" json:"reason"`
}

func (j *Judged) check(f *Feature, node strictyaml.Node) {
	if f.Workload != "" || f.Metric != "" || f.Level != "" || f.Combine != "" || len(f.AtLeast)+len(f.AtMost) > 0 {
		node.Problemf("the feature is judged, and has no workload, metric, level or thresholds: they are those of a measured one")
	}
	judged := node.At("judged")
	if len(j.Scale) < 2 {
		judged.Problemf("the scale needs at least two words, for the scores 0, 1 ...: scale: [no support, some, full support]")
	}
	if len(j.By) == 0 {
		judged.Problemf("nobody has judged it: by: [{evaluator: NAME, scores: {docker: 2}, reason: ...}]")
	}
	known := map[string]bool{}
	for i, one := range j.By {
		by := judged.At("by", i)
		if one.Evaluator == "" || one.Reason == "" || len(one.Scores) == 0 {
			by.Problemf("a judgement has an evaluator, scores and a reason")
		}
		if known[one.Evaluator] {
			by.At("evaluator").Problemf("%s has judged it already", one.Evaluator)
		}
		known[one.Evaluator] = true
		for _, e := range slices.Sorted(maps.Keys(one.Scores)) {
			if s := one.Scores[e]; s < 0 || s >= len(j.Scale) {
				by.At("scores", e).Problemf("%d is not on the scale, whose scores are 0 to %d", s, len(j.Scale)-1)
			}
		}
	}
}

// rate is the mean over the evaluators, with the least and the largest of their scores.
func (j *Judged) rate(environment string) (r *Result, missing string) {
	for _, one := range j.By {
		s, given := one.Scores[environment]
		if !given {
			continue
		}
		score := float64(s)
		if r == nil {
			r = &Result{Least: score, Most: score}
		}
		r.Score += score
		r.Least, r.Most = min(r.Least, score), max(r.Most, score)
		r.Evaluators = append(r.Evaluators, one.Evaluator)
	}
	if r == nil {
		return nil, "nobody has judged it"
	}
	r.Score /= float64(len(r.Evaluators))
	return r, ""
}

// Says is who judged, why, and on which scale.
func (j *Judged) Says() string {
	scale := make([]string, len(j.Scale))
	for i, word := range j.Scale {
		scale[i] = fmt.Sprintf("%d %s", i, word)
	}
	by := lists.Map(j.By, func(one Judgement) string { return one.Evaluator + ": " + one.Reason })
	return "judged on the scale " + strings.Join(scale, ", ") + "; " + strings.Join(by, "; ")
}
