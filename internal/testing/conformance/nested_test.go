package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"tare/internal/environment"
	"tare/internal/environment/nested"
	"tare/internal/host/cleanup"
	"tare/internal/image"
)

// What runs inside another has no kind of its own in a study, which names two
// environments. Here a kind is made of each pair, so that the suite asks of it
// what it asks of all.
func init() {
	registerNested("oci in qemu", "oci", `{"network": "host"}`, "qemu", `{"accel": "tcg", "data": "64MiB"}`)
}

// within is what a nested kind has to know of the suite's scene.
type within struct {
	Home string `json:"home"`
}

func inHome(home string) (string, error) {
	text, err := json.Marshal(within{Home: home})
	return string(text), err
}

func registerNested(name, kind, options, outerKind, outerOptions string) {
	decode := func(kind, text string) (environment.Registration, any, error) {
		r, known := environment.Lookup(kind)
		if !known {
			return r, nil, fmt.Errorf("the kind %s is not registered", kind)
		}
		o := r.Options()
		return r, o, json.Unmarshal([]byte(text), o)
	}
	environment.Register(environment.Registration{
		Kind: name, About: "for this suite",
		Options: func() any { return &within{} },
		Requires: func(any) []environment.Requirement {
			outer, o, err := decode(outerKind, outerOptions)
			if err != nil {
				panic(err)
			}
			return outer.Requires(o)
		},
		New: func(o any) (environment.Environment, error) {
			outer, outerChoice, err := decode(outerKind, outerOptions)
			if err != nil {
				return nil, err
			}
			inner, choice, err := decode(kind, options)
			if err != nil {
				return nil, err
			}
			n := nested.Nesting{
				Outer: "vm", Name: "nested", Kind: kind,
				Console: func(string) (io.WriteCloser, error) { return os.OpenFile(os.DevNull, os.O_WRONLY, 0) },
			}
			if n.Environment, err = outer.New(outerChoice); err != nil {
				return nil, err
			}
			if n.Options, err = json.Marshal(choice); err != nil {
				return nil, err
			}
			if n.Needs, err = inner.Needs(choice); err != nil {
				return nil, err
			}
			n.Shares = nested.Shares(n.Options)
			return &nestedKind{nested.New(n), o.(*within).Home, n}, nil
		},
	})
}

// nestedKind prepares its machine for an owner of its own.
type nestedKind struct {
	environment.Environment
	home    string
	nesting nested.Nesting
}

func (e *nestedKind) Prepare(ctx context.Context, img *image.Image, progress func(string)) (err error) {
	n := e.nesting
	if n.Owner, err = cleanup.Open(e.home); err != nil {
		return err
	}
	defer func() {
		if closed := n.Owner.Close(); err == nil {
			err = closed
		}
	}()
	e.Environment = nested.New(n)
	return e.Environment.Prepare(ctx, img, progress)
}
