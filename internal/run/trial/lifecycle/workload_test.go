package lifecycle_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/run/trial/instances"
	"tare/internal/run/trial/lifecycle"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/fakeenv"
	"tare/internal/workload"
)

// served is a workload with every kind of step.
func served(name string) workload.Pack {
	step := func(text string) workload.Step { return workload.Step{Run: name + " " + text} }
	warmup, driver := step("warmup"), step("drive")
	return workload.Pack{
		Name: name, Begin: []workload.Step{step("begin")}, End: []workload.Step{step("end")},
		Setup:   []workload.Step{step("setup")},
		Servers: []workload.Server{{Step: step("server")}},
		Warmup:  &warmup, Driver: &driver, Teardown: []workload.Step{step("teardown")},
	}
}

// bench has a pool of instances in fake environments that share one log.
type bench struct {
	log         *fakeenv.Log
	pool        *instances.Pool
	alternating bool
}

func newBench(t *testing.T, script func(instance, command string) fakeenv.Result, names ...string) *bench {
	t.Helper()
	b := &bench{log: &fakeenv.Log{}}
	plan := &study.Plan{}
	started := map[string]environment.Environment{}
	for _, name := range names {
		plan.Environments = append(plan.Environments, study.Environment{Name: name})
		started[name] = &fakeenv.Environment{Log: b.log, Script: script}
	}
	b.pool = instances.NewPool(instances.Config{Plan: plan, Environments: started, Images: map[string]*image.Image{"": {}}})
	t.Cleanup(func() { b.pool.Close() })
	return b
}

// servers is a script in which servers run until they are stopped.
func servers(_, command string) fakeenv.Result {
	return fakeenv.Result{Runs: strings.Contains(command, "server")}
}

func request(environment string) instances.Request {
	return instances.Request{Block: 1, Environment: environment, Fresh: "block", Shape: study.Shape{Copies: 1, Together: true}}
}

func (b *bench) workload(t *testing.T, r instances.Request, pack workload.Pack, record *lifecycle.Record) *lifecycle.Workload {
	t.Helper()
	group, err := b.pool.Get(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if record == nil {
		record = lifecycle.NewRecord(nil)
	}
	w, err := lifecycle.New(lifecycle.Config{
		Name: pack.Name, Load: lifecycle.Load{Pack: pack}, Copies: group.Copies, Record: record,
		Neighbours: group.Neighbours, Neighbour: lifecycle.Load{Pack: served("noise")}, Alternating: b.alternating,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (b *bench) logged(t *testing.T, want ...string) {
	t.Helper()
	if got := b.log.Lines(); !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sampled(t *testing.T, w *lifecycle.Workload) lifecycle.Sample {
	t.Helper()
	s, err := w.Sample(t.Context())
	must(t, err)
	return s
}

func TestOneWorkloadRunsItsStepsInOrder(t *testing.T) {
	b := newBench(t, servers, "a")
	w := b.workload(t, request("a"), served("web"), nil)
	must(t, w.Prepare(t.Context()))
	sampled(t, w)
	must(t, w.Finish(t.Context()))
	must(t, b.pool.Close())
	b.logged(t, "start b1-a-1",
		"b1-a-1: web begin", "b1-a-1: web setup", "b1-a-1: web server", "b1-a-1: web warmup",
		"b1-a-1: web drive",
		"b1-a-1: SIGTERM web server", "b1-a-1: web teardown",
		"b1-a-1: web end", "stop b1-a-1")
}

func TestRolesRunOnTheCoresThatTheInstanceHasForThem(t *testing.T) {
	b := newBench(t, servers, "a")
	group, err := b.pool.Get(t.Context(), request("a"))
	must(t, err)
	pack := workload.Pack{
		Name: "web", Setup: []workload.Step{{Run: "setup"}},
		Servers: []workload.Server{{Step: workload.Step{Run: "server", Role: "server"}}},
		Driver:  &workload.Step{Run: "drive", Role: "driver"},
	}
	w, err := lifecycle.New(lifecycle.Config{Name: "web", Load: lifecycle.Load{Pack: pack}, Copies: group.Copies, Record: lifecycle.NewRecord(nil), Divide: true})
	must(t, err)
	must(t, w.Prepare(t.Context()))
	sampled(t, w)
	must(t, w.Finish(t.Context()))
	b.logged(t, "start b1-a-1", "b1-a-1: setup", "b1-a-1: server on cores [0]", "b1-a-1: drive on cores [1]", "b1-a-1: SIGTERM server")
}

func TestSamplesOfTwoLivingInstancesAlternate(t *testing.T) {
	b := newBench(t, servers, "a", "b")
	one := b.workload(t, request("a"), served("x"), nil)
	two := b.workload(t, request("b"), served("y"), nil)
	must(t, one.Prepare(t.Context()))
	must(t, two.Prepare(t.Context()))
	for range 2 {
		sampled(t, one)
		sampled(t, two)
	}
	must(t, two.Finish(t.Context()))
	sampled(t, one)
	must(t, one.Finish(t.Context()))
	b.logged(t, "start b1-a-1", "start b1-b-2",
		"b1-a-1: x begin", "b1-a-1: x setup", "b1-a-1: x server", "b1-a-1: x warmup",
		"b1-b-2: y begin", "b1-b-2: y setup", "b1-b-2: y server", "b1-b-2: y warmup",
		"b1-a-1: x drive", "b1-b-2: y drive", "b1-a-1: x drive", "b1-b-2: y drive",
		"b1-b-2: SIGTERM y server", "b1-b-2: y teardown",
		"b1-a-1: x drive",
		"b1-a-1: SIGTERM x server", "b1-a-1: x teardown")
}

func TestBeginRunsOnceInAnInstanceAndEndWhenItStops(t *testing.T) {
	b := newBench(t, servers, "a")
	pack := served("web")
	pack.Setup, pack.Servers, pack.Warmup, pack.Teardown = nil, nil, nil, nil
	for range 2 {
		w := b.workload(t, request("a"), pack, nil)
		must(t, w.Prepare(t.Context()))
		sampled(t, w)
		must(t, w.Finish(t.Context()))
	}
	must(t, b.pool.Release(request("a")))
	must(t, b.workload(t, request("a"), pack, nil).Prepare(t.Context()))
	b.logged(t, "start b1-a-1", "b1-a-1: web begin", "b1-a-1: web drive", "b1-a-1: web drive", "b1-a-1: web end", "stop b1-a-1",
		"start b1-a-2", "b1-a-2: web begin")
}

func TestABeginThatFailedRunsAgainInTheNextTrial(t *testing.T) {
	code := 1
	b := newBench(t, func(_, command string) fakeenv.Result { return fakeenv.Result{Code: code} }, "a")
	pack := workload.Pack{Name: "web", Begin: []workload.Step{{Run: "begin"}}, Driver: &workload.Step{Run: "drive"}}
	if err := b.workload(t, request("a"), pack, nil).Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "begin command `begin`: exited with status 1") {
		t.Errorf("got %v", err)
	}
	code = 0
	must(t, b.workload(t, request("a"), pack, nil).Prepare(t.Context()))
	b.logged(t, "start b1-a-1", "b1-a-1: begin", "b1-a-1: begin")
}

func TestTwoSamplesPrintIntoOneFile(t *testing.T) {
	directory := t.TempDir()
	writer, err := rundir.Create(directory+"/run", &study.Plan{Format: 1, Name: "x"}, rundir.Manifest{Run: "x"})
	must(t, err)
	defer writer.Close()
	n := 0
	b := newBench(t, func(_, command string) fakeenv.Result {
		n++
		return fakeenv.Result{Stdout: strings.Repeat("x", n)}
	}, "a")
	record := lifecycle.NewRecord(func(name string) *rundir.RawFile {
		return writer.Keep(rundir.Trial{Block: 1, Environment: "a", Workload: "w"}, name)
	})
	w := b.workload(t, request("a"), workload.Pack{Name: "w", Driver: &workload.Step{Run: "drive"}}, record)
	must(t, w.Prepare(t.Context()))
	for _, want := range []string{"x", "xx"} {
		if got := string(sampled(t, w).Copies[0].Stdout); got != want {
			t.Errorf("the sample printed %q, want %q", got, want)
		}
	}
	must(t, w.Finish(t.Context()))
	outputs := record.Outputs()
	if len(outputs) != 1 || outputs[0].Name != "driver.stdout" || !slices.Equal(outputs[0].Samples, []int64{1, 2}) {
		t.Fatalf("the outputs are %+v", outputs)
	}
	if text, err := os.ReadFile(directory + "/run/" + outputs[0].Path); err != nil || string(text) != "xxx" {
		t.Errorf("the samples printed %q, %v", text, err)
	}
}

func TestAnOutputThatIsTooLongFailsTheTrial(t *testing.T) {
	for command, want := range map[string]string{
		"web setup":  "setup command `web setup`: printed more than 3B to setup.output in one trial, the most that is kept: let it print less\nits last output:\n  four",
		"web server": "server `web server` printed more than 3B to server.stdout in one trial, the most that is kept: let it print less",
		"web drive":  "driver `web drive`: printed more than 3B to driver.stdout in one trial, the most that is kept: let it print less\nits last output:\n  four",
	} {
		b := newBench(t, func(instance, line string) fakeenv.Result {
			r := servers(instance, line)
			if line == command {
				r.Stdout = "four"
			}
			return r
		}, "a")
		record := lifecycle.NewRecord(func(name string) *rundir.RawFile {
			f := rundir.Discard(name)
			f.LimitTo(3)
			return f
		})
		w := b.workload(t, request("a"), served("web"), record)
		err := w.Prepare(t.Context())
		if err == nil {
			_, err = w.Sample(t.Context())
		}
		if err = errors.Join(err, w.Finish(t.Context())); err == nil || err.Error() != want {
			t.Errorf("%v\nnot\n%s", err, want)
		}
	}
}

func TestFinishRunsAfterAnyFailure(t *testing.T) {
	for name, c := range map[string]struct {
		fails string // the command that exits with 1
		log   []string
	}{
		"setup":    {"web setup", []string{"web begin", "web setup", "web teardown"}},
		"server":   {"web server", []string{"web begin", "web setup", "web server", "web teardown"}},
		"warmup":   {"web warmup", []string{"web begin", "web setup", "web server", "web warmup", "SIGTERM web server", "web teardown"}},
		"driver":   {"web drive", []string{"web begin", "web setup", "web server", "web warmup", "web drive", "SIGTERM web server", "web teardown"}},
		"teardown": {"web teardown", []string{"web begin", "web setup", "web server", "web warmup", "web drive", "SIGTERM web server", "web teardown"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(instance, command string) fakeenv.Result {
				if command == c.fails {
					return fakeenv.Result{Code: 1, Stdout: "the reason"}
				}
				return servers(instance, command)
			}, "a")
			// A server that exits at once is seen before a probe that has no answer.
			b.pool.Environments["a"].(*fakeenv.Environment).Unready = name == "server"
			record := lifecycle.NewRecord(nil)
			w := b.workload(t, request("a"), served("web"), record)
			err := w.Prepare(t.Context())
			if err == nil {
				_, err = w.Sample(t.Context())
			}
			finished := w.Finish(t.Context())
			if name == "teardown" {
				if err != nil || finished != nil || len(record.Warnings()) != 1 || !strings.Contains(record.Warnings()[0], "the reason") {
					t.Errorf("%v, %v, warnings %q", err, finished, record.Warnings())
				}
			} else if err == nil || !strings.Contains(err.Error(), "the reason") || finished != nil {
				t.Errorf("the operation: %v; Finish: %v", err, finished)
			}
			must(t, w.Finish(t.Context())) // and does nothing a second time
			var got []string
			for _, line := range b.log.Lines()[1:] {
				got = append(got, strings.TrimPrefix(line, "b1-a-1: "))
			}
			if !slices.Equal(got, c.log) {
				t.Errorf("it ran %q, want %q", got, c.log)
			}
		})
	}
}

func TestFinishWorksAfterTheContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := newBench(t, func(instance, command string) fakeenv.Result {
		if command == "web drive" {
			cancel()
			return fakeenv.Result{Runs: true}
		}
		return servers(instance, command)
	}, "a")
	w := b.workload(t, request("a"), served("web"), nil)
	must(t, w.Prepare(ctx))
	if _, err := w.Sample(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the sample: %v", err)
	}
	must(t, w.Finish(ctx))
	lines := b.log.Lines()
	if got := lines[len(lines)-3:]; !slices.Equal(got, []string{"b1-a-1: SIGKILL web drive", "b1-a-1: SIGTERM web server", "b1-a-1: web teardown"}) {
		t.Errorf("it ended with %q", got)
	}
}

func TestServersOutliveTheContextOfPrepare(t *testing.T) {
	b := newBench(t, servers, "a")
	w := b.workload(t, request("a"), served("web"), nil)
	ctx, cancel := context.WithCancel(t.Context())
	must(t, w.Prepare(ctx))
	cancel()
	sampled(t, w)
	must(t, w.Finish(t.Context()))
}

func TestAServerThatExitsDuringTheTrialFailsFinish(t *testing.T) {
	b := newBench(t, func(_, command string) fakeenv.Result { return fakeenv.Result{Code: 3} }, "a")
	pack := workload.Pack{Name: "w", Servers: []workload.Server{{Step: workload.Step{Run: "serve"}}}, Driver: &workload.Step{Run: "drive", AnyStatus: true}}
	w := b.workload(t, request("a"), pack, nil)
	// Whether the exit or the answer to the probe comes first is open.
	prepared := w.Prepare(t.Context())
	finished := w.Finish(t.Context())
	if err := errors.Join(prepared, finished); err == nil || !strings.Contains(err.Error(), "server `serve` exited") || prepared != nil && finished != nil {
		t.Errorf("Prepare: %v; Finish: %v", prepared, finished)
	}
}

func TestAnInstanceThatDiesFailsTheSampleAndFinishReturns(t *testing.T) {
	b := newBench(t, func(instance, command string) fakeenv.Result {
		r := servers(instance, command)
		r.Dies = command == "web drive"
		return r
	}, "a")
	w := b.workload(t, request("a"), served("web"), nil)
	must(t, w.Prepare(t.Context()))
	if _, err := w.Sample(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "driver `web drive`: ") {
		t.Errorf("got %v", err)
	}
	must(t, w.Finish(t.Context()))
}

func TestASampleNeedsPrepare(t *testing.T) {
	b := newBench(t, servers, "a")
	w := b.workload(t, request("a"), served("web"), nil)
	if _, err := w.Sample(t.Context()); err == nil || !strings.Contains(err.Error(), "before the workload was prepared") {
		t.Errorf("got %v", err)
	}
	b.logged(t, "start b1-a-1")
}

func TestCopiesAreNamedInErrorsAndOutputs(t *testing.T) {
	b := newBench(t, func(instance, command string) fakeenv.Result {
		return fakeenv.Result{Code: map[string]int{"b1-a-2": 7}[instance]}
	}, "a")
	r := request("a")
	r.Shape.Copies = 3
	var mu sync.Mutex
	var names []string
	record := lifecycle.NewRecord(func(name string) *rundir.RawFile {
		mu.Lock()
		defer mu.Unlock()
		names = append(names, name)
		return rundir.Discard(name)
	})
	w := b.workload(t, r, workload.Pack{Name: "w", Setup: []workload.Step{{Run: "setup"}}, Driver: &workload.Step{Run: "drive"}}, record)
	if err := w.Prepare(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "copy 2: setup command") || strings.Contains(err.Error(), "copy 1") {
		t.Errorf("got %v", err)
	}
	slices.Sort(names)
	if want := []string{"copy1.setup.output", "copy2.setup.output", "copy3.setup.output"}; !slices.Equal(names, want) {
		t.Errorf("the outputs are %q, want %q", names, want)
	}
}
