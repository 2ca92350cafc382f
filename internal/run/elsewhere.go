package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"tare/internal/bundle"
	"tare/internal/environment"
	"tare/internal/environment/inside"
	"tare/internal/environment/remote"
	"tare/internal/host"
	"tare/internal/study"
)

// reached is another machine of the study, with the session of tare on it.
type reached struct {
	host    host.Host
	session *remote.Session
	err     error // why it was not reached; asked once
}

// reach opens a machine of the study, once a run.
func (e *execution) reach(ctx context.Context, name string) *reached {
	if r := e.hosts[name]; r != nil {
		return r
	}
	if e.hosts == nil {
		e.hosts = map[string]*reached{}
	}
	r := &reached{}
	e.hosts[name] = r
	h := e.Plan.Hosts[name]
	e.say("host %s: opening %s", name, h.SSH)
	if r.host, r.err = host.SSH(ctx, h.Destination()); r.err != nil {
		return r
	}
	r.session, r.err = remote.DialWith(ctx, r.host, remote.Options{Sudo: h.Sudo, Progress: func(line string) { e.say("host %s: %s", name, line) }})
	return r
}

// part closes the machines again, and ends what was started there.
func (e *execution) part() error {
	var errs []error
	for name, r := range e.hosts {
		var err error
		if r.session != nil {
			err = r.session.Close()
		}
		if r.host != nil {
			err = errors.Join(err, r.host.Close())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("host %s: %w", name, err))
		}
	}
	e.hosts = nil
	return errors.Join(errs...)
}

// check finds out whether an environment of a plan works here; nil and the
// findings where it does not.
func (e *execution) check(ctx context.Context, p study.Environment) (environment.Environment, bundle.EnvironmentFacts, error) {
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
func (e *execution) checkInside(ctx context.Context, p study.Environment) (environment.Environment, bundle.EnvironmentFacts, error) {
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
	nesting := inside.Nesting{
		Outer: p.Inside.Name, Environment: outer, Limits: p.Inside.Limits, Name: p.Name, Kind: p.Kind, Options: p.Options,
		Shares: inside.Shares(p.Options), Owner: e.owner,
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
	return inside.New(nesting), facts, nil
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
func (e *execution) checkOn(ctx context.Context, p study.Environment, name string) (environment.Environment, bundle.EnvironmentFacts, error) {
	r := e.reach(ctx, name)
	if r.err != nil {
		return nil, bundle.EnvironmentFacts{State: environment.Missing, Findings: []environment.Finding{{
			State: environment.Missing, What: "host " + name + ", with a tare on it", Reason: r.err.Error(),
		}}}, ctx.Err()
	}
	state, findings := r.session.Check(ctx, p.Kind, p.Options)
	for i := range findings {
		findings[i].What += " (on host " + name + ")"
	}
	facts := bundle.EnvironmentFacts{State: state, Findings: findings}
	if state == environment.Missing {
		return nil, facts, nil
	}
	env, err := r.session.Environment(ctx, p.Kind, p.Options)
	return env, facts, err
}
