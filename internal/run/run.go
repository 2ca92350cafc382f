// Package run is one execution of a study: it checks which environments work
// here, makes the image, and then asks the schedule for the next trial, has it
// run, and writes it down, until the schedule says that it is over. It wires
// the path of the data and holds no rule of its own: which trial is next is
// schedule's, how one is made is trial's, what follows from them is verdict's.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"tare/internal/cleanup"
	"tare/internal/doctor"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/rundir"
	"tare/internal/sample"
	"tare/internal/schedule"
	"tare/internal/study"
	"tare/internal/trial"
	"tare/internal/verdict"
)

// Options say what to execute and where.
type Options struct {
	Home    string // of images, runs and work in progress
	Folder  string // of the run; "" makes one below the home
	Version string
	Command []string
	// Plan is a new run's; nil goes on with the run in Folder.
	Plan *study.Plan
	// Events hears what happens, in order and one at a time.
	Events func(Event)
	// Watch is asked, for each instance of a trial, who hears what the sampler
	// sees of it; nil where nobody does.
	Watch func(environment, workload string) func(sample.Reading)
}

// Result is how a run ended.
type Result struct {
	Folder      string
	Run         *rundir.Run
	Contrasts   []verdict.Contrast
	Failed      int    // trials, in all sessions
	Stopped     string // why it ended, in words
	Interrupted bool
}

// Alone says that there was nothing to compare the baseline with: each other
// environment of the plan was left out.
func (r *Result) Alone() bool {
	left := 0
	for _, e := range r.Run.Plan.Environments {
		if r.Run.Manifest.Environments[e.Name].State == environment.Missing {
			left++
		}
	}
	return left > 0 && left == len(r.Run.Plan.Environments)-1
}

// InputError says that something that the user named cannot be used: the home,
// the folder of the run, an image. Nothing was started.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// Execute runs a study to its end, or until the context is cancelled: then what
// was measured is kept, the result says so, and the run can be resumed. Nothing
// that it started stays behind in any case.
func Execute(ctx context.Context, o Options) (result *Result, err error) {
	err = within(ctx, o, nil, func(e *execution) error {
		e.events(Event{Kind: Opened, Folder: e.Folder, Run: &e.run.Run})
		result, err = e.execute(ctx)
		return err
	})
	return result, err
}

// within does something with an execution that owns what it starts. Its folder is
// the one that the options say, unless folder names another one, which goes with
// the owner.
func within(ctx context.Context, o Options, folder func(*cleanup.Owner) (string, error), do func(*execution) error) (err error) {
	e := &execution{Options: o, events: o.Events}
	if e.events == nil {
		e.events = func(Event) {}
	}
	if o.Plan != nil {
		if err := TooWide(o.Plan, runtime.NumCPU()); err != nil {
			return &InputError{err}
		}
	}
	e.owner, err = cleanup.Open(o.Home)
	if err != nil {
		return &InputError{err}
	}
	defer func() {
		err = errors.Join(err, e.clear())
		if e.done != nil {
			e.events(*e.done)
		}
	}()
	restore, err := temporaryIn(e.owner)
	if err != nil {
		return err
	}
	defer restore()
	if swept, err := Sweep(ctx, o.Home); err != nil {
		e.say("could not remove all that a dead run left: %v", err)
	} else {
		for _, line := range swept {
			e.say("removed what a dead run left: %s", line)
		}
	}
	if folder != nil {
		if e.Folder, err = folder(e.owner); err != nil {
			return err
		}
	}
	if err := e.open(); err != nil {
		return &InputError{fmt.Errorf("the folder of the run: %w", err)}
	}
	defer func() { err = errors.Join(err, e.part(), e.run.Close()) }()
	return do(e)
}

// clear ends the owner. What an environment left standing, and is gone now, is
// told and changes nothing in the result; what resisted is an error.
func (e *execution) clear() error {
	err := e.owner.Close()
	if stood, all := err.(*cleanup.LeftoverError); all {
		e.events(Event{Kind: Cleared, Message: stood.Error()})
		return nil
	}
	return err
}

// temporaryIn makes what this process and its tools put among the temporary
// files go with the owner, also after a kill.
func temporaryIn(o *cleanup.Owner) (restore func(), err error) {
	folder, err := o.Directory("tmp")
	if err != nil {
		return nil, err
	}
	const variable = "TMPDIR"
	before, was := os.LookupEnv(variable)
	return func() {
		os.Unsetenv(variable)
		if was {
			os.Setenv(variable, before)
		}
	}, os.Setenv(variable, folder)
}

// Sweep removes what dead runs of this home left anywhere.
func Sweep(ctx context.Context, home string) ([]string, error) {
	swept, err := cleanup.Sweep(ctx, home, environment.Sweepers()...)
	store, openErr := image.Open(Images(home))
	if openErr != nil {
		return swept, errors.Join(err, openErr)
	}
	builds, sweepErr := store.Sweep()
	return append(swept, builds...), errors.Join(err, sweepErr)
}

// Images is where a home keeps its images.
func Images(home string) string { return filepath.Join(home, "images") }

// Runs is where a home keeps its runs.
func Runs(home string) string { return filepath.Join(home, "runs") }

type execution struct {
	Options
	events   func(Event)
	owner    *cleanup.Owner
	run      *rundir.Writer
	usable   []string
	prepared map[string]environment.Environment
	host     environment.Environment // of roles that are placed on the host
	hosts    map[string]*reached     // by the study's names
	opening  sync.Mutex              // of a host after its session was lost
	places   places
	schedule *schedule.Schedule
	// before is the time that earlier sessions spent on trials; began is when
	// this one's first trial did.
	before  time.Duration
	began   time.Time
	decided map[string]bool
	done    *Event // the last one, once there is a result
	// interrupted are the blocks and environments that earlier sessions began.
	interrupted map[[2]string]bool
}

func (e *execution) say(format string, args ...any) {
	e.events(Event{Kind: Preparing, Message: fmt.Sprintf(format, args...)})
}

// open makes the run folder or takes up an old one.
func (e *execution) open() (err error) {
	if e.Plan == nil {
		e.run, err = rundir.Resume(e.Folder)
		if err == nil && e.run.Manifest.Import != nil {
			return errors.Join(fmt.Errorf("%s was imported: there is nothing to go on with; tare import --into adds results to it", e.Folder), e.run.Close())
		}
		if err == nil {
			e.Plan = e.run.Plan
		}
		return err
	}
	if e.Folder == "" {
		e.Folder, err = newFolder(Runs(e.Home), e.Plan.Name, time.Now())
		if err != nil {
			return err
		}
	}
	e.run, err = rundir.Create(e.Folder, e.Plan, rundir.Manifest{
		Run: filepath.Base(e.Folder), Tare: e.Version, Command: e.Command, Created: time.Now().UTC(),
		Machine: doctor.Machine(), Environments: map[string]rundir.EnvironmentFacts{},
	})
	return err
}

// newFolder claims a name that nobody has: two runs may begin in one second.
func newFolder(runs, name string, now time.Time) (string, error) {
	if err := os.MkdirAll(runs, 0o755); err != nil {
		return "", err
	}
	base := filepath.Join(runs, name+"-"+now.Format("20060102-150405"))
	for n, folder := 2, base; ; n++ {
		err := os.Mkdir(folder, 0o755)
		if err == nil || !errors.Is(err, os.ErrExist) {
			return folder, err
		}
		folder = fmt.Sprintf("%s-%d", base, n)
	}
}

func (e *execution) execute(ctx context.Context) (*Result, error) {
	m := &e.run.Manifest
	m.Sessions = append(m.Sessions, rundir.Session{Started: time.Now().UTC()})
	session := len(m.Sessions) - 1
	m.Noise = doctor.Noise()

	stopped, err := e.work(ctx)
	interrupted := ctx.Err() != nil
	if interrupted {
		stopped, err = "interrupted", nil
	}
	if err != nil {
		stopped = err.Error()
	}
	m.Sessions[session].Ended, m.Sessions[session].Stopped = time.Now().UTC(), stopped
	if err := errors.Join(err, e.run.SaveManifest()); err != nil {
		if n := len(e.run.Trials); n > 0 {
			err = fmt.Errorf("%w\nwhat was measured is kept, %d trials in %s; with the cause mended, go on with `tare run --resume %s`", err, n, e.Folder, e.Folder)
		}
		return nil, err
	}
	result := &Result{
		Folder: e.Folder, Run: &e.run.Run, Stopped: stopped, Interrupted: interrupted,
		Contrasts: verdict.Contrasts(e.run.Plan, e.run.Trials, m.Environments),
	}
	for _, t := range e.run.Trials {
		if t.Status == rundir.Failed {
			result.Failed++
		}
	}
	if err := e.finish(result); err != nil {
		return result, err
	}
	e.done = &Event{Kind: Done, Message: stopped, Folder: e.Folder, Report: filepath.Join(e.Folder, "report.html")}
	return result, nil
}

// work prepares and then runs trials; it returns why it stopped.
func (e *execution) work(ctx context.Context) (string, error) {
	img, err := e.prepare(ctx)
	if err != nil {
		return "", err
	}
	if e.schedule, err = schedule.New(e.Plan, e.usable); err != nil {
		return "", err
	}
	for _, name := range e.usable {
		e.schedule.Label(name, e.run.Manifest.Environments[name].Label)
	}
	e.interrupted = map[[2]string]bool{}
	for _, t := range e.run.Journal() {
		e.interrupted[[2]string{fmt.Sprint(t.Block), t.Environment}] = true
		e.schedule.Record(t)
		e.before += t.Ended.Sub(t.Started)
	}
	if err := e.run.SaveManifest(); err != nil {
		return "", err
	}
	runner := e.runner(img)
	err = e.loop(ctx, runner)
	return e.schedule.Why(), errors.Join(err, runner.Close())
}

// runner makes the trials of the plan, with the image that prepare gave.
func (e *execution) runner(img *image.Image) *trial.Runner {
	runner := &trial.Runner{
		Plan: e.Plan, Owner: e.owner, Session: len(e.run.Manifest.Sessions), Image: img, Environments: e.prepared, Host: e.host, Places: e.places, Keep: e.run.Keep, KeepSamples: e.run.KeepSamples, Watch: e.Watch,
		Console:         func(name string) (io.WriteCloser, error) { return e.run.Console(name) },
		KeepFingerprint: e.run.KeepFingerprint, Fingerprinted: map[trial.Pair]bool{},
	}
	for _, f := range e.run.Fingerprints {
		runner.Fingerprinted[trial.Pair{Environment: f.Environment, Workload: f.Workload}] = true
	}
	return runner
}

func (e *execution) loop(ctx context.Context, runner *trial.Runner) error {
	e.began = time.Now()
	e.announceVerdicts() // of earlier sessions
	block := 0
	for {
		slot, more := e.schedule.Next(e.elapsed())
		if !more {
			return nil
		}
		if slot.Block != block {
			block = slot.Block
			if err := e.quiet(ctx); err != nil {
				return err
			}
			e.progress(Event{Kind: Block, Slot: &slot})
		}
		e.progress(Event{Kind: Trying, Slot: &slot})
		t, err := runner.Run(ctx, slot)
		if ctx.Err() != nil {
			return ctx.Err() // cut off in the middle: to be run again, nothing to write down
		}
		if e.interrupted[[2]string{fmt.Sprint(t.Block), t.Environment}] && t.Instance != "" {
			t.Warnings = append(t.Warnings, "the run was interrupted within this block: the environment's earlier trials in it ran in another instance, and at another time")
		}
		if err := errors.Join(e.run.Append(t), err); err != nil {
			return err
		}
		e.schedule.Record(t)
		e.progress(Event{Kind: Tried, Slot: &slot, Trial: &t, Contrasts: e.schedule.Contrasts()})
		e.announceVerdicts()
	}
}

func (e *execution) elapsed() time.Duration { return e.before + time.Since(e.began) }

func (e *execution) progress(event Event) {
	event.Progress = e.schedule.Progress(e.elapsed())
	e.events(event)
}

// announceVerdicts tells of primary contrasts that were decided just now.
func (e *execution) announceVerdicts() {
	for _, c := range e.schedule.Contrasts() {
		key := strings.Join([]string{c.Workload, c.Level, c.Metric, c.Environment, c.Part}, "\x00")
		if !c.Primary || c.Open || e.decided[key] || c.N == 0 || c.Verdict == verdict.None {
			continue
		}
		if e.decided == nil {
			e.decided = map[string]bool{}
		}
		e.decided[key] = true
		e.progress(Event{Kind: Verdict, Contrast: &c, Message: verdict.Wording(c)})
	}
}

// quietEnough is the share of time in which something waited for a CPU, below
// which the machine is called quiet.
const quietEnough = 0.10

// quiet waits, at most as long as the design allows, until the machine is.
func (e *execution) quiet(ctx context.Context) error {
	if e.Plan.Design.Quiet <= 0 {
		return nil
	}
	deadline := time.Now().Add(e.Plan.Design.Quiet)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	before := sample.ReadHost()
	for told := false; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		now := sample.ReadHost()
		p := sample.Between(before, now)
		before = now
		if p.CPU == nil || *p.CPU < quietEnough || time.Now().After(deadline) {
			return nil
		}
		if !told {
			told = true
			e.progress(Event{Kind: Waiting, Message: fmt.Sprintf("the machine is busy (CPU pressure %.0f%%): waiting up to %v for quiet", *p.CPU*100, e.Plan.Design.Quiet)})
		}
	}
}
