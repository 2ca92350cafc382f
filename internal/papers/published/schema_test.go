package published

import (
	"testing"

	"tare/internal/testing/schematest"
	"tare/published"
)

const schema = "published-study.schema.json"

func TestEveryStudyIsReadStrictlyAndFitsTheSchema(t *testing.T) {
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
		if err := schematest.Validate(t, schema, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheSchemaKnowsExactlyTheKeysThatAreRead(t *testing.T) {
	schematest.Keys(t, schema, map[string]any{"": Study{}, "source": Source{}, "repeated": Repeated{}, "environment": Environment{}, "instead": Instead{}, "table": Table{}, "measure": Counterpart{},
		"row": Row{}, "changes": Changes{}, "leftOut": LeftOut{}, "scores": Scores{}, "group": Group{}, "feature": Feature{},
		"claim": Claim{}, "check": Check{}, "printed": Printed{}, "figure": Drawn{}, "panel": Panel{}})
}
