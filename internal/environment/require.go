package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"tare/internal/base/strictyaml"
)

// Requirement is one thing that an environment needs.
type Requirement struct {
	What  string // "a Docker daemon that answers"
	Check func(context.Context) Finding
}

// State is the result of a check.
type State string

// The three states.
const (
	Usable  State = "usable"
	Caveat  State = "caveat" // usable, with the limitation in Reason
	Missing State = "missing"
)

// Finding is the result of a check with its reason.
type Finding struct {
	State  State  `json:"state"`
	What   string `json:"what,omitempty"`
	Reason string `json:"reason,omitempty"` // what was tried and what came back
	Fix    Fix    `json:"fix,omitzero"`
}

// UnmarshalJSON also accepts Fix under its earlier key, mend: manifests of runs
// that earlier versions recorded have it.
func (f *Finding) UnmarshalJSON(text []byte) error {
	type plain Finding // without this method
	read := struct {
		*plain
		Mend Fix `json:"mend"`
	}{plain: (*plain)(f)}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	if f.Fix.IsZero() {
		f.Fix = read.Mend
	}
	return nil
}

// Works is a usable finding; reason is what was found, or "".
func Works(reason string) Finding { return Finding{State: Usable, Reason: reason} }

// Lacks is a finding of what is missing.
func Lacks(reason string, fix Fix) Finding { return Finding{State: Missing, Reason: reason, Fix: fix} }

// Tested is what a check found that changes nothing: missing with an error, else usable.
func Tested(err error, fix Fix) Finding {
	if err != nil {
		return Lacks(err.Error(), fix)
	}
	return Works("")
}

// Program is the requirement of a program on the PATH.
func Program(what, name string, fix Fix) Requirement {
	return Requirement{What: what, Check: func(context.Context) Finding {
		path, err := exec.LookPath(name)
		if err != nil {
			return Lacks(name+" is not on the PATH", fix)
		}
		return Works(path)
	}}
}

// Root is the requirement to be root.
func Root(what string, fix Fix) Requirement {
	return Requirement{What: what, Check: func(context.Context) Finding {
		if uid := os.Geteuid(); uid != 0 {
			return Lacks(fmt.Sprintf("this is user %d", uid), fix)
		}
		return Works("")
	}}
}

// OneOf is the error of an option with a value that is not known; nil for one that is.
func OneOf(key, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return strictyaml.AtKey(key, "%q is not known: choose one of %s", value, strings.TrimPrefix(strings.Join(known, ", "), ", "))
}

// Check checks the requirements of a kind with these options. The state is missing if a
// requirement is missing, else a caveat if one has a caveat. The findings have What set.
func Check(ctx context.Context, kind string, options any) (State, []Finding) {
	r, ok := registry[kind]
	if !ok {
		return Missing, []Finding{{State: Missing, What: "kind " + kind, Reason: "no such kind of environment"}}
	}
	state, findings := Usable, []Finding{}
	for _, req := range r.Requires(options) {
		f := req.Check(ctx)
		f.What = req.What
		findings = append(findings, f)
		if f.State == Missing || f.State == Caveat && state == Usable {
			state = f.State
		}
		if f.State == Missing {
			break // later requirements depend on this one
		}
	}
	return state, findings
}
