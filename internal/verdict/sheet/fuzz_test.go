package sheet

import (
	"math"
	"strings"
	"testing"

	"tare/internal/papers/table"
	"tare/internal/testing/fuzzing"
	"tare/internal/verdict"
)

// FuzzTable: a table is refused with its name and a position, or each comparison is of
// numbers in order, or has no verdict and a reason.
func FuzzTable(f *testing.F) {
	f.Add([]byte("environment,value\na,1\na,2\na,4\nb,2\nb,3\nb,1e-9\n"))
	f.Add([]byte("block,environment,value,workload,metric,level\n1,a,1,w,m,l\n1,b,2,w,m,l\n2,a,1.5,w,m,l\n2,b,2.5,w,m,l\n3,b,2,w,m,l\n3,a,1,w,m,l\n"))
	f.Add([]byte("\xef\xbb\xbfBlock, environment ,value,round,\n1,a,1,1,\n1,b,1,1,\n1,a,3,2,\n1,b,2,2,\n"))
	f.Add([]byte("block,environment,value\n1,\"a\nb\",0\n1,b,-1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 20_000 {
			t.Skip("a comparison of many values takes its time")
		}
		fuzzing.Allocates(t, 64<<20+uint64(len(data))*10_000, func() {
			s, err := Read([]table.File{{Name: "fuzz.csv", Data: data}}, table.Columns{})
			if err != nil {
				if !strings.HasPrefix(err.Error(), "fuzz.csv") {
					t.Errorf("the error names no file: %v", err)
				}
				return
			}
			for _, fixed := range []bool{false, true} {
				contrasts, err := s.Contrasts(Options{Baseline: s.Environments[0], Better: "lower", Margin: .02, Confidence: .95, Fixed: fixed})
				if err != nil && len(s.Environments) > 1 {
					t.Error(err)
				}
				for _, c := range contrasts {
					if c.IntervalN == 0 { // too few blocks
						if c.Verdict != verdict.None || c.Reason.IsZero() {
							t.Errorf("%s/%s has a verdict without an interval: %s %q", c.Environment, c.Metric, c.Verdict, c.Reason)
						}
						continue
					}
					if math.IsNaN(c.Low) || math.IsNaN(c.High) || math.IsNaN(c.Estimate) || c.Low > c.High {
						t.Errorf("%s/%s: %v of %v to %v", c.Environment, c.Metric, c.Estimate, c.Low, c.High)
					}
				}
			}
		})
	})
}
