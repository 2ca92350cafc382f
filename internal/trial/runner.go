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

	"tare/internal/bundle"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/owner"
	"tare/internal/sample"
	"tare/internal/schedule"
	"tare/internal/study"
	"tare/internal/workload"
)

// Runner runs trials of one plan, one at a time.
type Runner struct {
	Plan  *study.Plan
	Owner *owner.Owner
	// Session counts the processes that worked on the run, so that no two
	// instances of a run share a name.
	Session int
	Image   *image.Image
	// Environments that are usable, by the plan's names.
	Environments map[string]environment.Environment
	// Keep stores what a tool printed, Console what an instance's kernel or
	// engine prints.
	Keep    func(t bundle.Trial, name string) *bundle.RawFile
	Console func(instance string) (io.WriteCloser, error)

	held   map[lease]*held
	failed map[string]error // starts that failed in this block, by environment
	block  int
	canary time.Duration
	starts int
}

// lease is who may use an instance: the trials of one environment that want it
// for as long as the run, or those that want it for less. A plan may have both.
type lease struct {
	environment string
	forRun      bool
}

func leaseOf(slot schedule.Slot) lease { return lease{slot.Environment, slot.Fresh == "run"} }

// held is an instance that later trials may use.
type held struct {
	environment.Instance
	name    string
	block   int
	console io.WriteCloser
	phases  []environment.Phase // until the first trial has taken them
	notes   []string
	started time.Duration   // what the start took
	begun   map[string]bool // workloads whose Begin has run here
	atEnd   []func(context.Context) error
}

// Run runs one trial. The error is for what the run cannot go on after: the
// context's end, or a disk that takes nothing more. Everything else is in the
// trial.
func (r *Runner) Run(ctx context.Context, slot schedule.Slot) (bundle.Trial, error) {
	began := time.Now()
	var spent time.Duration // on starts, stops and the workload's own steps
	t := bundle.Trial{
		Block: slot.Block, Position: slot.Position, Environment: slot.Environment,
		Workload: slot.Workload, Level: slot.Level, Started: began.UTC(),
	}
	w, level, err := r.find(slot)
	if err != nil {
		return t, err
	}
	e := r.plan(slot.Environment)
	if reason, known := w.Pack.KnownLimits[e.Kind]; known {
		t.Status, t.Reason, t.Ended = bundle.Skipped, "known limit: "+reason, time.Now().UTC()
		return t, nil
	}
	startBegan := time.Now()
	if err := r.enter(slot); err != nil {
		return t, err
	}
	before := sample.ReadHost()
	instance, err := r.instance(ctx, slot)
	spent += time.Since(startBegan)
	if err == nil {
		t.Instance = instance.name
		t.Phases, instance.phases = instance.phases, nil
		t.Warnings = append(t.Warnings, instance.notes...)
		instance.notes = nil
		if caution := w.Pack.Cautions[e.Kind]; caution != "" {
			t.Warnings = append(t.Warnings, caution)
		}
		if w.Pack.Startup {
			err = measureStart(&t, instance)
		} else {
			m := measurement{runner: r, trial: &t, instance: instance}
			err = m.run(ctx, w, level)
			spent += m.spent
		}
	}
	r.finish(&t, err)
	after := sample.ReadHost()
	t.Pressure = pressure(sample.Between(before, after), r.canary)
	if err := ctx.Err(); err != nil {
		return t, err
	}
	if slot.Fresh == "trial" || instance != nil && gone(instance) {
		stopBegan := time.Now()
		if err := r.release(leaseOf(slot)); err != nil {
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

func (r *Runner) finish(t *bundle.Trial, err error) {
	if err != nil {
		t.Status, t.Reason = bundle.Failed, err.Error()
		return
	}
	t.Status = bundle.OK
}

func gone(h *held) bool {
	select {
	case <-h.Agent().Done():
		return true
	default:
		return false
	}
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

func (r *Runner) plan(name string) study.Environment {
	for _, e := range r.Plan.Environments {
		if e.Name == name {
			return e
		}
	}
	return study.Environment{Name: name}
}

// enter stops what the slot must not run beside: instances of earlier blocks
// and of other environments. Those that live as long as the run stay.
func (r *Runner) enter(slot schedule.Slot) error {
	if r.held == nil {
		r.held, r.failed = map[lease]*held{}, map[string]error{}
	}
	if slot.Block != r.block {
		r.block, r.failed = slot.Block, map[string]error{}
		r.canary = sample.Canary()
	}
	var errs []error
	for l, h := range r.held {
		if !l.forRun && (l != leaseOf(slot) || h.block != slot.Block) {
			errs = append(errs, r.release(l))
		}
	}
	return errors.Join(errs...)
}

// instance is the one to run in: a fresh one, or the block's or run's own.
func (r *Runner) instance(ctx context.Context, slot schedule.Slot) (*held, error) {
	if h := r.held[leaseOf(slot)]; h != nil {
		if slot.Fresh != "trial" && !gone(h) {
			return h, nil
		}
		if err := r.release(leaseOf(slot)); err != nil {
			return nil, err
		}
	}
	if err := r.failed[slot.Environment]; err != nil && slot.Fresh != "trial" {
		return nil, err
	}
	h, err := r.start(ctx, slot)
	if err != nil {
		err = fmt.Errorf("start of %s: %w", slot.Environment, err)
		if ctx.Err() == nil {
			r.failed[slot.Environment] = err
		}
		return nil, err
	}
	r.held[leaseOf(slot)] = h
	return h, nil
}

func (r *Runner) start(ctx context.Context, slot schedule.Slot) (*held, error) {
	r.starts++
	name := fmt.Sprintf("b%d-%s-%d", slot.Block, safe(slot.Environment), r.starts)
	if r.Session > 1 {
		name += fmt.Sprintf("-s%d", r.Session)
	}
	console, err := r.Console(name)
	if err != nil {
		return nil, &diskError{err}
	}
	instance, err := r.Environments[slot.Environment].Start(ctx, environment.Request{
		Name: name, Owner: r.Owner, Image: r.Image, Limits: r.plan(slot.Environment).Limits, Console: console,
	})
	if err != nil {
		console.Close()
		return nil, err
	}
	h := &held{Instance: instance, name: name, block: slot.Block, console: console,
		phases: instance.Phases(), notes: instance.Notes(), begun: map[string]bool{}}
	h.started = environment.StartTime(h.phases)
	return h, nil
}

// stopLimit is how long an instance may take to end.
const stopLimit = 30 * time.Second

// release stops an environment's instance, whatever became of the context.
func (r *Runner) release(l lease) error {
	h := r.held[l]
	if h == nil {
		return nil
	}
	delete(r.held, l)
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	for _, end := range h.atEnd {
		if err := end(ctx); err != nil {
			fmt.Fprintln(h.console, err)
		}
	}
	err := h.Stop(ctx)
	if err != nil {
		err = fmt.Errorf("stop of %s: %w", h.name, err)
	}
	return errors.Join(err, h.console.Close())
}

// Close stops every instance that is still there.
func (r *Runner) Close() error {
	var errs []error
	for l := range r.held {
		errs = append(errs, r.release(l))
	}
	return errors.Join(errs...)
}

// measureStart makes the metrics of the startup workload from the phases.
func measureStart(t *bundle.Trial, h *held) error {
	if t.Phases == nil {
		return fmt.Errorf("the instance %s was started for an earlier trial, so its start is not measured again", h.name)
	}
	t.Metrics = map[string]float64{}
	for _, p := range t.Phases {
		t.Metrics[p.Name] = p.Duration.Seconds()
	}
	t.Metrics["start"] = h.started.Seconds()
	t.HostSeconds = h.started.Seconds()
	usage := sample.OfStart(h.Footprint())
	t.Usage = &usage
	if cpu := usage.CPU(); cpu.Missing == "" {
		t.Metrics[workload.CPUSeconds] = cpu.Value
	} else {
		t.Missing = map[string]string{workload.CPUSeconds: cpu.Missing}
	}
	return nil
}

func pressure(p sample.Pressure, canary time.Duration) *bundle.Pressure {
	seconds := canary.Seconds()
	return &bundle.Pressure{CPU: p.CPU, IO: p.IO, Memory: p.Memory, StealSeconds: p.Steal, CanarySeconds: &seconds}
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
