package study

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"tare/internal/agent"
	"tare/internal/image"
	"tare/internal/strict"
	"tare/internal/workload"
)

const schemas = "../../schema"

// The published schemas are kept by hand, so that they explain; this holds them
// to the types that the files are read into.
func TestTheSchemasKnowExactlyTheKeysThatAreRead(t *testing.T) {
	for file, types := range map[string]map[string]any{
		"study.schema.json": {"": document{}, "limits": limitsSection{}, "override": limitsOverride{}, "image": imageSection{},
			"design": designSection{}, "scale": scale{}, "bounds": blockBounds{}, "range": sweep{}},
		"workload.schema.json": {"": workload.Pack{}, "recipe": image.Recipe{}, "file": image.File{}, "parameter": workload.Parameter{},
			"role": workload.Role{}, "step": workload.Step{}, "server": workload.Server{}, "probe": agent.Probe{}, "parser": workload.Parser{}, "metric": workload.Metric{}},
	} {
		type object struct {
			Properties map[string]any `json:"properties"`
		}
		var s struct {
			object
			Defs map[string]object `json:"$defs"`
		}
		text, err := os.ReadFile(filepath.Join(schemas, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		s.Defs[""] = s.object
		for name, value := range types {
			want := strict.Keys(reflect.TypeOf(value))
			slices.Sort(want)
			var got []string
			for key := range s.Defs[name].Properties {
				got = append(got, key)
			}
			slices.Sort(got)
			check(t, file+" "+name, got, want)
		}
	}
}

func TestWhatTareBringsIsValidByTheSchemas(t *testing.T) {
	study, pack := compile(t, "study.schema.json"), compile(t, "workload.schema.json")
	valid(t, study, redisStudy, true)
	valid(t, study, "study: x\nenvironments: {native: {}}\nworkloads: [{use: redis}]\nbaselin: native\n", false)
	valid(t, study, "study: x\nenvironments: {native: {}}\nworkloads: [{use: redis, clients: {from: 1, to: 2}}]\n", false)
	for _, name := range Names() {
		file, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		valid(t, study, string(file.Source), true)
	}
	packs, err := filepath.Glob("../workload/packs/*.yaml")
	if err != nil || len(packs) != len(workload.Names()) {
		t.Fatalf("%d packs, %v", len(packs), err)
	}
	for _, path := range packs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		valid(t, pack, string(text), true)
		valid(t, pack, strings.Replace(string(text), "stresses:", "stress:", 1), false)
	}
}

func compile(t *testing.T, file string) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join(schemas, file))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func valid(t *testing.T, s *jsonschema.Schema, text string, want bool) {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(value); (err == nil) != want {
		t.Errorf("valid is %t, not %t, for\n%s\n%v", !want, want, text, err)
	}
}
