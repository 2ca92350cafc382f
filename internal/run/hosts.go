package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"tare/internal/environment"
	"tare/internal/environment/remote"
	"tare/internal/host"
	"tare/internal/rundir"
	"tare/internal/study"
)

// studyHost is a host of the study, with the session of tare on it.
type studyHost struct {
	name, ssh string // the study's name, and what ssh takes
	open      func(context.Context) error
	say       func(format string, args ...any)
	err       error // why it was not reached

	host    host.Host
	session *remote.Session
	lost    error      // why the session before ended
	opening sync.Mutex // held while a lost session is opened again
	tries   atomic.Int64
}

// openHost connects to a host of the study, once in a run.
func (e *execution) openHost(ctx context.Context, name string) *studyHost {
	if r := e.hosts[name]; r != nil {
		return r
	}
	if e.hosts == nil {
		e.hosts = map[string]*studyHost{}
	}
	h := e.Plan.Hosts[name]
	r := &studyHost{name: name, ssh: h.SSH}
	e.hosts[name] = r
	r.say = func(format string, args ...any) { e.say("host %s: %s", name, fmt.Sprintf(format, args...)) }
	r.open = func(ctx context.Context) (err error) {
		if r.host, err = host.SSH(ctx, h.Destination()); err != nil {
			r.host = nil
			return err
		}
		r.session, err = remote.Dial(ctx, r.host, remote.Options{Sudo: h.Sudo, Progress: func(line string) { r.say("%s", line) }})
		return err
	}
	r.say("opening %s", h.SSH)
	r.err = r.open(ctx)
	return r
}

// closeHosts closes the sessions with the hosts, which stops what was started
// there.
func (e *execution) closeHosts() error {
	var errs []error
	for name, r := range e.hosts {
		if err := r.close(); err != nil {
			errs = append(errs, fmt.Errorf("host %s: %w", name, err))
		}
	}
	e.hosts = nil
	return errors.Join(errs...)
}

// check checks whether an environment of a plan works where the plan puts it. Where
// it does not, the environment is nil and the findings say why.
func (e *execution) check(ctx context.Context, p study.Environment) (environment.Environment, rundir.EnvironmentFacts, error) {
	switch {
	case p.Inside != nil:
		return e.checkInside(ctx, p)
	case p.Host != "":
		return e.checkOn(ctx, p, p.Host)
	case e.Plan.OnHosts():
		return e.checkOnNodes(ctx, p)
	}
	return check(ctx, p)
}

// checkOn checks an environment on a host of the study, through the tare there.
func (e *execution) checkOn(ctx context.Context, p study.Environment, name string) (environment.Environment, rundir.EnvironmentFacts, error) {
	r := e.openHost(ctx, name)
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
