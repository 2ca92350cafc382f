package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tare/internal/base/failing"
	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/stats"
	verdicts "tare/internal/verdict"
)

// known are effects that a run of such a budget should find, in native.
var known = []struct {
	effect, margin, verdict string
	budget                  time.Duration
}{
	{"5", "0.5%", "slower", 5 * time.Second},
	{"2", "0.5%", "slower", 10 * time.Second},
	{"1", "0.5%", "slower", 30 * time.Second},
	{"0", "2%", "equivalent", 15 * time.Second},
}

const knownRuns = 10

// measureVerdicts counts what runs of a short budget find, and how wide the intervals of
// quick are.
func measureVerdicts(ctx context.Context, s *session) (rows []row) {
	for _, k := range known {
		found := 0
		for range knownRuns {
			_, out := s.output(ctx, "selftest", "--effects", k.effect, "--margin", k.margin, "--no-usual", "--cycle", k.budget.String(), "--time", k.budget.String(), "--quiet", "--json")
			var result struct {
				Outcomes []struct{ Verdict string }
			}
			failing.If(json.Unmarshal(out, &result))
			if len(result.Outcomes) > 0 && result.Outcomes[0].Verdict == k.verdict {
				found++
			}
		}
		rows = append(rows, row{fmt.Sprintf("native, +%s%% work, margin %s, budget %v: `%s`", k.effect, k.margin, k.budget, k.verdict),
			"9 of 10 runs", fmt.Sprintf("%d of %d", found, knownRuns), verdict(10*found >= 9*knownRuns)})
	}
	return append(rows, s.measureQuick(ctx)...)
}

func (s *session) measureQuick(ctx context.Context) []row {
	const budget = 5 * time.Minute
	directory := failing.Must(os.MkdirTemp(s.home, "quick-"))
	defer os.RemoveAll(directory)
	out := filepath.Join(directory, "run")
	s.command(ctx, "run", "quick", "--budget", budget.String(), "--quiet", "--out", out)
	r := failing.Must(rundir.Open(out))
	all := lists.Filter(verdicts.Contrasts(r.Plan, r.Trials, r.Manifest), func(c verdicts.Contrast) bool { return c.Primary })
	decided := 0
	var small, large []float64 // half-widths in percentage points; ratios of the ends
	for _, c := range all {
		if c.Verdict != verdicts.Inconclusive && c.Verdict != verdicts.None {
			decided++
		}
		switch {
		case !c.Bounded():
			large = append(large, math.Inf(1))
		case math.Abs(c.Estimate) < math.Ln2:
			small = append(small, 50*(math.Exp(c.High)-math.Exp(c.Low)))
		default:
			large = append(large, math.Exp(c.High-c.Low))
		}
	}
	took := rundir.Elapsed(r.Trials)
	rows := []row{
		{"`tare run quick`, 5 minutes: verdicts", "26 of 27", fmt.Sprintf("%d of %d", decided, len(all)), verdict(len(all)-decided <= 1)},
		{"the same: time over the budget", "≤ 1.1 times", fmt.Sprintf("%.2f times", took.Seconds()/budget.Seconds()), verdict(took <= budget*11/10)},
	}
	if len(small) > 0 {
		rows = append(rows, row{"the same: median half-width of effects below ×2, in percentage points", "≤ 4", fmt.Sprintf("%.1f of %d", stats.Median(small), len(small)), verdict(stats.Median(small) <= 4)})
	}
	if len(large) > 0 {
		most := slices.Max(large)
		rows = append(rows, row{"the same: ratio of the ends of larger effects, median and worst", "≤ ×1.3, ≤ ×2", fmt.Sprintf("×%.2f, ×%.2f of %d", stats.Median(large), most, len(large)), verdict(stats.Median(large) <= 1.3 && most <= 2)})
	}
	return rows
}
