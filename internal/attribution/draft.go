package attribution

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/environment"
	"tare/internal/study"
)

// draft is an environment whose parts are being switched.
type draft struct {
	study.Environment
	options tree
}

// tree holds options as JSON objects.
type tree map[string]any

func begin(e study.Environment) (*draft, error) {
	options, err := treeOf(e.Options)
	if err != nil {
		return nil, fmt.Errorf("environment %s: reading its options: %w", e.Name, err)
	}
	with := map[string]map[string]string{}
	for workload, parameters := range e.With {
		with[workload] = maps.Clone(parameters)
	}
	e.With = with
	return &draft{e, options}, nil
}

func treeOf(options any) (tree, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	t := tree{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return t, d.Decode(&t)
}

func (d *draft) clone() *draft {
	e := d.Environment
	e.Options, _ = json.Marshal(d.options) // it was read from JSON
	c, _ := begin(e)
	return c
}

// partsOf is what a kind declares; nothing for an unknown one.
func partsOf(kind string) environment.Parts {
	r, _ := environment.Lookup(kind)
	return r.Parts
}

func (d *draft) parts() environment.Parts { return partsOf(d.Kind) }

// decode reads the options into the option type of the kind.
func (d *draft) decode() (any, error) {
	r, known := environment.Lookup(d.Kind)
	if !known {
		return nil, nil
	}
	options := r.Options()
	text, err := json.Marshal(d.options)
	if err == nil {
		err = json.Unmarshal(text, options)
	}
	if err != nil {
		return nil, fmt.Errorf("options of kind %s: %w", d.Kind, err)
	}
	return options, nil
}

func (d *draft) with(kind string, options any) (*draft, error) {
	other := d.clone()
	other.Kind = kind
	var err error
	if other.options, err = treeOf(options); err != nil {
		return nil, fmt.Errorf("options of kind %s: %w", kind, err)
	}
	return other, nil
}

// set changes an option by its path; nil removes it.
func (t tree) set(path string, value any) {
	key, rest, deeper := strings.Cut(path, ".")
	switch inner, _ := t[key].(map[string]any); {
	case deeper:
		if inner == nil {
			inner = map[string]any{}
			t[key] = inner
		}
		tree(inner).set(rest, value)
	case value == nil:
		delete(t, key)
	default:
		t[key] = value
	}
}

// leaves returns the options by their paths.
func (t tree) leaves() map[string]any {
	found := map[string]any{}
	for key, value := range t {
		if inner, ok := value.(map[string]any); ok {
			for path, leaf := range tree(inner).leaves() {
				found[key+"."+path] = leaf
			}
			continue
		}
		found[key] = value
	}
	return found
}

// delta is the difference of one option.
type delta struct {
	path          string
	before, after any // nil: absent
}

// exact is a value in a form that can be compared. An empty option equals an absent
// one.
func exact(value any) string {
	text, _ := json.Marshal(value)
	if string(text) == `""` {
		return "null"
	}
	return string(text)
}

// differences of two sets of options, by path.
func differences(from, to tree) (list []delta) {
	before, after := from.leaves(), to.leaves()
	for path := range before {
		if _, both := after[path]; !both {
			after[path] = nil
		}
	}
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if exact(before[path]) != exact(after[path]) {
			list = append(list, delta{path, before[path], after[path]})
		}
	}
	return list
}

// environment is the draft as an environment of a plan, if its kind accepts the
// options.
func (d *draft) environment() (study.Environment, error) {
	e := d.Environment
	var err error
	if e.Options, err = json.Marshal(d.options); err != nil {
		return e, err
	}
	if len(e.With) == 0 {
		e.With = nil
	}
	if _, known := environment.Lookup(e.Kind); !known {
		return e, nil
	}
	// As the option type writes them, so that equal options are equal bytes.
	options, err := d.decode()
	if err != nil {
		return e, err
	}
	if v, ok := options.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return e, fmt.Errorf("kind %s: %w", e.Kind, err)
		}
	}
	e.Options, err = json.Marshal(options)
	return e, err
}

func (d *draft) valid() bool { _, err := d.environment(); return err == nil }
