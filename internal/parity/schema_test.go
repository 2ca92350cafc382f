package parity

import (
	"testing"

	"tare/internal/testing/schematest"
)

func TestThePublishedSchemaIsThatOfTheRules(t *testing.T) {
	const schema = "parity-rules.schema.json"
	if err := schematest.Validate(t, schema, builtinText); err != nil {
		t.Error(err)
	}
	schematest.Keys(t, schema, map[string]any{"": Rules{}, "trait": Trait{}, "rule": Rule{}, "when": When{}})
}
