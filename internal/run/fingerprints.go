package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/parity"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
)

// Fingerprints prepares a plan as a run does, starts each environment once with
// each workload, and takes its fingerprint while the servers run; nothing is
// measured. The run that it returns has no trials and no directory. A failure is
// an event, and its environment is among those that are unobserved.
func Fingerprints(ctx context.Context, o Options) (r *rundir.Run, unobserved []string, err error) {
	err = within(ctx, o, func(o *cleanup.Owner) (string, error) { return o.Directory("fingerprints") }, func(e *execution) error {
		if err := e.prepareAll(ctx); err != nil {
			return err
		}
		nodes := e.working()
		if len(e.nodes) == 0 {
			nodes = []string{""}
		}
		for _, node := range nodes {
			failed, err := e.fingerprintsOn(ctx, node)
			if err != nil {
				return err
			}
			unobserved = append(unobserved, failed...)
		}
		r = &e.run.Run
		r.Directory = ""
		return nil
	})
	return r, unobserved, err
}

// fingerprintsOn takes the fingerprint of each environment with each workload on a node, and
// names those that have none under some workload.
func (e *execution) fingerprintsOn(ctx context.Context, node string) (failed []string, err error) {
	runner := e.runner(node, nil, nil, nil)
	defer func() { err = errors.Join(err, runner.Close()) }()
	on := ""
	if node != "" {
		on = " on " + node
	}
	for _, name := range e.usable {
		for _, w := range e.Plan.Workloads {
			e.say("fingerprint of %s with %s%s", name, w.Name, on)
			f, err := runner.Fingerprint(ctx, subject.Cell{Environment: name, Workload: w.Name})
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				failed = append(failed, name)
				e.events(Event{Kind: Skipped, Environment: name, Message: fmt.Sprintf("no fingerprint with %s%s: %v", w.Name, on, err)})
				continue
			}
			e.run.Fingerprints = append(e.run.Fingerprints, f)
		}
	}
	return failed, nil
}

// keepFingerprint stores a fingerprint, and says what the caller remarks on it.
func (e *execution) keepFingerprint(f parity.Fingerprint) error {
	e.deciding.Lock()
	err := e.run.KeepFingerprint(f)
	e.fair = nil // it is of the fingerprints before
	e.deciding.Unlock()
	if err != nil || e.Fingerprinted == nil {
		return err
	}
	for _, remark := range e.Fingerprinted(f) {
		e.events(Event{Kind: Noted, Message: remark})
	}
	return nil
}

// Unobserved is an error that names the environments without a fingerprint under
// some workload, which is then not compared; nil where all have one.
func Unobserved(r *rundir.Run, unobserved []string, compared []parity.Comparison) error {
	var names []string
	for _, e := range r.Plan.Environments {
		if slices.Contains(unobserved, e.Name) {
			names = append(names, e.Name)
		}
	}
	switch {
	case len(names) > 0:
		return fmt.Errorf("no fingerprint under every workload: %s; the reasons are above", strings.Join(names, ", "))
	case len(compared) == 0:
		return errors.New("nothing was compared: only one environment works here; `tare doctor` shows what the others need")
	}
	return nil
}

// Absent are the environments that do not work here, with the reason: those
// named, or all of the plan where none of it is.
func Absent(r *rundir.Run, only []string) (names []string) {
	some := slices.ContainsFunc(r.Plan.Environments, func(e study.Environment) bool { return slices.Contains(only, e.Name) })
	for _, e := range r.Plan.Environments {
		facts := r.Manifest.Environments[e.Name]
		if facts.State == environment.Missing && (!some || slices.Contains(only, e.Name)) {
			names = append(names, e.Name+" "+Why(facts))
		}
	}
	return names
}
