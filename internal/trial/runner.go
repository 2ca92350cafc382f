// Package trial is the life of one trial: it starts an instance or takes the
// one that the block already has, sets the workload up, drives it, measures,
// and stops. Whatever happens comes back as a bundle.Trial with a status and a
// reason.
//
// It never decides which trial is next, and it must not know statistics.
package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tare/internal/cleanup"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/parity"
	"tare/internal/rundir"
	"tare/internal/sample"
	"tare/internal/schedule"
	"tare/internal/study"
)

// Runner runs trials of one plan, one at a time.
type Runner struct {
	Plan  *study.Plan
	Owner *cleanup.Owner
	// Session counts the processes that worked on the run, so that no two
	// instances of a run share a name.
	Session int
	Image   *image.Image
	// Environments that are usable, by the plan's names.
	Environments map[string]environment.Environment
	// Host is where roles run that are placed on the host; nil where nothing can.
	Host environment.Environment
	// Places are what was made ready on hosts of the study, and with Host "" on
	// this one, where workloads have instances on several.
	Places map[Spot]Place
	// KeepFingerprint stores one for each environment and workload; nil where none
	// is wanted. Those in Fingerprinted are there already.
	KeepFingerprint func(parity.Fingerprint) error
	Fingerprinted   map[Pair]bool
	// Keep stores what a tool printed, Console what an instance's kernel or
	// engine prints; nil throws it away.
	Keep    func(t rundir.Trial, name string) *rundir.RawFile
	Console func(instance string) (io.WriteCloser, error)
	// KeepSamples stores what instances used over the time of a trial; nil stores
	// nothing.
	KeepSamples func(t rundir.Trial, all []rundir.Watched) (*rundir.Samples, error)
	// Watch is asked, for each measured instance of a trial, who hears what the
	// sampler sees of it; nil where nobody does.
	Watch func(environment, workload string) func(sample.Reading)

	held   map[lease]*held
	failed map[lease]error // starts that failed in this block
	block  int
	canary time.Duration
	starts int
}

// lease is who may use instances: the trials of one environment that need them
// in the same shape, and want them for as long as the run, or for less. A plan
// may have both.
type lease struct {
	environment string
	shape       string
	forRun      bool
}

func leaseOf(slot schedule.Slot, s study.Shape) lease {
	return lease{slot.Environment, s.Key(), slot.Fresh == "run"}
}

// Run runs one trial. The error is for what the run cannot go on after: the
// context's end, or a disk that takes nothing more. Everything else is in the
// trial.
func (r *Runner) Run(ctx context.Context, slot schedule.Slot) (rundir.Trial, error) {
	began := time.Now()
	var spent time.Duration // on starts, stops and the workload's own steps
	t := rundir.Trial{
		Block: slot.Block, Position: slot.Position, Environment: slot.Environment,
		Workload: slot.Workload, Level: slot.Level, Started: began.UTC(), Traced: slot.Traced,
	}
	w, level, err := r.find(slot)
	if err != nil {
		return t, err
	}
	e := r.environment(slot.Environment)
	level.Parameters = e.Parameters(w.Name, level)
	if reason, known := w.Pack.KnownLimits[e.Kind]; known {
		return skipped(t, reason), nil
	}
	shape := level.Shape
	use := leaseOf(slot, shape)
	startBegan := time.Now()
	if err := r.enter(slot, use); err != nil {
		return t, err
	}
	before := sample.ReadHost()
	instances, err := r.instances(ctx, slot, use, shape, w.Pack.EmptyCache)
	spent += time.Since(startBegan)
	if limit := (*noNetwork)(nil); errors.As(err, &limit) {
		return skipped(t, limit.reason), nil
	}
	if err == nil {
		instances.describe(&t)
		if caution := w.Pack.Cautions[e.Kind]; caution != "" {
			t.Warnings = append(t.Warnings, caution)
		}
		if w.Pack.Startup {
			resting := time.Now()
			err = measureStart(ctx, &t, w, level, instances)
			spent += time.Since(resting)
			if err == nil {
				r.lookAtStarted(ctx, &t, w, level, instances)
			}
		} else {
			m := measurement{runner: r, trial: &t, held: instances}
			err = m.run(ctx, w, level)
			spent += m.spent
		}
		instances.fresh = false
	}
	r.finish(&t, err)
	t.Charge(w.Pack, r.Plan.Price)
	after := sample.ReadHost()
	t.Pressure = pressure(sample.Between(before, after), r.canary)
	if err := ctx.Err(); err != nil {
		return t, err
	}
	if slot.Fresh == "trial" || instances != nil && instances.gone() {
		stopBegan := time.Now()
		if err := r.release(use); err != nil {
			t.Warnings = append(t.Warnings, "after the trial: "+err.Error())
		}
		spent += time.Since(stopBegan)
	}
	t.Ended = time.Now().UTC()
	t.OwnSeconds = (time.Since(began) - spent).Seconds()
	var full *diskError
	if errors.As(err, &full) {
		return t, full
	}
	return t, nil
}

func skipped(t rundir.Trial, reason string) rundir.Trial {
	t.Status, t.Reason, t.Ended = rundir.Skipped, "known limit: "+reason, time.Now().UTC()
	return t
}

// describe writes down what the trial runs in.
func (h *held) describe(t *rundir.Trial) {
	t.Instance = h.members[0].name
	if len(h.members) > 1 {
		for _, m := range h.members {
			t.Instances = append(t.Instances, m.name)
		}
	}
	t.Phases, h.phases = h.phases, nil
	t.Paths, h.paths = h.paths, nil
	t.Warnings = append(t.Warnings, h.notes...)
	h.notes = nil
}

func (r *Runner) finish(t *rundir.Trial, err error) {
	if err != nil {
		t.Status, t.Reason = rundir.Failed, err.Error()
		return
	}
	t.Status = rundir.OK
}

func (r *Runner) find(slot schedule.Slot) (*study.Workload, study.Level, error) {
	for i := range r.Plan.Workloads {
		w := &r.Plan.Workloads[i]
		if w.Name != slot.Workload {
			continue
		}
		for _, l := range w.Levels {
			if l.Name == slot.Level {
				return w, l, nil
			}
		}
	}
	return nil, study.Level{}, fmt.Errorf("the plan has no workload %s at level %q", slot.Workload, slot.Level)
}

// enter stops what the slot must not run beside: instances of earlier blocks,
// of other environments and of other shapes. Those that live as long as the run
// stay.
func (r *Runner) enter(slot schedule.Slot, use lease) error {
	if r.held == nil {
		r.held, r.failed = map[lease]*held{}, map[lease]error{}
	}
	if slot.Block != r.block {
		r.block, r.failed = slot.Block, map[lease]error{}
		r.canary = sample.Canary()
	}
	var errs []error
	for l, h := range r.held {
		if !l.forRun && (l != use || h.block != slot.Block) {
			errs = append(errs, r.release(l))
		}
	}
	return errors.Join(errs...)
}

// instances are those to run in: fresh ones, or the block's or run's own.
func (r *Runner) instances(ctx context.Context, slot schedule.Slot, use lease, s study.Shape, emptyCache bool) (*held, error) {
	if h := r.held[use]; h != nil {
		if slot.Fresh != "trial" && !h.gone() {
			return h, nil
		}
		if err := r.release(use); err != nil {
			return nil, err
		}
	}
	if err := r.failed[use]; err != nil && slot.Fresh != "trial" {
		return nil, err
	}
	h, err := r.start(ctx, slot, s, emptyCache)
	if err != nil {
		err = fmt.Errorf("start of %s: %w", slot.Environment, err)
		if ctx.Err() == nil {
			r.failed[use] = err
		}
		return nil, err
	}
	r.held[use] = h
	return h, nil
}

// release stops the instances of a lease, whatever became of the context.
func (r *Runner) release(l lease) error {
	h := r.held[l]
	if h == nil {
		return nil
	}
	delete(r.held, l)
	return h.stop()
}

// Close stops every instance that is still there.
func (r *Runner) Close() error {
	var errs []error
	for l := range r.held {
		errs = append(errs, r.release(l))
	}
	return errors.Join(errs...)
}

func pressure(p sample.Pressure, canary time.Duration) *rundir.Pressure {
	seconds := canary.Seconds()
	return &rundir.Pressure{CPU: p.CPU, IO: p.IO, Memory: p.Memory, StealSeconds: p.Steal, CanarySeconds: &seconds}
}

func safe(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, name)
}

// diskError ends a run: nothing that would be measured could be kept.
type diskError struct{ err error }

func (e *diskError) Error() string {
	return e.err.Error() + ": what was measured so far is kept; make room and go on with --resume"
}
func (e *diskError) Unwrap() error { return e.err }
