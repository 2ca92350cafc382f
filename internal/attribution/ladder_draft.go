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

// draft is an environment while its parts are switched.
type draft struct {
	study.Environment
	options tree
}

// tree are options as JSON has them.
type tree map[string]any

func begin(e study.Environment) (*draft, error) {
	options, err := treeOf(e.Options)
	if err != nil {
		return nil, fmt.Errorf("environment %s: its options cannot be read: %w", e.Name, err)
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

// decode reads the options as a kind has them.
func decode(t tree, into any) error {
	text, err := json.Marshal(t)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	return err
}

// set changes an option; nil takes it away.
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

// leaves are the options by their paths.
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

// delta is one option's.
type delta struct {
	path          string
	before, after any // nil: absent
}

func (c delta) String() string { return c.path + ": " + show(c.before) + " → " + show(c.after) }

func show(value any) string {
	switch v := value.(type) {
	case nil:
		return "none"
	case string:
		if v == "" {
			return "none"
		}
		return v
	}
	text, _ := json.Marshal(value)
	return string(text)
}

// exact tells values apart. An option that is empty may be left out.
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

// environment is the draft as a plan has it, if its kind takes its options.
func (d *draft) environment() (study.Environment, error) {
	e := d.Environment
	var err error
	if e.Options, err = json.Marshal(d.options); err != nil {
		return e, err
	}
	if len(e.With) == 0 {
		e.With = nil
	}
	registration, known := environment.Lookup(e.Kind)
	if !known {
		return e, nil
	}
	// As the option type writes them, so that equal options are equal bytes.
	options := registration.Options()
	if err := json.Unmarshal(e.Options, options); err != nil {
		return e, fmt.Errorf("options of kind %s: %w", e.Kind, err)
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
