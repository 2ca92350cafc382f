package published

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"tare/internal/strict"
	"tare/published"
)

const schemaFile = "../../schema/published-study.schema.json"

func TestEveryStudyIsReadStrictlyAndFitsTheSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if len(Names()) == 0 {
		t.Fatal("there are no studies")
	}
	for _, name := range Names() {
		if _, err := Builtin(name); err != nil {
			t.Error(err)
		}
		text, err := published.Files.ReadFile(name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := yaml.Unmarshal(text, &value); err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(plain); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheSchemaKnowsExactlyTheKeysThatAreRead(t *testing.T) {
	type object struct {
		Properties map[string]any `json:"properties"`
	}
	var schema struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for def, value := range map[string]any{"": Study{}, "source": Source{}, "environment": Environment{}, "table": Table{}, "measure": Counterpart{},
		"row": Row{}, "changes": Changes{}, "leftOut": LeftOut{}, "scores": Scores{}, "group": Group{}, "feature": Feature{},
		"claim": Claim{}, "check": Check{}, "printed": Printed{}} {
		properties := schema.Defs[def].Properties
		if def == "" {
			properties = schema.Properties
		}
		var got []string
		for key := range properties {
			got = append(got, key)
		}
		want := strict.Keys(reflect.TypeOf(value))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %v, the code reads %v", def, got, want)
		}
	}
}
