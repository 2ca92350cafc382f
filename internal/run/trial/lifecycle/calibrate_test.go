package lifecycle_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/run/trial/lifecycle"
	"tare/internal/study"
	"tare/internal/testing/fakeenv"
	"tare/internal/workload"
)

// counted is a workload whose driver is limited by a count.
func counted() workload.Pack {
	smallest, largest := 0.0, 1e9
	return workload.Pack{
		Name: "web", Driver: &workload.Step{Run: "drive ${requests}", Role: "driver"},
		Servers: []workload.Server{{Step: workload.Step{Run: "server"}}},
		Parameters: map[string]workload.Parameter{
			"seconds":  {Default: "1", Unit: "s", Min: &smallest},
			"requests": {Default: "0", Min: &smallest, Max: &largest},
		},
		Length: &workload.Length{Time: "seconds", Sample: 100 * time.Millisecond, Amount: "requests", Start: 1000},
	}
}

// speed is a script of instances whose driver takes some time to start and then
// some for each request.
type speed struct{ start, request time.Duration }

func script(of map[string]speed) func(instance, command string) fakeenv.Result {
	return func(instance, command string) fakeenv.Result {
		var n int64
		if _, err := fmt.Sscanf(command, "drive %d", &n); err != nil {
			return servers(instance, command)
		}
		s := of[instance]
		return fakeenv.Result{After: s.start + time.Duration(n)*s.request}
	}
}

// prepared is a workload that was prepared in one or more copies.
func prepared(t *testing.T, b *bench, load lifecycle.Load, copies int, like ...lifecycle.Work) (*lifecycle.Workload, error) {
	t.Helper()
	return recorded(t, b, load, copies, lifecycle.NewRecord(nil), like...)
}

func recorded(t *testing.T, b *bench, load lifecycle.Load, copies int, record *lifecycle.Record, like ...lifecycle.Work) (*lifecycle.Workload, error) {
	t.Helper()
	r := request("a")
	r.Shape = study.Shape{Copies: copies, Together: true}
	group, err := b.pool.Get(t.Context(), r)
	must(t, err)
	w, err := lifecycle.New(lifecycle.Config{Name: "web", Load: load, Copies: group.Copies, Record: record})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { must(t, w.Finish(t.Context())) })
	if err := w.Prepare(t.Context()); err != nil {
		return w, err
	}
	return w, w.Calibrate(t.Context(), append(like, lifecycle.Work{})[0])
}

func TestTheAmountForAWantedLengthIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		speed  speed
		sample time.Duration
		tries  int // at most
	}{
		"fast":                         {speed{2 * time.Millisecond, 5 * time.Microsecond}, 100 * time.Millisecond, 4},
		"without a start":              {speed{0, time.Microsecond}, 100 * time.Millisecond, 5},
		"a start longer than a sample": {speed{time.Second, 20 * time.Microsecond}, 100 * time.Millisecond, 8},
		"slow":                         {speed{50 * time.Millisecond, time.Millisecond}, 100 * time.Millisecond, 3},
		"one is longer than a sample":  {speed{50 * time.Millisecond, 400 * time.Millisecond}, 100 * time.Millisecond, 5},
		"very fast":                    {speed{time.Millisecond, 20 * time.Nanosecond}, 100 * time.Millisecond, 8},
		"a long sample":                {speed{2 * time.Millisecond, 5 * time.Microsecond}, time.Minute, 6},
		"the default":                  {speed{2 * time.Millisecond, 5 * time.Microsecond}, 0, 6},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, script(map[string]speed{"b1-a-1": c.speed}), "a")
			w, err := prepared(t, b, lifecycle.Load{Pack: counted(), Sample: c.sample}, 1)
			must(t, err)
			tries, spent := 0, time.Duration(0)
			for _, line := range b.log.Lines() {
				if _, command, _ := strings.Cut(line, ": "); strings.HasPrefix(command, "drive") {
					tries++
					spent += script(map[string]speed{"": c.speed})("", command).After
				}
			}
			one := sampled(t, w).Copies[0]
			wanted := c.sample
			if wanted == 0 {
				wanted = time.Second
			}
			work, amount := one.Exit.Elapsed()-c.speed.start, w.Work().Amounts[0]
			if want := fmt.Sprintf("drive %d", amount); one.Pack.Driver.Run != want {
				t.Errorf("the driver was %q, want %q", one.Pack.Driver.Run, want)
			}
			if off := (work - wanted).Abs(); off > wanted/10 && amount > 1 {
				t.Errorf("%d requests take %v, want %v", amount, work, wanted)
			}
			if tries > c.tries {
				t.Errorf("%d tries in %v", tries, spent)
			}
		})
	}
}

func TestADisturbedRunDoesNotDecideTheAmount(t *testing.T) {
	for disturbed := range 5 {
		runs := 0
		b := newBench(t, func(instance, command string) fakeenv.Result {
			r := script(map[string]speed{"b1-a-1": {20 * time.Millisecond, 10 * time.Microsecond}})(instance, command)
			if strings.HasPrefix(command, "drive") {
				if runs == disturbed {
					r.After += 400 * time.Millisecond
				}
				runs++
			}
			return r
		}, "a")
		w, err := prepared(t, b, lifecycle.Load{Pack: counted(), Sample: 100 * time.Millisecond}, 1)
		must(t, err)
		if amount := w.Work().Amounts[0]; amount < 6000 || amount > 16000 {
			t.Errorf("with run %d of %d disturbed, the amount is %d instead of 10000", disturbed, runs, amount)
		}
	}
}

// In an emulated guest, sysbench takes longer to start than the wanted length of a
// sample, and its starts differ by as much as that.
func TestStartsThatDifferDoNotProlongTheSearch(t *testing.T) {
	const start, unit = 600 * time.Millisecond, 15 * time.Millisecond
	for name, like := range map[string]lifecycle.Work{
		"like another environment": {Amounts: []int64{26}, Length: 145 * time.Millisecond},
		"without another one":      {},
	} {
		for first := range 4 {
			runs := 0
			b := newBench(t, func(instance, command string) fakeenv.Result {
				r := script(map[string]speed{"b1-a-1": {start, unit}})(instance, command)
				if strings.HasPrefix(command, "drive") {
					r.After += []time.Duration{-100, 50, 100, -50}[(first+runs)%4] * time.Millisecond
					runs++
				}
				return r
			}, "a")
			pack := counted()
			pack.Length.Start = 2
			w, err := prepared(t, b, lifecycle.Load{Pack: pack, Sample: 100 * time.Millisecond}, 1, like)
			must(t, err)
			got := w.Work()
			t.Logf("%s: %v after %d runs", name, got, runs)
			if took := start + time.Duration(got.Amounts[0])*unit; runs > 5 || len(like.Amounts) > 0 && runs > 2 || got.Amounts[0] < 3 || got.Length > 2*took || took > 2*got.Length {
				t.Errorf("%s: %v after %d runs takes %v", name, got, runs, took)
			}
		}
	}
}

func TestTheExpectedLengthOfAnEstimateContainsTheStart(t *testing.T) {
	pack := counted()
	pack.Parameters["requests"] = workload.Parameter{Default: "0"}
	b := newBench(t, script(map[string]speed{"b1-a-1": {time.Second, 0}}), "a")
	w, err := prepared(t, b, lifecycle.Load{Pack: pack, Sample: 100 * time.Millisecond}, 1)
	must(t, err)
	if got := w.Work().Length; got != 1100*time.Millisecond {
		t.Errorf("a sample that takes 1s is expected to take %v", got)
	}
}

func TestEachCopyHasItsOwnAmount(t *testing.T) {
	speeds := map[string]speed{"b1-a-1": {0, 10 * time.Microsecond}, "b1-a-2": {0, 100 * time.Microsecond}}
	b := newBench(t, script(speeds), "a")
	w, err := prepared(t, b, lifecycle.Load{Pack: counted(), Sample: 200 * time.Millisecond}, 2)
	must(t, err)
	got := map[string]int64{}
	for n, amount := range w.Work().Amounts {
		got[w.Copies()[n].Driver().Name] = amount
	}
	if want := map[string]int64{"b1-a-1": 20000, "b1-a-2": 2000}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, c := range w.Copies() {
		if step := c.DriverStep(); step.Run != "drive ${requests}" {
			t.Errorf("environments are compared by %q", step.Run)
		}
	}
}

func TestAnAmountThatIsSetIsUsed(t *testing.T) {
	b := newBench(t, script(map[string]speed{"b1-a-1": {0, time.Second}}), "a")
	w, err := prepared(t, b, lifecycle.Load{Pack: counted(), Parameters: map[string]string{"requests": "7"}, Sample: time.Millisecond}, 1)
	must(t, err)
	if one := sampled(t, w).Copies[0]; one.Pack.Driver.Run != "drive 7" || w.Work().Amounts != nil {
		t.Errorf("the driver was %q with the amounts %v", one.Pack.Driver.Run, w.Work().Amounts)
	}
	b.logged(t, "start b1-a-1", "b1-a-1: server", "b1-a-1: drive 7")
}

func TestACalibrationWithoutATimeSaysWhatItTried(t *testing.T) {
	b := newBench(t, script(map[string]speed{"b1-a-1": {0, 0}}), "a")
	_, err := prepared(t, b, lifecycle.Load{Pack: counted(), Sample: 100 * time.Millisecond}, 1)
	if err != nil {
		t.Fatalf("the largest amount is used: %v", err)
	}
	pack := counted()
	pack.Parameters["requests"] = workload.Parameter{Default: "0"}
	b = newBench(t, script(map[string]speed{"b1-a-1": {0, 0}}), "a")
	_, err = prepared(t, b, lifecycle.Load{Pack: pack, Sample: 100 * time.Millisecond}, 1)
	if err == nil || !strings.HasPrefix(err.Error(), "no value of requests was found with which the driver takes 100ms: the last of 12 runs took 0s with 1") ||
		!strings.HasSuffix(err.Error(), "; set requests") {
		t.Errorf("got %v", err)
	}
}

func TestACalibrationWithoutAnEndWarnsAndUsesAnEstimate(t *testing.T) {
	pack := counted()
	pack.Parameters["requests"] = workload.Parameter{Default: "0"}
	b := newBench(t, script(map[string]speed{"b1-a-1": {3 * time.Millisecond, 0}}), "a")
	record := lifecycle.NewRecord(nil)
	w, err := recorded(t, b, lifecycle.Load{Pack: pack, Sample: 100 * time.Millisecond}, 1, record)
	must(t, err)
	if got := w.Work().Amounts; len(got) != 1 || got[0] < 1 {
		t.Errorf("the amounts are %v", got)
	}
	if got := record.Warnings(); len(got) != 1 || !strings.HasPrefix(got[0], "samples may be longer or shorter than 100ms: the times of 12 runs of the driver varied too much to find requests exactly, and ") {
		t.Errorf("the warnings are %q", got)
	}
}

func TestAnAmountFromBeforeIsNotSoughtAgain(t *testing.T) {
	b := newBench(t, script(map[string]speed{"b1-a-1": {0, time.Microsecond}}), "a")
	w, err := prepared(t, b, lifecycle.Load{Pack: counted(), Sample: 100 * time.Millisecond, Known: lifecycle.Work{Amounts: []int64{5000}, Length: 50 * time.Millisecond}}, 1)
	must(t, err)
	if one := sampled(t, w).Copies[0]; one.Pack.Driver.Run != "drive 5000" || !slices.Equal(w.Work().Amounts, []int64{5000}) || w.Work().Length != 50*time.Millisecond {
		t.Errorf("the driver was %q with the amounts %v", one.Pack.Driver.Run, w.Work().Amounts)
	}
	if step := w.Copies()[0].DriverStep(); step.Run != "drive ${requests}" {
		t.Errorf("environments are compared by %q", step.Run)
	}
	b.logged(t, "start b1-a-1", "b1-a-1: server", "b1-a-1: drive 5000")
}

func TestTheWorkOfAnotherEnvironmentIsUsedIfItTakesAboutAsLong(t *testing.T) {
	like := lifecycle.Work{Amounts: []int64{10000}, Length: 100 * time.Millisecond}
	for name, c := range map[string]struct {
		speed  speed
		amount int64
		runs   int // of the driver
	}{
		"as fast":                   {speed{0, 10 * time.Microsecond}, 10000, 1},
		"slower by 2.5":             {speed{0, 25 * time.Microsecond}, 10000, 1},
		"faster by 2.5":             {speed{0, 4 * time.Microsecond}, 10000, 1},
		"a start longer than a run": {speed{time.Second, 20 * time.Microsecond}, 10000, 2},
		"mostly a start":            {speed{600 * time.Millisecond, 30 * time.Microsecond}, 10000, 2},
		"slower by 5":               {speed{0, 50 * time.Microsecond}, 2000, 2},
		"slower, with a start":      {speed{200 * time.Millisecond, 300 * time.Microsecond}, 333, 2},
		"faster by 5":               {speed{0, 2 * time.Microsecond}, 50000, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, script(map[string]speed{"b1-a-1": c.speed}), "a")
			w, err := prepared(t, b, lifecycle.Load{Pack: counted(), Sample: 100 * time.Millisecond}, 1, like)
			must(t, err)
			took := c.speed.start + time.Duration(c.amount)*c.speed.request
			if got := w.Work(); !slices.Equal(got.Amounts, []int64{c.amount}) || (got.Length-took).Abs() > time.Millisecond {
				t.Errorf("found %v, which takes %v", got, took)
			}
			if runs := len(b.log.Lines()) - 2; runs != c.runs {
				t.Errorf("%d runs: %q", runs, b.log.Lines())
			}
		})
	}
}

func TestSamplesOfHalfTheLength(t *testing.T) {
	shortest := .05
	timed := counted()
	timed.Driver = &workload.Step{Run: "drive ${seconds}", Role: "driver"}
	timed.Parameters["seconds"] = workload.Parameter{Default: "1.0", Unit: "s", Min: &shortest}
	timed.Length = &workload.Length{Time: "seconds", Sample: 100 * time.Millisecond}
	one := 1.0
	whole := counted()
	whole.Parameters["requests"] = workload.Parameter{Default: "0", Max: &one}
	whole.Length.Start = 1
	for name, c := range map[string]struct {
		load  lifecycle.Load
		share float64
		ran   string
	}{
		"an amount":            {lifecycle.Load{Pack: counted(), Known: lifecycle.Work{Amounts: []int64{41}, Length: time.Second}}, 20. / 41, "drive 20"},
		"an amount of 1":       {lifecycle.Load{Pack: whole}, 0, ""},
		"an amount of a study": {lifecycle.Load{Pack: counted(), Parameters: map[string]string{"requests": "100"}}, 0, ""},
		"a time":               {lifecycle.Load{Pack: timed, Sample: 125 * time.Millisecond}, .496, "drive 0.062"},
		"the shortest time":    {lifecycle.Load{Pack: timed, Sample: 50 * time.Millisecond}, 0, ""},
		"no length":            {lifecycle.Load{Pack: served("web")}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, script(map[string]speed{"b1-a-1": {0, time.Millisecond}}), "a")
			w, err := prepared(t, b, c.load, 1)
			must(t, err)
			if share := w.Halve(); share != c.share {
				t.Fatalf("the share is %g, want %g", share, c.share)
			}
			if c.share == 0 {
				return
			}
			before := sampled(t, w).Copies[0].Pack.Driver.Run
			s, err := w.HalfSample(t.Context())
			must(t, err)
			if got := s.Copies[0].Pack.Driver.Run; got != c.ran {
				t.Errorf("it ran %q, want %q", got, c.ran)
			}
			if after := sampled(t, w).Copies[0].Pack.Driver.Run; after != before || before == c.ran {
				t.Errorf("whole samples ran %q and %q", before, after)
			}
		})
	}
}

func TestTheLargestAmountIsUsedForAShorterSample(t *testing.T) {
	pack := counted()
	largest := 50000.0
	pack.Parameters["requests"] = workload.Parameter{Default: "0", Max: &largest}
	b := newBench(t, script(map[string]speed{"b1-a-1": {0, 10 * time.Nanosecond}}), "a")
	record := lifecycle.NewRecord(nil)
	w, err := recorded(t, b, lifecycle.Load{Pack: pack, Sample: 100 * time.Millisecond}, 1, record)
	must(t, err)
	if got := w.Work().Amounts; !slices.Equal(got, []int64{50000}) {
		t.Errorf("the amounts are %v", got)
	}
	if got, want := record.Warnings(), []string{"samples may be shorter than 100ms: requests is at its largest value, 50000, which takes 500µs"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestADriverThatFailsInACalibrationFailsPrepare(t *testing.T) {
	b := newBench(t, func(instance, command string) fakeenv.Result {
		if strings.HasPrefix(command, "drive") {
			return fakeenv.Result{Code: 1, Stdout: "too few"}
		}
		return servers(instance, command)
	}, "a")
	_, err := prepared(t, b, lifecycle.Load{Pack: counted(), Sample: 100 * time.Millisecond}, 1)
	if err == nil || err.Error() != "finding requests for samples of 100ms, with 1000: driver `drive 1000`: exited with status 1\nits last output:\n  too few" {
		t.Errorf("got %v", err)
	}
}

func TestNeighboursAreCalibratedBeforeTheyWork(t *testing.T) {
	tried := 0
	b := newBench(t, func(instance, command string) fakeenv.Result {
		if instance == "b1-a-2" && strings.HasPrefix(command, "drive") {
			if tried++; command == "drive 200000" {
				return fakeenv.Result{Runs: true}
			}
		}
		return script(map[string]speed{"b1-a-2": {0, 5 * time.Microsecond}})(instance, command)
	}, "a")
	group, err := b.pool.Get(t.Context(), requestWithNeighbours(1))
	must(t, err)
	w, err := lifecycle.New(lifecycle.Config{
		Name: "web", Load: lifecycle.Load{Pack: served("web")}, Copies: group.Copies, Record: lifecycle.NewRecord(nil),
		Neighbours: group.Neighbours, Neighbour: lifecycle.Load{Pack: counted()},
	})
	must(t, err)
	must(t, w.Prepare(t.Context()))
	sampled(t, w)
	must(t, w.Finish(t.Context()))
	if tried < 3 {
		t.Errorf("the neighbour's driver ran %d times", tried)
	}
}
