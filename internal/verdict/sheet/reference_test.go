package sheet

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"tare/internal/papers/table"
	"tare/internal/study"
	"tare/internal/verdict"
)

// Made-up runs, with families of 1, 3 and 10, with and without a budget, and what a second
// implementation of the procedure says about them: testdata/reference.py.
func TestTablesAreJudgedAsByTheReference(t *testing.T) {
	data, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Kind    string
		Values  [][]float64 // of the baseline, then of each environment
		Results []struct {
			Verdict, Leaning           verdict.Verdict
			N                          int
			Estimate, Low, High, Alpha float64
			Simultaneous               [2]float64
		}
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	verdicts := map[verdict.Verdict]int{}
	for number, c := range cases {
		var rows strings.Builder
		rows.WriteString("block,environment,value\n")
		for block := range c.Values[0] {
			for e, values := range c.Values {
				fmt.Fprintf(&rows, "%d,e%d,%g\n", block+1, e, values[block])
			}
		}
		s, err := Read([]table.File{{Name: "made up", Data: []byte(rows.String())}}, table.Columns{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := s.Contrasts(Options{Baseline: "e0", Better: "lower", Margin: study.DefaultMargin, Confidence: study.DefaultConfidence,
			Precision: study.DefaultPrecision, Budget: c.Kind == "budget", Fixed: c.Kind == "fixed"})
		if err != nil || len(all) != len(c.Results) {
			t.Fatalf("%d: %d contrasts of %d, %v", number, len(all), len(c.Results), err)
		}
		for i, want := range c.Results {
			got := all[i]
			verdicts[got.Verdict]++
			near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(b)) }
			if got.Verdict != want.Verdict || got.Leaning != want.Leaning || got.IntervalN != want.N || !near(got.Estimate, want.Estimate) || !near(got.Low, want.Low) || !near(got.High, want.High) ||
				!near(got.Alpha, want.Alpha) || !near(got.Simultaneous.Low, want.Simultaneous[0]) || !near(got.Simultaneous.High, want.Simultaneous[1]) {
				t.Errorf("%d, %s, %s of %d: %s %s of %d: %v [%v, %v] at %v, the reference says %+v", number, c.Kind, got.Environment, len(all), got.Verdict, got.Leaning, got.IntervalN, got.Estimate, got.Low, got.High, got.Alpha, want)
			}
		}
	}
	t.Log(verdicts)
}
