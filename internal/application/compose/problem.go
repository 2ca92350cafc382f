package compose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/compose-spec/compose-go/v2/schema"

	"tare/internal/application"
	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
)

// problem is an error of the library, in one line that begins with the file.
func (r *reader) problem(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	text := strings.TrimPrefix(err.Error(), "validating ")
	if syntax := r.syntax(text); syntax != nil {
		return syntax
	}
	for _, f := range r.files {
		text = strings.TrimPrefix(text, f.Filename+": ")
	}
	text = strings.TrimSuffix(text, ": invalid compose project")
	if at, unknown := strings.CutSuffix(text, " false schema"); unknown {
		path := strings.Split(at, ".")
		text = unknownKey(path[:len(path)-1], path[len(path)-1])
	} else if at, names, unknown := strings.Cut(text, "additional properties "); unknown {
		var all, path []string
		if at = strings.TrimSpace(at); at != "" {
			path = strings.Split(at, ".")
		}
		for name := range strings.SplitSeq(strings.TrimSuffix(names, " not allowed"), ", ") {
			all = append(all, unknownKey(path, strings.Trim(name, "'")))
		}
		slices.Sort(all) // the library has them in any order
		text = strings.Join(all, "; ")
	}
	return r.problemf("%s", strings.Join(strings.Fields(text), " "))
}

func (r *reader) problemf(format string, values ...any) error {
	return strictyaml.Problems{{File: r.name, Message: fmt.Sprintf(format, values...)}}
}

// flat are the problems of joined errors, so that all of a file are said at once.
func flat(err error) (all strictyaml.Problems) {
	var several strictyaml.Problems
	joined, is := err.(interface{ Unwrap() []error })
	switch {
	case is:
		for _, one := range joined.Unwrap() {
			all = append(all, flat(one)...)
		}
	case errors.As(err, &several):
		all = several
	case err != nil:
		all = strictyaml.Problems{{Message: err.Error()}}
	}
	return all
}

// syntax is the error of a file that is no YAML, with its place: the library's lines are
// one too low in some errors. It is nil for other errors.
func (r *reader) syntax(text string) error {
	text, failed := strings.CutPrefix(text, "failed to parse ")
	path, text, parsed := strings.Cut(text, ": yaml: ")
	if !failed || !parsed {
		return nil
	}
	name := path
	if path == r.files[0].Filename {
		name = r.name
	}
	content, err := readFile(path)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var problems strictyaml.Problems
	if _, err = strictyaml.Parse(name, content, &problems); err == nil {
		err = problems.Err()
	}
	if err == nil {
		err = fmt.Errorf("%s: this is not YAML: %s", name, text)
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

// unknownKey says that Compose has no such key in what is at a path, and the one that is
// probably meant.
func unknownKey(path []string, key string) string {
	text := strings.Join(append(slices.Clone(path), key), ".") + ": Compose has no such key"
	if meant := strictyaml.Nearest(key, keysAt(specification(), path)); meant != "" {
		text += fmt.Sprintf("; did you mean %q?", meant)
	}
	return text
}

// specification is the schema of Compose files.
var specification = sync.OnceValue(func() (parsed map[string]any) {
	if err := json.Unmarshal([]byte(schema.Schema), &parsed); err != nil {
		panic(err) // of the library's own text
	}
	return parsed
})

// keysAt are the keys that a part of the schema has at a path below it.
func keysAt(part any, path []string) (all []string) {
	in, _ := part.(map[string]any)
	if reference, is := in["$ref"].(string); is {
		definitions, _ := specification()["$defs"].(map[string]any)
		return keysAt(definitions[strings.TrimPrefix(reference, "#/$defs/")], path)
	}
	for _, several := range []string{"oneOf", "anyOf", "allOf"} {
		alternatives, _ := in[several].([]any)
		for _, one := range alternatives {
			all = append(all, keysAt(one, path)...)
		}
	}
	properties, _ := in["properties"].(map[string]any)
	if len(path) == 0 {
		return append(all, slices.Sorted(maps.Keys(properties))...)
	}
	if own, known := properties[path[0]]; known {
		return append(all, keysAt(own, path[1:])...)
	}
	named, _ := in["patternProperties"].(map[string]any)
	for _, pattern := range slices.Sorted(maps.Keys(named)) {
		all = append(all, keysAt(named[pattern], path[1:])...)
	}
	all = append(all, keysAt(in["items"], path[1:])...)
	return append(all, keysAt(in["additionalProperties"], path[1:])...)
}

// Resets is a second file in one line that takes out what the services ask for; "" for
// nothing. Of a key in another one, as deploy.replicas, it leaves what is beside it.
func Resets(a *application.Application) string {
	var reset func(keys []string) string
	reset = func(keys []string) string {
		var order []string
		inside := map[string][]string{}
		for _, key := range keys {
			first, rest, nested := strings.Cut(key, ".")
			if _, known := inside[first]; !known {
				order, inside[first] = append(order, first), nil
			}
			if nested {
				inside[first] = append(inside[first], rest)
			}
		}
		for i, name := range order {
			if order[i] += ": !reset null"; len(inside[name]) > 0 {
				order[i] = name + ": " + reset(inside[name])
			}
		}
		return "{" + strings.Join(order, ", ") + "}"
	}
	var all []string
	for _, s := range a.Services {
		if len(s.Asks) > 0 {
			all = append(all, s.Name+": "+reset(lists.Map(s.Asks, func(one application.Ask) string { return one.Key })))
		}
	}
	if all == nil {
		return ""
	}
	return "services: {" + strings.Join(all, ", ") + "}"
}
