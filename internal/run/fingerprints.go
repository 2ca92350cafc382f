package run

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/cleanup"
	"tare/internal/environment"
	"tare/internal/rundir"
)

// Fingerprints prepares a plan as a run does, starts each environment once with
// each workload, and looks at it while the servers are up; nothing is measured.
// What comes back has no trials and no folder. An environment that could not be
// looked at is told as an event, and among the manifest's notes.
func Fingerprints(ctx context.Context, o Options) (r *rundir.Run, err error) {
	err = within(ctx, o, func(o *cleanup.Owner) (string, error) { return o.Directory("fingerprints") }, func(e *execution) error {
		img, err := e.prepare(ctx)
		if err != nil {
			return err
		}
		runner := e.runner(img)
		for _, name := range e.usable {
			for _, w := range e.Plan.Workloads {
				e.say("looking at %s under %s", name, w.Name)
				f, err := runner.Fingerprint(ctx, name, w.Name, "")
				if ctx.Err() != nil {
					return errors.Join(ctx.Err(), runner.Close())
				}
				if err != nil {
					e.unlooked(name, fmt.Sprintf("no fingerprint under %s: %v", w.Name, err))
					continue
				}
				e.run.Fingerprints = append(e.run.Fingerprints, f)
			}
		}
		r = &e.run.Run
		r.Folder = ""
		return runner.Close()
	})
	return r, err
}

// unlooked writes down why an environment has no fingerprint.
func (e *execution) unlooked(name, why string) {
	facts := e.run.Manifest.Environments[name]
	facts.Findings = append(facts.Findings, environment.Finding{State: environment.Missing, What: NoFingerprint, Reason: why})
	e.run.Manifest.Environments[name] = facts
	e.events(Event{Kind: Skipped, Environment: name, Message: why})
}

// NoFingerprint is what a finding of an environment that could not be looked at
// is about.
const NoFingerprint = "a fingerprint"
