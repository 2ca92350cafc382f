// Package doctor checks this machine: what it is, which environments work on it,
// and what makes measurements noisy. The requirements of each kind of environment
// come from the registry.
//
// It must not change anything and must not know studies.
package doctor

import (
	"context"

	"tare/internal/environment"
)

// Report is the result of all checks.
type Report struct {
	Environments []Environment         `json:"environments"`
	Noise        []environment.Finding `json:"noise"`
}

// Environment is one kind with its default options, and its findings.
type Environment struct {
	Kind     string                `json:"kind"`
	About    string                `json:"about"`
	State    environment.State     `json:"state"`
	Label    string                `json:"label,omitempty"`
	Findings []environment.Finding `json:"findings"`
}

// Examine checks every registered kind and the machine.
func Examine(ctx context.Context) Report {
	var r Report
	for _, kind := range environment.Kinds() {
		registration, _ := environment.Lookup(kind)
		options := registration.Options()
		e := Environment{Kind: kind, About: registration.About}
		e.State, e.Findings = environment.Check(ctx, kind, options)
		if e.State != environment.Missing {
			if env, err := registration.New(options); err == nil {
				e.Label = env.Label()
			}
		}
		r.Environments = append(r.Environments, e)
	}
	r.Noise = Noise()
	return r
}
