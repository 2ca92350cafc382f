// Package schematest checks files and types against the published schemas, which are
// written by hand so that they have descriptions.
//
// Only tests import it.
package schematest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"tare/internal/base/strictyaml"
	"tare/internal/testing/gobuild"
)

// Path returns the path of a schema by its name, such as study.schema.json.
func Path(name string) string { return filepath.Join(gobuild.Root(), "schema", name) }

// Validate validates a text, YAML or JSON, against a schema.
func Validate(t testing.TB, schema string, text []byte) error {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiled, err := compiler.Compile(Path(schema))
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(text) {
		if text, err = yaml.YAMLToJSON(text); err != nil {
			t.Fatal(err)
		}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Validate(value)
}

// Keys fails the test unless the schema has exactly the keys of the types. A type is
// named by its definition in the schema; "" is the schema itself.
func Keys(t testing.TB, schema string, types map[string]any) {
	t.Helper()
	type object struct {
		Properties map[string]any `json:"properties"`
	}
	var s struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	text, err := os.ReadFile(Path(schema))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	if s.Defs == nil {
		s.Defs = map[string]object{}
	}
	s.Defs[""] = s.object
	for name, value := range types {
		var known []string
		for key := range s.Defs[name].Properties {
			known = append(known, key)
		}
		read := strictyaml.Keys(reflect.TypeOf(value))
		slices.Sort(known)
		slices.Sort(read)
		if !slices.Equal(known, read) {
			t.Errorf("%s %s: the schema has %v, the code reads %v", schema, name, known, read)
		}
	}
}
