package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"tare/internal/environment"
	"tare/internal/environment/nested"
	"tare/internal/environment/remote"
	"tare/internal/host"
	"tare/internal/rundir"
	"tare/internal/study"
)

// reached is another machine of the study, with the session of tare on it.
type reached struct {
	name, ssh string // the study's name, and what ssh takes
	open      func(context.Context) error
	say       func(format string, args ...any)
	err       error // why it was not reached

	host    host.Host
	session *remote.Session
	lost    error       // why the session before ended
	opening *sync.Mutex // one for all machines, as their progress is told to one
	tries   atomic.Int64
}

// reach opens a machine of the study, once a run.
func (e *execution) reach(ctx context.Context, name string) *reached {
	if r := e.hosts[name]; r != nil {
		return r
	}
	if e.hosts == nil {
		e.hosts = map[string]*reached{}
	}
	h := e.Plan.Hosts[name]
	r := &reached{name: name, ssh: h.SSH, opening: &e.opening}
	e.hosts[name] = r
	r.say = func(format string, args ...any) { e.say("host %s: %s", name, fmt.Sprintf(format, args...)) }
	r.open = func(ctx context.Context) (err error) {
		if r.host, err = host.SSH(ctx, h.Destination()); err != nil {
			r.host = nil
			return err
		}
		r.session, err = remote.DialWith(ctx, r.host, remote.Options{Sudo: h.Sudo, Progress: func(line string) { r.say("%s", line) }})
		return err
	}
	r.say("opening %s", h.SSH)
	r.err = r.open(ctx)
	return r
}

// part closes the machines again, and ends what was started there.
func (e *execution) part() error {
	var errs []error
	for name, r := range e.hosts {
		if err := r.close(); err != nil {
			errs = append(errs, fmt.Errorf("host %s: %w", name, err))
		}
	}
	e.hosts = nil
	return errors.Join(errs...)
}

// check finds out whether an environment of a plan works here; nil and the
// findings where it does not.
func (e *execution) check(ctx context.Context, p study.Environment) (environment.Environment, rundir.EnvironmentFacts, error) {
	switch {
	case p.Inside != nil:
		return e.checkInside(ctx, p)
	case p.Host != "":
		return e.checkOn(ctx, p, p.Host)
	}
	return check(ctx, p)
}

// checkInside asks what the outer environment needs here. What the inner one
// needs is found out in the first outer instance.
func (e *execution) checkInside(ctx context.Context, p study.Environment) (environment.Environment, rundir.EnvironmentFacts, error) {
	outer, facts, err := e.check(ctx, *p.Inside)
	for i := range facts.Findings {
		facts.Findings[i].What += fmt.Sprintf(" (for %s, which it is inside)", p.Inside.Name)
	}
	if outer == nil || err != nil {
		return nil, facts, err
	}
	options, err := p.Decode()
	if err != nil {
		return nil, facts, err
	}
	nesting := nested.Nesting{
		Outer: p.Inside.Name, Environment: outer, Limits: p.Inside.Limits, Name: p.Name, Kind: p.Kind, Options: p.Options,
		Shares: nested.Shares(p.Options), Owner: e.owner,
		Console: func(name string) (io.WriteCloser, error) { return e.run.Console(name) },
	}
	if registration, _ := environment.Lookup(p.Kind); registration.Needs != nil {
		if nesting.Needs, err = registration.Needs(options); err != nil {
			facts.State = environment.Missing
			facts.Findings = append(facts.Findings, environment.Finding{State: environment.Missing, What: "what " + p.Kind + " takes in a machine", Reason: err.Error()})
			return nil, facts, nil
		}
	}
	if nesting.Needs.Packages, err = e.machinePackages(p.Inside.Name); err != nil {
		return nil, facts, err
	}
	return nested.New(nesting), facts, nil
}

// machinePackages are those that any environment of the plan needs in an outer
// one: all of them find the same machine.
func (e *execution) machinePackages(outer string) ([]string, error) {
	var packages []string
	for _, p := range e.Plan.Environments {
		registration, known := environment.Lookup(p.Kind)
		if p.Inside == nil || p.Inside.Name != outer || !known || registration.Needs == nil {
			continue
		}
		options, err := p.Decode()
		if err != nil {
			return nil, err
		}
		if needs, err := registration.Needs(options); err == nil { // else it is skipped, with the reason
			packages = append(packages, needs.Packages...)
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages), nil
}

// checkOn asks the tare on another machine.
func (e *execution) checkOn(ctx context.Context, p study.Environment, name string) (environment.Environment, rundir.EnvironmentFacts, error) {
	r := e.reach(ctx, name)
	if r.err != nil {
		return nil, rundir.EnvironmentFacts{State: environment.Missing, Findings: []environment.Finding{{
			State: environment.Missing, What: "host " + name + ", with a tare on it", Reason: r.err.Error(),
		}}}, ctx.Err()
	}
	state, findings := r.session.Check(ctx, p.Kind, p.Options)
	for i := range findings {
		findings[i].What += " (host " + name + ")"
	}
	facts := rundir.EnvironmentFacts{State: state, Findings: findings}
	if state == environment.Missing {
		return nil, facts, nil
	}
	env, err := r.environment(ctx, p.Kind, p.Options)
	return env, facts, err
}
