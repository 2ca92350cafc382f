// Package doctor looks at this machine: what it is, which environments work on
// it, and what would spoil measurements. It asks the registry what each kind of
// environment requires and has no list of its own.
//
// It must not change anything and must not know studies.
package doctor

import (
	"context"

	"tare/internal/environment"
)

// Report is all that doctor has to say.
type Report struct {
	Environments []Environment         `json:"environments"`
	Noise        []environment.Finding `json:"noise"`
}

// Environment is one kind with its default options, and what was found.
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
