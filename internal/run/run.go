// Package run executes a study: it checks which environments work here, prepares
// the image, and then makes the trials that the schedule asks for and appends them
// to the journal. It connects the packages and has no rules of its own: schedule
// decides which trial is next, trial makes it, verdict draws the conclusions.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"tare/internal/application/secret"
	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/image/origin"
	"tare/internal/linux/private"
	"tare/internal/parity"
	"tare/internal/parity/evaluate"
	"tare/internal/run/doctor"
	"tare/internal/run/schedule"
	"tare/internal/run/trial"
	"tare/internal/run/trial/instances"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/usage"
	"tare/internal/verdict"
)

// Options say what to execute and where.
type Options struct {
	Home      string // of images, runs and work in progress
	Directory string // of the run; "" makes one below the home
	Version   string
	Command   []string
	// Plan is a new run's; nil goes on with the run in Directory.
	Plan *study.Plan
	// Images are those that a new run has to have, by their names in the plan, as in the
	// manifest of another run; nil where what their sources give is right. With AnyImage
	// their sources may give others, where they are not in the store.
	Images   map[string]rundir.ImageFacts
	AnyImage bool
	// Parallel replaces how many nodes of a resumed run work at the same time; 0 leaves
	// it as in the plan.
	Parallel int
	// Events receives what happens, in order and one at a time.
	Events func(Event)
	// Watch returns, for each instance of a trial, the callback for its readings;
	// nil where nothing receives them.
	Watch func(node string, at subject.Cell) func(usage.Reading)
	// Fingerprinted receives each fingerprint that the run takes, and returns remarks on
	// it, which become events; nil where there are none.
	Fingerprinted func(parity.Fingerprint) []string
}

// Result is how a run ended.
type Result struct {
	Directory   string
	Run         *rundir.Run
	Contrasts   []verdict.Contrast
	Failed      int    // trials, in all sessions
	Stopped     string // why it ended
	Interrupted bool
}

// Alone says whether every environment other than the baseline was left out, so
// that nothing was compared.
func (r *Result) Alone() bool {
	left := 0
	for _, e := range r.Run.Plan.Environments {
		if r.Run.Manifest.Environments[e.Name].State == environment.Missing {
			left++
		}
	}
	return left > 0 && left == len(r.Run.Plan.Environments)-1
}

// InputError is about something that the user named and that cannot be used: the
// home, the run directory, an image. Nothing was started.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// Check refuses what the user named and cannot be used, as far as that is seen without
// disturbing what is being measured on this machine.
func Check(o Options) error {
	if o.Plan == nil {
		return nil
	}
	err := TooWide(o.Plan, runtime.NumCPU())
	if err == nil && o.Directory != "" {
		err = rundir.Vacant(o.Directory)
	}
	for _, reference := range o.Plan.References() {
		if err == nil && o.Images == nil { // else the store may have them
			err = origin.Check(reference)
		}
	}
	if err != nil {
		return &InputError{err}
	}
	return nil
}

// Execute runs a study to its end, or until the context is cancelled: then the
// trials so far are kept, the result says so, and the run can be resumed. In any
// case everything that it started is stopped.
func Execute(ctx context.Context, o Options) (result *Result, err error) {
	err = within(ctx, o, nil, func(e *execution) error {
		e.events(Event{Kind: Opened, Directory: e.Directory, Run: &e.run.Run})
		result, err = e.execute(ctx)
		return err
	})
	return result, err
}

// within calls do with an execution that owns what it starts. Its directory is
// that of the options, unless directory returns one, which is removed with the owner.
func within(ctx context.Context, o Options, directory func(*cleanup.Owner) (string, error), do func(*execution) error) (err error) {
	e := &execution{Options: o, events: oneAtATime(o.Events)}
	if err := Check(o); err != nil { // again: time may have passed
		return err
	}
	e.owner, err = cleanup.Open(o.Home)
	if err != nil {
		return &InputError{err}
	}
	defer func() {
		err = errors.Join(err, e.clear())
		err = e.secrets.Error(err)
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
		e.say("could not remove all leftovers of a dead run: %v", err)
	} else {
		for _, line := range swept {
			e.say("removed leftovers of a dead run: %s", line)
		}
	}
	if directory != nil {
		if e.Directory, err = directory(e.owner); err != nil {
			return err
		}
	}
	if err := e.open(); err != nil {
		return &InputError{err}
	}
	defer func() {
		err = errors.Join(err, e.closeHosts(), e.run.Close())
		if input := (*InputError)(nil); o.Plan != nil && errors.As(err, &input) && len(e.run.Journal()) == 0 {
			err = errors.Join(err, os.RemoveAll(e.Directory)) // nothing was started
		}
	}()
	if err := e.readSecrets(); err != nil {
		return &InputError{err}
	}
	return do(e)
}

// clear closes the owner. Something that an environment left behind and that was
// removed now is an event; something that could not be removed is an error.
func (e *execution) clear() error {
	err := e.owner.Close()
	if leftover, removed := err.(*cleanup.LeftoverError); removed {
		e.events(Event{Kind: Cleared, Message: leftover.Error()})
		return nil
	}
	return err
}

// temporaryIn sets TMPDIR to a directory of the owner, so that temporary files of
// this process and its tools are removed with it, also after a kill.
func temporaryIn(o *cleanup.Owner) (restore func(), err error) {
	directory, err := o.Directory("tmp")
	if err != nil {
		return nil, err
	}
	const variable = "TMPDIR"
	before, was := os.LookupEnv(variable)
	return func() {
		_ = os.Unsetenv(variable)
		if was {
			_ = os.Setenv(variable, before)
		}
	}, os.Setenv(variable, directory)
}

// Sweep removes what dead runs of this home left anywhere.
func Sweep(ctx context.Context, home string) ([]string, error) {
	if err := private.Check(home); err != nil {
		return nil, &InputError{err}
	}
	swept, err := cleanup.Sweep(ctx, home, environment.Sweepers()...)
	store, openErr := image.Open(Images(home))
	if openErr != nil {
		return swept, errors.Join(err, openErr)
	}
	builds, sweepErr := store.Sweep()
	return append(swept, builds...), errors.Join(err, sweepErr)
}

// Leftovers are what Sweep would remove, a line for each. Nothing is removed.
func Leftovers(ctx context.Context, home string) ([]string, error) {
	if err := private.Check(home); err != nil {
		return nil, &InputError{err}
	}
	sweepers := map[string]cleanup.Sweeper{}
	for _, kind := range environment.Kinds() {
		if r, _ := environment.Lookup(kind); r.Sweep != nil {
			sweepers[kind] = r.Sweep
		}
	}
	found, err := cleanup.Look(ctx, home, sweepers)
	builds, halfErr := image.Existing(Images(home)).HalfMade()
	return append(found, builds...), errors.Join(err, halfErr)
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
	secrets  *secret.Set
	usable   []string
	prepared map[string]environment.Environment
	host     environment.Environment // runs the roles that are on the host
	images   map[string]*image.Image // by their names in the plan
	// later is what is made beside the first trials, until its outcome is taken; nil where
	// all was there before them. lacking is what could not be had of it.
	later   *later
	lacking map[lack]string
	hosts   map[string]*studyHost // by the study's names
	slots   hostSlots
	nodes   []string          // that blocks run on; nil for this machine
	gone    map[string]string // of them, those that get no more blocks, and why
	// beside are the environments of roles on the host, of those that are placed on nodes,
	// and elsewhere says that all are on other machines than this one.
	beside    map[string]environment.Environment
	elsewhere bool
	// deciding is held while the schedule is asked, or told something.
	deciding sync.Mutex
	fair     *evaluate.Book // marks what confounds affect; nil until it is asked again
	schedule *schedule.Schedule
	// before is the time that earlier sessions spent on trials; began is when
	// this one's first trial did.
	before   time.Duration
	began    time.Time
	decided  map[decision]bool
	steps    int       // of the preparation, that were begun
	step     *Step     // the one under way; nil at other times
	trying   bool      // a trial was begun
	told     time.Time // when the estimates were last sent
	foretold int       // from how many blocks it was said what the budget is likely to give
	done     *Event    // the last one, once there is a result
	// interrupted are the blocks and environments that earlier sessions began.
	interrupted map[startKey]bool
	// torn are the batches of which earlier sessions recorded trials.
	torn map[batchKey]bool
}

// startKey names the instances of an environment in a block.
type startKey struct {
	block       int
	environment string
}

// batchKey names the trials of a workload at a level in a block.
type batchKey struct {
	block int
	subject.Place
}

// decision names a contrast that was announced.
type decision struct {
	subject.Figure
	part string
}

func (e *execution) say(format string, args ...any) {
	e.events(Event{Kind: Preparing, Message: fmt.Sprintf(format, args...), Step: e.step})
}

// worthSaying is how long a step of the preparation takes that an event says took long.
const worthSaying = time.Second

// prepareStep does a step of the preparation. What is said meanwhile is part of it.
func (e *execution) prepareStep(name, message string, of int, do func() error) error {
	e.steps++
	e.step = &Step{Name: name, Number: e.steps, Of: max(of, e.steps)}
	defer func() { e.step = nil }()
	began := time.Now()
	e.say("%s", message)
	if err := do(); err != nil {
		return err
	}
	if took := time.Since(began); took >= worthSaying {
		done := *e.step
		done.Took = took
		e.events(Event{Kind: Preparing, Message: fmt.Sprintf("%s: ready after %v", name, took.Round(time.Second)), Step: &done})
	}
	return nil
}

// open makes the run directory or takes up an old one.
func (e *execution) open() (err error) {
	if e.Plan == nil {
		e.run, err = rundir.Resume(e.Directory)
		if err == nil && e.run.Manifest.Import != nil {
			return errors.Join(fmt.Errorf("%s was imported, so it cannot be resumed; tare import --into adds results to it", e.Directory), e.run.Close())
		}
		if err != nil {
			return err
		}
		e.Plan = e.run.Plan
		if e.Parallel > 0 {
			if err := e.Plan.SetParallel(e.Parallel); err != nil {
				return errors.Join(err, e.run.Close())
			}
		}
		if missing := e.run.Incomplete; missing != "" {
			e.say("%s", missing)
			e.run.Incomplete = ""
		}
		return nil
	}
	fit(e.Plan)
	if e.Directory == "" {
		e.Directory, err = private.New(Runs(e.Home), e.Plan.Name, time.Now())
		if err != nil {
			return err
		}
	}
	m := rundir.Manifest{
		Run: filepath.Base(e.Directory), Tare: e.Version, Command: e.Command, Created: time.Now().UTC(),
		Machine: doctor.Machine(), Environments: map[string]rundir.EnvironmentFacts{},
	}
	for name, facts := range e.Options.Images {
		m.SetImage(name, facts)
	}
	e.run, err = rundir.Create(e.Directory, e.Plan, m)
	return err
}

// afterTheEnd is said of a run that is over and is resumed.
const afterTheEnd = "this run is over, and its last analysis is made: no error is left for more blocks, so none are run, and only the reports are written again; for more blocks begin a new run with a larger budget or more blocks"

func (e *execution) execute(ctx context.Context) (*Result, error) {
	m := &e.run.Manifest
	if i := slices.IndexFunc(m.Sessions, func(s rundir.Session) bool { return s.Over }); i >= 0 {
		e.events(Event{Kind: Noted, Message: afterTheEnd})
		return e.conclude(ctx, m.Sessions[i].Stopped, false)
	}
	began := time.Now().UTC()
	m.Sessions = append(m.Sessions, rundir.Session{Started: began, Parallel: e.Parallel})
	session := len(m.Sessions) - 1
	m.Noise = doctor.Noise()

	stopped, err := e.work(ctx)
	interrupted := ctx.Err() != nil
	if interrupted {
		stopped, err = rundir.Interrupted, nil
	}
	if err != nil {
		stopped = e.secrets.Mask(err.Error())
	}
	m.Sessions[session].Ended, m.Sessions[session].Stopped = began.Add(time.Since(began)), stopped // the clock may have been set
	m.Sessions[session].Over = err == nil && !interrupted
	if err := errors.Join(err, e.run.SaveManifest()); err != nil {
		if n := len(e.run.Trials); n > 0 || e.trying {
			err = fmt.Errorf("%w\n%d trials are kept in %s; fix the cause, then continue with `tare run --resume %s`", err, n, e.Directory, e.Directory)
		}
		return nil, err
	}
	return e.conclude(ctx, stopped, interrupted)
}

// conclude writes the reports.
func (e *execution) conclude(ctx context.Context, stopped string, interrupted bool) (*Result, error) {
	e.events(Event{Kind: Ending, Message: "writing the reports"})
	result := &Result{Directory: e.Directory, Run: &e.run.Run, Stopped: stopped, Interrupted: interrupted}
	for _, t := range e.run.Trials {
		if t.Status == rundir.Failed {
			result.Failed++
		}
	}
	if err := e.finish(ctx, result); err != nil {
		return result, err
	}
	e.done = &Event{Kind: Done, Message: stopped, Directory: e.Directory, Report: filepath.Join(e.Directory, "report.html")}
	return result, nil
}

// work prepares and then runs trials; it returns why it stopped.
func (e *execution) work(ctx context.Context) (string, error) {
	for _, remark := range foreign(e.Plan, lists.Map(e.Plan.Environments, func(e study.Environment) string { return e.Name })) {
		e.events(Event{Kind: Noted, Message: remark})
	}
	defer e.endLater()
	err := e.prepare(ctx)
	if err != nil {
		return "", err
	}
	if e.schedule, err = schedule.New(e.Plan, e.usable); err != nil {
		return "", err
	}
	for _, remark := range e.Plan.Fitting(e.usable) {
		e.events(Event{Kind: Noted, Message: remark})
	}
	for _, name := range e.usable {
		e.schedule.Label(name, e.run.Manifest.Environments[name].Label)
	}
	if len(e.nodes) > 0 {
		parallel := e.Plan.Nodes.Parallel
		parallel = cmp.Or(parallel, len(e.nodes))
		if err := e.schedule.Over(e.nodes, parallel); err != nil {
			return "", err
		}
	}
	journal := e.run.Journal()
	e.interrupted, e.torn = map[startKey]bool{}, map[batchKey]bool{}
	for _, t := range journal {
		e.interrupted[startKey{t.Block, t.Environment}] = true
		e.torn[batchKey{t.Block, t.Cell().Place()}] = true
		e.schedule.Record(t)
	}
	e.before = rundir.Elapsed(journal)
	if err := e.run.SaveManifest(); err != nil {
		return "", err
	}
	lanes := e.lanes()
	err = e.loop(ctx, lanes)
	e.events(Event{Kind: Ending, Message: "stopping what was started"})
	for _, l := range lanes {
		err = errors.Join(err, l.runner.Close())
	}
	return e.schedule.Why(), err
}

// runner makes the trials of the plan on a node, where earlier sessions made those before.
func (e *execution) runner(node string, before []rundir.Trial, prints *trial.Fingerprints, afterRound func(int, []rundir.Trial)) *trial.Runner {
	return trial.NewRunner(trial.Config{
		Instances: instances.Config{
			Owner: e.owner, Images: e.images, Session: len(e.run.Manifest.Sessions), Plan: e.Plan.On(node),
			Environments: e.prepared, Host: e.host, OnHosts: e.slots, Node: node, Beside: e.beside,
			Console: func(name string) (io.WriteCloser, error) { return e.run.Console(name) },
			Secrets: e.secrets,
		},
		Keep: e.run.Keep, KeepReadings: e.run.KeepReadings, Watch: e.Watch,
		Unable: e.unable, Fingerprints: prints, AfterRound: afterRound, Elsewhere: e.elsewhere,
		Before: before,
	})
}
