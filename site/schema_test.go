package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestASchemaBecomesTables(t *testing.T) {
	page, err := schemaPage("x.schema.json", []byte(`{
		"title": "A thing", "description": "What it is.", "required": ["name"],
		"properties": {
			"name": {"type": "string", "description": "One | two."},
			"count": {"type": "integer", "minimum": 1, "maximum": 9},
			"share": {"type": ["number", "null"], "exclusiveMinimum": 0},
			"either": {"oneOf": [{"const": "all"}, {"type": "array", "items": {"$ref": "#/$defs/Part"}}]},
			"parts": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Part"}},
			"part": {"$ref": "#/$defs/Part"},
			"other": {"$ref": "y.schema.json"},
			"inside": {"type": "object", "properties": {"z": {"enum": ["a", 2]}, "a": true}}
		},
		"$defs": {
			"Part": {"description": "A part.", "properties": {"size": {"type": "string"}}},
			"Word": {"type": "string"}
		}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(`# A thing

What it is.

The schema is [x.schema.json](../../schema/x.schema.json). Keys with * are required.

| key | value | meaning |
|---|---|---|
| 'name' * | string | One \| two. |
| 'count' | integer from 1 to 9 |  |
| 'share' | number or null, > 0 |  |
| 'either' | 'all' or list of [Part](#part) |  |
| 'parts' | map to [Part](#part) |  |
| 'part' | [Part](#part) | A part. |
| 'other' | [y.schema.json](y.md) |  |
| 'inside' | object |  |
| 'inside.z' | 'a', '2' |  |
| 'inside.a' |  |  |

## Part

A part.

| key | value | meaning |
|---|---|---|
| 'size' | string |  |

## Word

Value: string.
`, "'", "`")
	if diff := cmp.Diff(want, page); diff != "" {
		t.Error(diff)
	}
}

// The pages have what they are generated from: each command and each schema.
func TestEachCommandAndEachSchemaHasAPage(t *testing.T) {
	out := t.TempDir()
	if err := write("../schema", out); err != nil {
		t.Fatal(err)
	}
	schemas, err := filepath.Glob("../schema/*.schema.json")
	if err != nil || len(schemas) == 0 {
		t.Fatalf("%d schemas, %v", len(schemas), err)
	}
	for _, file := range schemas {
		page, err := os.ReadFile(filepath.Join(out, strings.TrimSuffix(filepath.Base(file), ".schema.json")+".md"))
		if err != nil || !strings.Contains(string(page), "| key | value | meaning |") {
			t.Errorf("%s has no table: %v", file, err)
		}
	}
	page, err := os.ReadFile(filepath.Join(out, "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"tare run", "tare workload check", "tare rerun"} {
		if !strings.Contains(string(page), "\n## "+command+"\n") {
			t.Errorf("%s is missing", command)
		}
	}
}
