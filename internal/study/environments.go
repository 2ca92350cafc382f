package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/workload"
)

var environmentName = regexp.MustCompile(`^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$`)

// environmentKeys are the keys that every kind has; the others are the kind's
// own options.
var environmentKeys = []string{"kind", "limits", "inside", "system", "host", "with"}

// limitsOverride replaces limits of the study for one environment. Cores are
// not among them: all environments have the same ones.
type limitsOverride struct {
	CPUs   *float64        `yaml:"cpus"`
	Memory *quantity.Bytes `yaml:"memory"`
	PIDs   *int            `yaml:"pids"`
	IO     *environment.IO `yaml:"io"`
}

func resolveEnvironments(root strictyaml.Node, s, scaled section, limits environment.Limits, hosts map[string]Host, directory string) []Environment {
	if s.IsNull() {
		root.At("environments").Problemf("environments: is missing; name at least one, such as native: {}")
		return nil
	}
	var environments []Environment
	for _, p := range s.Pairs() {
		e := Environment{Name: p.Key, Kind: p.Key, Limits: limits}
		if !environmentName.MatchString(p.Key) {
			p.Value.ProblemAtKey("%q is not a valid name of an environment: use letters, digits and single dashes", p.Key)
		}
		kindAt := p.Value
		at, given := p.Value.Get("kind")
		if given {
			at.Decode(&e.Kind)
			kindAt = at
		}
		registration, known := environment.Lookup(e.Kind)
		if !known {
			message := strictyaml.Unknown("kind of environment", e.Kind, environment.Kinds())
			if !given {
				kindAt.ProblemAtKey("%s; if the name is not the kind, add kind: below it", message)
			} else {
				kindAt.Problemf("%s", message)
			}
			// Kept, so that the baseline and the rest can still be checked.
			environments = append(environments, e)
			continue
		}
		options := registration.Options()
		p.Value.Dotted().Decode(options, environmentKeys...)
		validate(p.Value, options)
		if at, given := p.Value.Get("limits"); given {
			e.Limits = overrideLimits(at, limits)
		}
		if over, given := scaled.Get(p.Key); given && scaled.Exists() {
			over.Decode(options, "limits", "with")
			validate(over, options)
			if at, given := over.Get("limits"); given {
				e.Limits = overrideLimits(at, e.Limits)
			}
		}
		encoded, err := json.Marshal(options)
		if err != nil {
			p.Value.Problemf("the options of kind %s cannot be stored: %s", e.Kind, err)
		}
		e.Options = encoded
		environments = append(environments, e)
	}
	resolveNesting(s, environments, hosts, directory)
	return environments
}

func environmentNames(environments []Environment) []string {
	return lists.Map(environments, func(e Environment) string { return e.Name })
}

// validate calls the options' own Validate. An error of an option that is given gets the
// position of that option.
func validate(at strictyaml.Node, options any) {
	v, ok := options.(interface{ Validate() error })
	if !ok {
		return
	}
	err := v.Validate()
	if err == nil {
		return
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, e := range all {
		problemAt(at, e, strictyaml.Node.Problemf)
	}
}

// problemAt reports an error at its key; without one that is given, otherwise reports it.
func problemAt(at strictyaml.Node, err error, otherwise func(at strictyaml.Node, format string, args ...any)) {
	if of, ok := errors.AsType[*strictyaml.KeyError](err); ok {
		if option, given := at.Get(of.Key); given {
			at, otherwise = option, strictyaml.Node.Problemf
		}
	}
	otherwise(at, "%s", err)
}

func overrideLimits(at strictyaml.Node, limits environment.Limits) environment.Limits {
	var o limitsOverride
	at.Decode(&o)
	if o.CPUs != nil {
		if limits.CPUs = *o.CPUs; limits.CPUs < 0 {
			at.At("cpus").Problemf("cpus: must not be negative")
		}
	}
	if o.Memory != nil {
		limits.Memory = *o.Memory
	}
	if o.PIDs != nil {
		if limits.PIDs = *o.PIDs; limits.PIDs < 0 {
			at.At("pids").Problemf("pids: must not be negative")
		}
	}
	if o.IO != nil {
		validate(at.At("io"), o.IO)
		limits.IO = *o.IO
	}
	return limits
}

// Decode returns the option struct of a plan's environment, for New of its kind.
func (e Environment) Decode() (any, error) {
	registration, known := environment.Lookup(e.Kind)
	if !known {
		return nil, fmt.Errorf("environment %s: %s", e.Name, strictyaml.Unknown("kind of environment", e.Kind, environment.Kinds()))
	}
	options := registration.Options()
	if err := json.Unmarshal(e.Options, options); err != nil {
		return nil, fmt.Errorf("environment %s: its options do not fit the kind %s of this version: %w", e.Name, e.Kind, err)
	}
	return options, nil
}

// Capabilities are what instances of the environment can have; none with options that do
// not fit the kind.
func (e Environment) Capabilities() environment.Capabilities {
	options, err := e.Decode()
	if err != nil {
		return environment.Capabilities{}
	}
	return environment.CapabilitiesOf(e.Kind, options)
}

// OptionWords returns an environment's options as text, nested ones as
// outer.inner, and the kind's defaults in the same form. The system of the machine that
// it is inside is among them, as system.suite.
func (e Environment) OptionWords() (set, usual map[string]string) {
	set, usual = map[string]string{}, map[string]string{}
	var all, defaults map[string]any
	if json.Unmarshal(e.Options, &all) != nil {
		return set, usual
	}
	if registration, known := environment.Lookup(e.Kind); known {
		if encoded, err := json.Marshal(registration.Options()); err == nil {
			_ = json.Unmarshal(encoded, &defaults)
		}
	}
	if e.Inside != nil {
		for key, value := range e.Inside.System.Words() {
			set["system."+key] = value
		}
	}
	for words, options := range map[*map[string]string]map[string]any{&set: all, &usual: defaults} {
		for key, value := range flatten("", options) {
			(*words)[key] = optionValue(key, value)
		}
	}
	return set, usual
}

// UnusualOptions are the options that differ from the kind's defaults, as
// key=value.
func (e Environment) UnusualOptions() string {
	set, usual := e.OptionWords()
	var words []string
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if set[key] != usual[key] {
			words = append(words, key+"="+set[key])
		}
	}
	return strings.Join(words, " ")
}

// flatten names nested options outer.inner.
func flatten(before string, options map[string]any) map[string]any {
	flat := map[string]any{}
	for key, value := range options {
		if inner, nested := value.(map[string]any); nested {
			maps.Copy(flat, flatten(before+key+".", inner))
		} else {
			flat[before+key] = value
		}
	}
	return flat
}

func optionValue(key string, value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []any:
		return strings.Join(lists.Map(v, func(one any) string { return optionValue(key, one) }), ",")
	case float64:
		if strings.HasSuffix(key, "timeout") {
			return time.Duration(v).String()
		}
	case string:
		// A plan has a size in bytes, to be exact.
		if size, err := quantity.ParseBytes(v); err == nil && strings.HasSuffix(v, "B") {
			return size.String()
		}
	}
	return fmt.Sprint(value)
}

// checkPorts reports servers that are driven from outside their instance at ports
// that the environment does not publish: each trial would fail at its timeout.
func checkPorts(root strictyaml.Node, scaled section, plan *Plan) {
	for _, e := range plan.Environments {
		can := e.Capabilities()
		key, ports := can.PortsOption, can.Ports
		if key == "" {
			continue
		}
		at := root.At("environments", e.Name, key)
		if option, given := scaled.Get(e.Name, key); given {
			at = option
		}
		for _, w := range plan.Workloads {
			if reach := w.unpublished(e, ports); reach != nil {
				at.Problemf("%s: workload %s listens on %s, which is not among %s", key, w.Name, reach, workload.ExposedRole{Ports: ports})
			}
		}
	}
}

// unpublished is the first role, over all levels, that is reached at none of
// the ports; nil where there is none.
func (w Workload) unpublished(e Environment, ports []int) *workload.ExposedRole {
	for _, l := range w.Levels {
		if w.Pack.KnownLimits[e.Kind] != "" {
			continue
		}
		reaches, err := w.Pack.ExposedRoles(e.Parameters(w.Name, l))
		if l.Neighbours > 0 && err == nil {
			var beside []workload.ExposedRole
			beside, err = w.Neighbour.ExposedRoles(l.Neighbour)
			reaches = append(reaches, beside...)
		}
		if err != nil {
			return nil // reported already
		}
		for _, r := range reaches {
			if !slices.ContainsFunc(r.Ports, func(port int) bool { return slices.Contains(ports, port) }) {
				return &r
			}
		}
	}
	return nil
}
