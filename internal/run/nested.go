package run

import (
	"context"
	"fmt"
	"io"
	"slices"

	"tare/internal/environment"
	"tare/internal/environment/nested"
	"tare/internal/rundir"
	"tare/internal/study"
)

// checkInside checks what the outer environment needs here. What the inner one
// needs is checked in the first outer instance.
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
		Outer: p.Inside.Name, Environment: outer, Limits: p.Inside.Limits, System: p.Inside.System, Name: p.Name, Kind: p.Kind, Options: p.Options,
		Shares: nested.Shares(p.Options), OneMachine: p.OneMachine, Owner: e.owner,
		Console: func(name string) (io.WriteCloser, error) { return e.run.Console(name) },
	}
	if registration, _ := environment.Lookup(p.Kind); registration.Needs != nil {
		if nesting.Needs, err = registration.Needs(options); err != nil {
			facts.State = environment.Missing
			facts.Findings = append(facts.Findings, environment.Finding{State: environment.Missing, What: "what " + p.Kind + " takes in a machine", Reason: err.Error()})
			return nil, facts, nil
		}
	}
	if nesting.Needs.Packages, err = e.machinePackages(*p.Inside); err != nil {
		return nil, facts, err
	}
	return nested.New(nesting), facts, nil
}

// machinePackages are the packages that any environment of the plan needs in an
// outer one with a system, so that all of them find the same machine.
func (e *execution) machinePackages(outer study.Environment) ([]string, error) {
	var packages []string
	for _, p := range e.Plan.Environments {
		registration, known := environment.Lookup(p.Kind)
		if p.Inside == nil || p.Inside.Name != outer.Name || p.Inside.System != outer.System || !known || registration.Needs == nil {
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
