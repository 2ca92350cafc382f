package score

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tare/internal/base/strictyaml"
	"tare/internal/subject"
	"tare/internal/testing/schematest"
	"tare/profiles"
)

func TestErrorsInAProfileHaveTheirPosition(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"about: x\nfeatures: []", "test.yaml:1:1: the profile has no title"},
		{"profile: x\nfeatures: []", "test.yaml:2:11: the profile has no features"},
		{"profile: x\nfeatuers: []", `test.yaml:2:1: unknown key "featuers"; did you mean "features"?`},
		{"profile: x\nfeatures: [{name: a, workload: w, metric: m, at_least: [60%], at_most: [10%]}]", "test.yaml:2:12: give the thresholds"},
		{"profile: x\nfeatures: [{name: a, workload: w, metric: m}]", "give the thresholds"},
		{"profile: x\nfeatures:\n  - {name: a, workload: w, metric: m, at_least: [60%, 50%]}", "test.yaml:3:55: 50% after 60%: the thresholds must rise"},
		{"profile: x\nfeatures:\n  - {name: a, workload: w, metric: m, at_most: [60%, 80%]}", "80% after 60%: the thresholds must fall"},
		{"profile: x\nfeatures:\n  - {name: a, workload: w, metric: m, at_most: [0%]}", "above 0%"},
		{"profile: x\nfeatures:\n  - {name: a, workload: w, metric: m, at_least: [fast]}", `"fast" is not a share`},
		{"profile: x\nfeatures:\n  - {name: a, workload: w, metric: m, at_least: [1], minimum: 2}", "the minimum is a score from 1 to 1"},
		{"profile: x\nfeatures:\n  - {name: a, workload: w, metric: m, at_least: [1], weight: -1}", "a weight is a number of at least 0"},
		{"profile: x\nfeatures:\n  - {name: a, workload: w, metric: m, at_least: [1], weight: nan}", "a weight is a number"},
		{"profile: x\nfeatures:\n  - {name: a, workload: w, metric: m, at_least: [1], combine: avg}", `unknown way to combine levels "avg"`},
		{"profile: x\nimportance: {high: 2}\nfeatures:\n  - {name: a, importance: hihg, workload: w, metric: m, at_least: [1]}", `unknown importance "hihg"; did you mean "high"?`},
		{"profile: x\nimportance: {high: -2}\nfeatures:\n  - {name: a, workload: w, metric: m, at_least: [1]}", "test.yaml:2:20: high: a weight"},
		{"profile: x\nfeatures:\n  - {name: a, metric: m, at_least: [1]}", "the feature has no workload"},
		{"profile: x\nfeatures:\n  - {name: a, workload: w, metric: m, at_least: [1]}\n  - {name: a, workload: w, metric: m, at_least: [1]}", `test.yaml:4:12: duplicate feature "a"`},
		{"profile: x\ntotal: false\nfeatures:\n  - {name: a, workload: w, metric: m, at_least: [1]}", "test.yaml:2:8: without a total"},
		{"profile: x\nfeatures:\n  - {name: a, workload: w, judged: {scale: [no, yes], by: [{evaluator: e, scores: {docker: 1}, reason: r}]}}", "the feature is judged, and has no workload"},
		{"profile: x\nfeatures:\n  - {name: a, judged: {scale: [no], by: [{evaluator: e, scores: {docker: 0}, reason: r}]}}", "the scale needs at least two words"},
		{"profile: x\nfeatures:\n  - {name: a, judged: {scale: [no, yes]}}", "nobody has judged it"},
		{"profile: x\nfeatures:\n  - {name: a, judged: {scale: [no, yes], by: [{evaluator: e, scores: {docker: 2}, reason: r}]}}", "2 is not on the scale, whose scores are 0 to 1"},
		{"profile: x\nfeatures:\n  - {name: a, judged: {scale: [no, yes], by: [{evaluator: e, scores: {docker: 1}}]}}", "an evaluator, scores and a reason"},
		{"profile: x\nfeatures:\n  - {name: a, judged: {scale: [no, yes], by: [{evaluator: e, scores: {docker: 1}, reason: r}, {evaluator: e, scores: {docker: 1}, reason: r}]}}", "e has judged it already"},
		{"profile: x\nfeatures:\n  - {name: a, group: g, workload: w, metric: m, at_least: [1]}\n  - {name: b, group: g, judged: {scale: [no, yes], by: [{evaluator: e, scores: {docker: 1}, reason: r}]}}", "the group g has measured and judged features"},
		{"", "the file is empty"},
	} {
		_, err := Load("test", "test.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n  gives: %v\n  want:  %s", c.text, err, c.want)
		}
	}
}

func TestDefaultsAreFilledIn(t *testing.T) {
	p := load(t, `
profile: x
importance: {high: 2}
features:
  - {name: a, importance: high, workload: w, metric: m, at_least: [1]}
  - {name: b, importance: high, workload: w, metric: m, at_least: [1], weight: 0}
  - {name: c, workload: w, metric: m, at_least: [1]}`)
	if w := []float64{p.Features[0].Weight, p.Features[1].Weight, p.Features[2].Weight}; !slices.Equal(w, []float64{2, 0, 1}) {
		t.Error(w)
	}
	if !p.HasTotal() || len(p.Groups()) != 0 || p.Features[0].Combine != Mean {
		t.Errorf("%+v", p)
	}
}

func TestAnUnknownBuiltInProfileNamesTheNearest(t *testing.T) {
	if _, err := Builtin("karna-2012"); err == nil || !strings.Contains(err.Error(), `did you mean "karna-2021"?`) {
		t.Error(err)
	}
}

// What the study printed: figures of its appendix, scores of its tables 7 and
// 8. Where the two do not agree, the score that the scheme gives stands first.
func TestTheSchemeOfKarnaGivesTheScoresThatItPrinted(t *testing.T) {
	p, err := Builtin("karna-2021")
	if err != nil {
		t.Fatal(err)
	}
	environments := []string{"kvm", "firecracker", "gvisor", "docker"}
	var figures []Figure
	want := map[string][4]int{}
	const none = -1
	for _, row := range []struct {
		feature string
		metal   float64
		values  [4]float64 // 0 where nothing was measured
		scores  [4]int
	}{
		{"Boot time", 58.46, [4]float64{19.34, 5.13, .83, .67}, [4]int{1, 4, 4, 4}},
		{"CPU events", 499.35, [4]float64{455.36, 406.18, 404.48, 419.89}, [4]int{4, 3, 3, 3}},
		{"File read", 318.82, [4]float64{170, 108.91, 223.79, 227.92}, [4]int{0, 0, 2, 2}},
		{"File write", 65.24, [4]float64{45.88, 57.57, 28.45, 55.46}, [4]int{2, 3, 0, 3}},
		{"Network sent", 940.41, [4]float64{938.24, 921.9, 875, 939.81}, [4]int{4, 4, 4, 4}},
		{"Network received", 943.53, [4]float64{941.39, 925.71, 877.36, 943.03}, [4]int{4, 4, 4, 4}},
		{"Network jitter", .033, [4]float64{.032, .042, .032, .025}, [4]int{4, 2, 4, 4}},                     // printed: 3 for firecracker
		{"Database read", 29325.04, [4]float64{21916.47, 0, 7094.03, 35243.14}, [4]int{2, none, 0, 4}},       // printed: 1 for kvm
		{"Database write", 5944.71, [4]float64{4989.96, 0, 3068.93, 6593.74}, [4]int{3, none, 0, 4}},         // printed: 2 for kvm
		{"Database read and write", 3274.96, [4]float64{3690.49, 0, 1184.5, 3694.86}, [4]int{4, none, 0, 4}}, //
		{"Pipeline turnover", 291.1, [4]float64{355.2, 372.4, 0, 303.7}, [4]int{2, 2, none, 4}},
		{"HTTP response", 1425.18, [4]float64{2183.1, 2259.84, 0, 1521.48}, [4]int{0, 0, none, 4}},
	} {
		at := slices.IndexFunc(p.Features, func(f Feature) bool { return f.Name == row.feature })
		if at < 0 {
			t.Fatalf("the profile has no %s", row.feature)
		}
		f := p.Features[at]
		for i, e := range environments {
			if row.values[i] > 0 {
				figures = append(figures, Of(subject.Place{Workload: f.Workload}.In(e).Of(f.Metric), row.values[i], row.metal))
			}
		}
		want[row.feature] = row.scores
	}
	s := Evaluate(p, environments, figures)
	for _, r := range s.Rows {
		for i, c := range r.Cells {
			score := none
			if c.Result != nil {
				score = int(c.Result.Score)
			}
			if score != want[r.Feature.Name][i] {
				t.Errorf("%s of %s: score %d, want %d", r.Feature.Name, c.Environment, score, want[r.Feature.Name][i])
			}
		}
	}
	if len(s.Sums) != 2 || *s.Sums[0].Cells[3].Score != 24 || *s.Sums[1].Cells[3].Score != 20 || s.Sums[0].Best != 28 || s.Sums[1].Best != 20 {
		t.Errorf("the sums: %+v", s.Sums)
	}
}

func TestTheSchemaKnowsExactlyTheKeysThatAreRead(t *testing.T) {
	var schema struct {
		Properties map[string]any `json:"properties"`
		Defs       map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	text, err := os.ReadFile("../../../schema/profile.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for what, pair := range map[string]struct {
		in    map[string]any
		value any
	}{"the profile": {schema.Properties, Profile{}}, "a feature": {schema.Defs["feature"].Properties, Feature{}}} {
		want := strictyaml.Keys(reflect.TypeOf(pair.value))
		slices.Sort(want)
		var got []string
		for key := range pair.in {
			got = append(got, key)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %v, the code reads %v", what, got, want)
		}
	}
}

func TestBuiltInProfilesFitTheSchema(t *testing.T) {
	for _, name := range Names() {
		if _, err := Builtin(name); err != nil {
			t.Error(err)
		}
		text, err := profiles.Files.ReadFile(name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate(t, "profile.schema.json", text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
