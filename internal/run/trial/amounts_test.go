package trial

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/run/schedule"
	"tare/internal/run/trial/lifecycle"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/testing/fakeenv"
	"tare/internal/workload"
)

// countedPack is limited by a count, which is found for samples of 100 ms.
func countedPack() workload.Pack {
	pack := webPack()
	pack.Parameters = map[string]workload.Parameter{"seconds": {Default: "1.0", Unit: "s"}, "requests": {Default: "0"}}
	pack.Driver = &workload.Step{Run: "drive ${requests}"}
	pack.Length = &workload.Length{Time: "seconds", Sample: 100 * time.Millisecond, Amount: "requests", Start: 1000}
	return pack
}

// working takes some time for the start of the driver, and some for each request.
func working(start, request *time.Duration) func(string, string) fakeenv.Result {
	return func(_, command string) (r fakeenv.Result) {
		var n int64
		if _, err := fmt.Sscanf(command, "drive %d", &n); err == nil {
			r.Stdout, r.After = "rate 5\n", *start+time.Duration(n)**request
		}
		return r
	}
}

func drives(log *fakeenv.Log) int {
	return len(slices.DeleteFunc(log.Lines(), func(line string) bool { return !strings.Contains(line, ": drive") }))
}

func inBlock(n int, b schedule.Batch) schedule.Batch {
	for i := range b.Slots {
		b.Slots[i].Block = n
	}
	return b
}

func TestLaterBlocksUseTheAmountsThatWereFound(t *testing.T) {
	const rounds = 3
	for name, start := range map[string]time.Duration{"a quick start": 0, "a start longer than a sample": time.Second} {
		t.Run(name, func(t *testing.T) {
			r, log, a := newRunner(t, countedPack(), study.Level{})
			request := 10 * time.Microsecond
			a.Script = working(&start, &request)
			var made []rundir.Trial
			block := func(n int) (rundir.Trial, int) {
				before := drives(log)
				trials, err := r.Run(t.Context(), inBlock(n, alternating(rounds, "a")))
				if err != nil || trials[0].Status != rundir.OK {
					t.Fatalf("%v: %+v", err, trials)
				}
				made = append(made, trials...)
				return trials[0], drives(log) - before - rounds
			}
			first, sought := block(1)
			if sought == 0 || !slices.Equal(first.Amounts, []int64{10000}) {
				t.Fatalf("%v after %d runs", first.Amounts, sought)
			}
			request = 15 * time.Microsecond
			if again, sought := block(2); sought > 0 || !slices.Equal(again.Amounts, first.Amounts) {
				t.Errorf("a second block: %v after %d runs", again.Amounts, sought)
			}
			if start > 0 {
				return
			}
			request = 30 * time.Microsecond
			if again, sought := block(3); sought > 0 || !slices.Equal(again.Amounts, first.Amounts) {
				t.Errorf("a third block: %v after %d runs", again.Amounts, sought)
			}
			resumed := NewRunner(Config{Instances: r.Instances, Before: made})
			early := NewRunner(Config{Instances: r.Instances, Before: made[:2]})
			if len(resumed.amounts) != 0 || !slices.Equal(early.amounts[amountKey{subject.Cell{Environment: "a", Workload: "web"}, true}].Amounts, first.Amounts) {
				t.Errorf("resumed with %v and %v", resumed.amounts, early.amounts)
			}
			if again, sought := block(4); sought == 0 || !slices.Equal(again.Amounts, []int64{3333}) {
				t.Errorf("after samples that were too long: %v after %d runs", again.Amounts, sought)
			}
			if _, sought := block(5); sought > 0 {
				t.Errorf("after the new amounts: %d runs", sought)
			}
		})
	}
}

func TestEnvironmentsDoTheSameWorkUnlessOneIsMuchSlower(t *testing.T) {
	r, log, a := newRunner(t, countedPack(), study.Level{})
	each := map[string]time.Duration{"a": 10 * time.Microsecond, "b": 20 * time.Microsecond}
	start := time.Duration(0)
	a.Script = func(instance, command string) fakeenv.Result {
		request := each[strings.Split(instance, "-")[1]]
		return working(&start, &request)(instance, command)
	}
	var made []rundir.Trial
	run := func(r *Runner, block int, wanted ...int64) (drivers int) {
		t.Helper()
		before := drives(log)
		trials, err := r.Run(t.Context(), inBlock(block, alternating(1, "b", "a")))
		if err != nil || !slices.Equal(slices.Concat(trials[0].Amounts, trials[1].Amounts), wanted) {
			t.Errorf("%v: block %d: %v %v", err, block, trials[0].Amounts, trials[1].Amounts)
		}
		made = append(made, trials...)
		return drives(log) - before - 2
	}
	run(r, 1, 10000, 10000)
	lines := slices.DeleteFunc(log.Lines(), func(line string) bool { return !strings.Contains(line, ": drive") })
	if searches := len(lines) - 2; !strings.HasPrefix(lines[searches-1], "b1-b") || slices.ContainsFunc(lines[:searches-1], func(line string) bool { return strings.HasPrefix(line, "b1-b") }) {
		t.Errorf("the baseline finds the amount, and the other one tries it once: %q", lines)
	}
	if more := run(r, 2, 10000, 10000); more > 0 {
		t.Errorf("a second block searches in %d runs", more)
	}
	each["b"] = 100 * time.Microsecond // its samples are now five times as long as expected
	run(r, 3, 10000, 10000)
	if resumed := NewRunner(Config{Instances: r.Instances, Before: made}); !maps.EqualFunc(resumed.amounts, r.amounts, func(a, b lifecycle.Work) bool {
		return slices.Equal(a.Amounts, b.Amounts) && a.Length == b.Length
	}) {
		t.Errorf("resumed with %v instead of %v", resumed.amounts, r.amounts)
	}
	run(r, 4, 1000, 10000)
}

func TestSamplesOfHalfTheLengthArePartOfNoOtherFigure(t *testing.T) {
	const rounds = 16
	run := func(pack workload.Pack, environments ...string) (*Runner, []rundir.Trial) {
		t.Helper()
		r, _, a := newRunner(t, pack, study.Level{})
		start, request := 10*time.Millisecond, 10*time.Microsecond
		a.Script = func(instance, command string) fakeenv.Result {
			res := working(&start, &request)(instance, command)
			res.Stdout = fmt.Sprintf("rate %d\n", res.After.Milliseconds())
			return res
		}
		trials, err := r.Run(t.Context(), alternating(rounds, environments...))
		if err != nil {
			t.Fatal(err)
		}
		return r, trials
	}
	pack := countedPack()
	pack.Operations = "rate"
	_, trials := run(pack, "a", "b")
	for _, one := range trials {
		if one.Status != rundir.OK || len(one.Rounds) != rounds || len(one.HalfRounds) != rounds/4 || one.HalfShare != .5 || one.Metrics["rate"] != 110*rounds {
			t.Errorf("%s: %s %s: %v, %d rounds and %d of half the length", one.Environment, one.Status, one.Reason, one.Metrics, len(one.Rounds), len(one.HalfRounds))
		}
		for _, r := range one.HalfRounds {
			if r.Metrics["rate"] != 60 || r.GuestSeconds != .06 || r.Number < 1 || r.Number >= rounds || r.Position < 1 || r.Position > 2 {
				t.Errorf("%+v", r)
			}
		}
		logs := one.LengthLogs("rate").Rounds
		if n := one.HalfRounds[0].Number; math.Abs(logs[n-1]-math.Log(60./110)) > 1e-12 {
			t.Errorf("after round %d: %v", n, logs)
		}
	}
	pack.Parameters["requests"] = workload.Parameter{Default: "0", Max: new(float64)}
	*pack.Parameters["requests"].Max, pack.Length.Start = 1, 1
	if _, trials := run(pack, "a", "b"); trials[0].HalfRounds != nil || trials[0].HalfShare != 0 {
		t.Errorf("half of one operation: %+v", trials[0].HalfRounds)
	}
}

func TestAFailedSampleOfHalfTheLengthIsAWarning(t *testing.T) {
	r, _, a := newRunner(t, countedPack(), study.Level{})
	start, request := time.Duration(0), 10*time.Microsecond
	a.Script = func(instance, command string) fakeenv.Result {
		if command == "drive 5000" && strings.Contains(instance, "-a-") {
			return fakeenv.Result{Code: 1}
		}
		return working(&start, &request)(instance, command)
	}
	trials, err := r.Run(t.Context(), alternating(8, "a", "b"))
	if err != nil || trials[0].Status != rundir.OK || len(trials[0].Rounds) != 8 || trials[0].HalfRounds != nil || len(trials[1].HalfRounds) != 2 {
		t.Fatalf("%v: %+v", err, trials)
	}
	if w := trials[0].Warnings; len(w) != 1 || !strings.HasPrefix(w[0], "a sample of half the length after round ") {
		t.Errorf("%q", w)
	}
}

func TestAFailedTrialsAmountsAreSoughtAgain(t *testing.T) {
	r, _, a := newRunner(t, countedPack(), study.Level{})
	start, request := time.Duration(0), 10*time.Microsecond
	works := working(&start, &request)
	a.Script = works
	one := func(want rundir.Status) rundir.Trial {
		t.Helper()
		trials, err := r.Run(t.Context(), alternating(1, "a"))
		if err != nil || trials[0].Status != want {
			t.Fatalf("%v: %s %s", err, trials[0].Status, trials[0].Reason)
		}
		return trials[0]
	}
	found := one(rundir.OK)
	a.Script = func(instance, command string) fakeenv.Result {
		res := works(instance, command)
		res.Stdout = ""
		return res
	}
	failed := one(rundir.Failed)
	if len(r.amounts) > 0 {
		t.Errorf("%v", r.amounts)
	}
	r.plan.Design.Order = study.Alternating
	if resumed := NewRunner(Config{Instances: r.Instances, Before: []rundir.Trial{found, failed}}); len(resumed.amounts) > 0 {
		t.Errorf("resumed with %v", resumed.amounts)
	}
}

func TestTrialsOfOneSampleHaveAmountsOfTheirOwn(t *testing.T) {
	r, log, a := newRunner(t, countedPack(), study.Level{})
	start, request := time.Duration(0), 10*time.Microsecond
	a.Script = working(&start, &request)
	if _, err := r.Run(t.Context(), alternating(1, "a")); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		before := drives(log)
		row, err := single(t.Context(), r, slot("a", "", "block"))
		if sought := drives(log) - before - 1; err != nil || row.GuestSeconds != 1 || (sought > 0) != (n == 0) {
			t.Errorf("trial %d: %g s after %d runs: %v %s", n+1, row.GuestSeconds, sought, err, row.Reason)
		}
	}
}
