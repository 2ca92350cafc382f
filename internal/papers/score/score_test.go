package score

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/base/quantity"
	"tare/internal/subject"
)

// about is a metric of workload w at a level in an environment.
func about(metric, level, environment string) subject.Figure {
	return subject.Place{Workload: "w", Level: level}.In(environment).Of(metric)
}

// load reads a profile that must be right.
func load(t *testing.T, text string) *Profile {
	t.Helper()
	p, err := Load("test", "test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const twoFeatures = `
profile: a test
features:
  - {name: rate, group: g, workload: w, metric: rate, at_least: [60%, 70%, 80%, 90%]}
  - {name: time, group: g, workload: w, metric: time, at_most: [140%, 130%, 120%, 110%]}
`

func TestAThresholdThatIsJustMetCounts(t *testing.T) {
	p := load(t, twoFeatures)
	for _, c := range []struct {
		metric      string
		value, base float64
		score       int
	}{
		{"rate", 59.9, 100, 0}, {"rate", 60, 100, 1}, {"rate", 0.07, 0.1, 2}, {"rate", 79.99, 100, 2},
		{"rate", 80, 100, 3}, {"rate", 90, 100, 4}, {"rate", 500, 100, 4}, {"rate", 0, 100, 0},
		{"time", 1.4001, 1, 0}, {"time", 1.4, 1, 1}, {"time", 1.3, 1, 2}, {"time", 0.12, 0.1, 3}, {"time", 1.1, 1, 4}, {"time", 0.2, 1, 4},
	} {
		s := Evaluate(p, []string{"e"}, []Figure{Of(about(c.metric, "", "e"), c.value, c.base)})
		row := s.Rows[0]
		if c.metric == "time" {
			row = s.Rows[1]
		}
		if got := row.Cells[0].Result; got == nil || got.Score != float64(c.score) {
			t.Errorf("%s %g of %g: %+v, want score %d", c.metric, c.value, c.base, got, c.score)
		}
	}
}

func TestAMissingFigureHasNoScoreAndAReason(t *testing.T) {
	p := load(t, twoFeatures)
	figures := []Figure{
		Of(about("rate", "", "a"), 95, 100), Of(about("time", "", "a"), 1, 1),
		Of(about("rate", "", "b"), 95, 100), {Figure: about("time", "", "b"), Missing: "it crashed"},
	}
	s := Evaluate(p, []string{"a", "b", "c"}, figures)
	if cell := s.Rows[1].Cells[1]; cell.Result != nil || cell.Missing != "no value: it crashed" {
		t.Errorf("b, time: %+v", cell)
	}
	sum := s.Sums[0]
	if got := sum.Cells[1]; *got.Score != 4 || got.Best != 4 || fmt.Sprint(got.Lacks) != "[time]" {
		t.Errorf("the sum of b: %+v", got)
	}
	if got := sum.Cells[2]; got.Score != nil || len(got.Lacks) != 2 {
		t.Errorf("c has nothing, and yet a sum: %+v", got)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"environment":"c","score":null`) {
		t.Errorf("a sum of nothing should be null: %s", text)
	}
	// a and b share one feature, and have the same score there.
	if got := sum.Pairs[0]; got.Relation != Tie || got.Features != 1 || got.Of != 2 {
		t.Errorf("a against b: %+v", got)
	}
	if got := sum.Pairs[1]; got.Relation != Unknown {
		t.Errorf("a against c: %+v", got)
	}
}

func TestOverlappingRangesAreATieAndApartAreNot(t *testing.T) {
	p := load(t, twoFeatures)
	figure := func(e string, ratio, low, high float64) Figure {
		return Figure{Figure: about("rate", "", e), Ratio: ratio, Low: low, High: high}
	}
	s := Evaluate(p, []string{"sure", "wide", "low"}, []Figure{
		figure("sure", .95, .92, .97), figure("wide", .75, .65, .91), figure("low", .5, .4, .55)})
	var relations []Relation
	for _, p := range s.Sums[0].Pairs {
		relations = append(relations, p.Relation)
	}
	if !slices.Equal(relations, []Relation{Tie, Ahead, Ahead}) {
		t.Error(relations)
	}
	if ties := s.Sums[0].Ties(); len(ties) != 1 || ties[0].A != "sure" || ties[0].B != "wide" {
		t.Error(ties)
	}
	var places []string
	for _, c := range s.Sums[0].Cells {
		places = append(places, fmt.Sprint(c.Place))
	}
	if got := strings.Join(places, " "); got != "[1 2] [1 2] [3 3]" {
		t.Errorf("places %s", got)
	}
	if r := s.Rows[0].Cells[1].Result; r.Score != 2 || r.Least != 1 || r.Most != 4 || r.Certain() {
		t.Errorf("wide: %+v", r)
	}
	if r := s.Rows[0].Cells[0].Result; !r.Certain() {
		t.Errorf("sure: %+v", r)
	}
}

func TestAnIntervalWithoutABoundAllowsEveryScore(t *testing.T) {
	p := load(t, twoFeatures)
	s := Evaluate(p, []string{"e"}, []Figure{{Figure: about("rate", "", "e"), Ratio: .75, Low: 0, High: math.Inf(1)}})
	if r := s.Rows[0].Cells[0].Result; r.Least != 0 || r.Most != 4 {
		t.Errorf("%+v", r)
	}
	if text, err := json.Marshal(s); err != nil || !strings.Contains(string(text), `"high":null`) {
		t.Errorf("%v: %s", err, text)
	}
}

func TestLevelsAreCombinedAsTheProfileSays(t *testing.T) {
	// The baseline's figures are 100 and 300, the environment's 50 and 300.
	figures := []Figure{
		{Figure: about("rate", "threads=1,x=a", "e"), Ratio: .5, Low: .4, High: .6, Base: 100},
		{Figure: about("rate", "threads=8,x=a", "e"), Ratio: 1, Low: .9, High: 1.1, Base: 300},
		{Figure: about("rate", "threads=8,x=b", "e"), Ratio: .01, Base: 300},
	}
	for combine, want := range map[string][3]float64{
		"mean": {350. / 400, .1 + .675, .15 + .825}, "geometric": {math.Sqrt(.5), math.Sqrt(.36), math.Sqrt(.66)}, "worst": {.5, .4, .6},
	} {
		p := load(t, `
profile: levels
features: [{name: rate, workload: w, metric: rate, level: "threads=*,x=a", combine: `+combine+`, at_least: [50%]}]`)
		r := Evaluate(p, []string{"e"}, figures).Rows[0].Cells[0].Result
		if r == nil || math.Abs(r.Ratio-want[0])+math.Abs(r.Interval.Low-want[1])+math.Abs(r.Interval.High-want[2]) > 1e-12 || len(r.Levels) != 2 {
			t.Errorf("%s: %+v with %+v, want %v", combine, r, r.Interval, want)
		}
	}
}

func TestTheWorstOfTimesIsTheLongest(t *testing.T) {
	p := load(t, `
profile: levels
features: [{name: time, workload: w, metric: time, combine: worst, at_most: [110%]}]`)
	s := Evaluate(p, []string{"e"}, []Figure{Of(about("time", "1", "e"), 1, 1), Of(about("time", "2", "e"), 2, 1)})
	if r := s.Rows[0].Cells[0].Result; r.Ratio != 2 || r.Score != 0 || r.Interval != nil {
		t.Errorf("%+v", r)
	}
}

func TestALevelThatOthersHaveMustBeThere(t *testing.T) {
	p := load(t, `
profile: levels
features: [{name: rate, workload: w, metric: rate, at_least: [50%]}]`)
	s := Evaluate(p, []string{"a", "b"}, []Figure{Of(about("rate", "n=1", "a"), 1, 1), Of(about("rate", "n=2", "a"), 1, 1), Of(about("rate", "n=1", "b"), 1, 1)})
	if s.Rows[0].Cells[0].Result == nil || s.Rows[0].Cells[1].Missing != "no value at n=2" {
		t.Errorf("%+v", s.Rows[0].Cells)
	}
}

func TestAMinimumIsMetMissedOrOpen(t *testing.T) {
	p := load(t, `
profile: minimums
importance: {mandatory: 3, nice: 1}
features:
  - {name: rate, importance: mandatory, workload: w, metric: rate, at_least: [60%, 70%, 80%, 90%], minimum: 3}
  - {name: time, importance: nice, workload: w, metric: time, at_most: [110%], weight: 0.5}`)
	figure := func(e string, low, high float64) Figure {
		return Figure{Figure: about("rate", "", e), Ratio: (low + high) / 2, Low: low, High: high}
	}
	s := Evaluate(p, []string{"good", "bad", "unsure", "absent"}, []Figure{figure("good", .81, .95), figure("bad", .5, .79), figure("unsure", .75, .85), Of(about("time", "", "good"), 1, 1)})
	var got []string
	for _, x := range s.Standings {
		got = append(got, string(x.Acceptable()))
	}
	if strings.Join(got, " ") != "met missed open open" {
		t.Error(got)
	}
	if sum := s.Sums[0]; sum.Best != 3*4+.5 || *sum.Cells[0].Score != 3*3+.5 {
		t.Errorf("weights: %+v", sum)
	}
}

// anyProfile draws thresholds, weights and groups.
func anyProfile(t *rapid.T) *Profile {
	p := &Profile{Name: "drawn"}
	for i := range rapid.IntRange(1, 5).Draw(t, "features") {
		f := Feature{Name: fmt.Sprint("f", i), Group: rapid.SampledFrom([]string{"", "g", "h"}).Draw(t, "group"),
			Workload: "w", Metric: fmt.Sprint("m", i), Combine: rapid.SampledFrom(combinations).Draw(t, "combine"),
			Weight: float64(rapid.IntRange(0, 8).Draw(t, "weight")) / 4}
		share := 0.0
		var rising []quantity.Share
		for range rapid.IntRange(1, 5).Draw(t, "thresholds") {
			share += rapid.Float64Range(.01, .5).Draw(t, "step")
			rising = append(rising, quantity.Share(share))
		}
		if rapid.Bool().Draw(t, "more is better") {
			f.AtLeast = rising
		} else {
			for _, s := range rising {
				f.AtMost = append([]quantity.Share{s}, f.AtMost...)
			}
		}
		p.Features = append(p.Features, f)
	}
	return p
}

func anyFigures(t *rapid.T, p *Profile, environments []string) []Figure {
	var all []Figure
	for _, f := range p.Features {
		for level := range rapid.IntRange(1, 3).Draw(t, "levels") {
			for _, e := range environments {
				if rapid.IntRange(0, 9).Draw(t, "absent") == 0 {
					continue
				}
				x := Figure{Figure: subject.Place{Workload: f.Workload, Level: fmt.Sprint("l=", level)}.In(e).Of(f.Metric),
					Ratio: rapid.Float64Range(.01, 3).Draw(t, "ratio"), Base: rapid.Float64Range(.1, 100).Draw(t, "base")}
				if rapid.IntRange(0, 4).Draw(t, "bounded") > 0 {
					x.Low, x.High = x.Ratio*rapid.Float64Range(.2, 1).Draw(t, "low"), x.Ratio*rapid.Float64Range(1, 3).Draw(t, "high")
				}
				all = append(all, x)
			}
		}
	}
	return all
}

func TestRangesHoldTheScoresAndSumsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, environments := anyProfile(t), []string{"a", "b", "c"}
		s := Evaluate(p, environments, anyFigures(t, p, environments))
		for _, r := range s.Rows {
			for _, c := range r.Cells {
				if (c.Result == nil) == (c.Missing == "") {
					t.Fatalf("%+v has neither a score nor a reason, or both", c)
				}
				if x := c.Result; x != nil && !(0 <= x.Least && x.Least <= x.Score && x.Score <= x.Most && x.Most <= float64(r.Feature.Best())) {
					t.Fatalf("%s: %+v", r.Feature.Name, x)
				}
			}
		}
		for _, sum := range s.Sums {
			for i, c := range sum.Cells {
				score, lacks := 0.0, 0
				for _, r := range s.Rows {
					switch {
					case sum.Group != "" && r.Feature.Group != sum.Group:
					case r.Cells[i].Result == nil:
						lacks++
					default:
						score += r.Feature.Weight * float64(r.Cells[i].Result.Score)
					}
				}
				if len(c.Lacks) != lacks || c.Score != nil && (math.Abs(*c.Score-score) > 1e-9 || c.Least > *c.Score+1e-9 || *c.Score > c.Most+1e-9 || c.Most > c.Best+1e-9) {
					t.Fatalf("sum %q of %s: %+v, want %g and %d lacking", sum.Group, c.Environment, c, score, lacks)
				}
				if c.Place[0] < 1 || c.Place[1] > len(environments) {
					t.Fatalf("place %v", c.Place)
				}
			}
			for _, pair := range sum.Pairs {
				if pair.ScoreA == pair.ScoreB && pair.Relation != Tie && pair.Relation != Unknown {
					t.Fatalf("equal, and no tie: %+v", pair)
				}
			}
		}
	})
}

func TestABetterRatioNeverLowersAScore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyProfile(t).Features[0]
		a, b := rapid.Float64Range(0, 4).Draw(t, "a"), rapid.Float64Range(0, 4).Draw(t, "b")
		better, worse := max(a, b), min(a, b)
		if f.AtMost != nil {
			better, worse = worse, better
		}
		if f.scoreOf(better) < f.scoreOf(worse) {
			t.Fatalf("%g scores %g, %g scores %g", better, f.scoreOf(better), worse, f.scoreOf(worse))
		}
	})
}

func TestAWiderIntervalNeverTakesScoresAway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, environments := anyProfile(t), []string{"a", "b"}
		figures := anyFigures(t, p, environments)
		wider := make([]Figure, len(figures))
		for i, f := range figures {
			f.Low *= .9
			f.High *= 1.1
			wider[i] = f
		}
		narrow, wide := Evaluate(p, environments, figures), Evaluate(p, environments, wider)
		for i, r := range narrow.Rows {
			for j, c := range r.Cells {
				if w := wide.Rows[i].Cells[j].Result; c.Result != nil && (w.Least > c.Result.Least || w.Most < c.Result.Most) {
					t.Fatalf("%+v, wider %+v", c.Result, w)
				}
			}
		}
		for i, sum := range narrow.Sums {
			for j, pair := range sum.Pairs {
				if w := wide.Sums[i].Pairs[j].Relation; pair.Relation == Tie && w != Tie {
					t.Fatalf("a tie of narrow intervals is %s of wider ones", w)
				}
			}
		}
	})
}

func TestTheStarStandsForAnything(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"threads=*", "threads=10", true}, {"threads=*", "clients=10", false}, {"*", "", true}, {"", "", true}, {"a", "ab", false},
		{"*,x=1", "y=2,x=1", true}, {"a*b*c", "a-b-c", true}, {"a*b*c", "a-c-b", false}, {"ab*ba", "aba", false},
	} {
		if got := glob(c.pattern, c.text); got != c.want {
			t.Errorf("%q of %q: %v", c.pattern, c.text, got)
		}
	}
}
