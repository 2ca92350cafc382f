// Package knowncost is an environment with a known overhead: native, with a loop that does
// a given share more work. Tests use it to check that the overhead is found; no released
// program has the kind.
//
// It must not know what measures the overhead.
package knowncost

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/environment/native"
	"tare/internal/image"
)

// Kind is its YAML key.
const Kind = "handicap"

// Variable is an environment variable of the workload: the number of iterations in place
// of a million.
const Variable = "TARE_HANDICAP"

// Million is the variable's value without a handicap.
const Million = 1_000_000

// Options of the kind handicap.
type Options struct {
	// Percent more work, if Costly is set.
	Percent float64 `yaml:"percent" json:"percent"`
	// Costly is the part that costs exactly Percent.
	Costly bool `yaml:"costly" json:"costly"`
	// Idle is a part that costs nothing.
	Idle bool `yaml:"idle" json:"idle"`
}

// Defaults returns five percent, switched off.
func Defaults() Options { return Options{Percent: 5} }

// Validate returns the error in the options.
func (o *Options) Validate() error {
	if o.Percent < 0 || o.Percent > 1000 {
		return strictyaml.AtKey("percent", "%v is not between 0 and 1000", o.Percent)
	}
	return nil
}

// Iterations returns the number of iterations in place of a million.
func (o *Options) Iterations() int {
	if !o.Costly {
		return Million
	}
	return int(math.Round(Million * (1 + o.Percent/100)))
}

// Pack is a workload that reads the variable: a loop with exactly that much more work
// for each of its nominal operations. It measures the CPU time of the loop only.
const Pack = `workload: spin
title: A loop of known length
stresses: cpu
image: {}
parameters:
  operations: {default: 1000000, min: 1000, max: 1000000000, about: iterations without a handicap}
driver:
  run: |
    exec perl -e '
      sub ns { open my $f, "<", "/proc/self/schedstat" or die $!; (split " ", <$f>)[0] }
      my $n = int(${operations} * ($ENV{` + Variable + `} || 1000000) / 1000000);
      my $began = ns();
      for (my $i = 0; $i < $n; $i++) {}
      printf "spin_seconds %.9f\niterations %d\noperations %d\n", (ns() - $began) / 1e9, $n, ${operations};'
  role: driver
parser:
  regex:
    - '(?m)^spin_seconds (?P<spin_seconds>[0-9.]+)$'
    - '(?m)^iterations (?P<iterations>[0-9]+)$'
    - '(?m)^operations (?P<operations>[0-9]+)$'
metrics:
  - {name: spin_seconds, unit: s, better: lower, primary: true}
  - {name: iterations, unit: op, better: lower}
  - {name: operations, unit: op, better: higher}
operations: operations
`

func init() {
	environment.Register(environment.Registration{
		Kind:     Kind,
		About:    "native, with a known share more work; for tests",
		Options:  func() any { o := Defaults(); return &o },
		Requires: func(any) []environment.Requirement { return below().Requires(plain()) },
		New: func(options any) (environment.Environment, error) {
			o := options.(*Options)
			if err := o.Validate(); err != nil {
				return nil, err
			}
			e, err := below().New(plain())
			return &handicap{e, *o}, err
		},
	})
}

func below() environment.Registration { r, _ := environment.Lookup("native"); return r }
func plain() *native.Options          { o := native.Defaults(); return &o }

type handicap struct {
	environment.Environment
	options Options
}

// Start starts a native instance, with the variable added to those of the image.
func (h *handicap) Start(ctx context.Context, r environment.Request) (environment.Instance, error) {
	given := image.Image{}
	if r.Image != nil {
		given = *r.Image
	}
	given.Env = append(slices.Clone(given.Env), fmt.Sprintf("%s=%d", Variable, h.options.Iterations()))
	r.Image = &given
	return h.Environment.Start(ctx, r)
}
