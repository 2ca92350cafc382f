package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/report/tables"
	"tare/internal/testing/reporttest"
	"tare/internal/testing/schematest"
)

const exportSchema = "run-export.schema.json"

// TestThePublishedColumnsAreThoseOfTheTables compares the schema of the JSON export and
// the page about exports with the columns, and writes them with UPDATE_GOLDEN=1.
func TestThePublishedColumnsAreThoseOfTheTables(t *testing.T) {
	all := tables.Of(model.New(reporttest.Quick()))
	path := schematest.Path(exportSchema)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	defs := schema["$defs"].(map[string]any)
	for _, table := range all {
		defs[table.Name] = rowSchema(table)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(schema); err != nil {
		t.Fatal(err)
	}
	asPublished(t, path, text, out.Bytes())

	page := filepath.Join("..", "..", "docs", "how-to", "exports.md")
	if text, err = os.ReadFile(page); err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for _, table := range all {
		begin := fmt.Sprintf("<!-- the columns of %s -->\n", table.Name)
		before, rest, found := strings.Cut(want, begin)
		_, after, ended := strings.Cut(rest, "\n<!-- end -->")
		if !found || !ended {
			t.Fatalf("%s has no place for the columns of %s", page, table.Name)
		}
		want = before + begin + "\n" + columnsPage(table) + "\n<!-- end -->" + after
	}
	asPublished(t, page, text, []byte(want))
}

func asPublished(t *testing.T, path string, have, want []byte) {
	t.Helper()
	if bytes.Equal(have, want) {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Errorf("%s is not what the code gives; run the test with UPDATE_GOLDEN=1", path)
		return
	}
	if err := os.WriteFile(path, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// rowSchema is the schema of a row of a table.
func rowSchema(table tables.Table) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, c := range table.Columns {
		about := c.About
		if c.Unit != "" {
			about += "; in " + unitWords(c.Unit)
		}
		property := map[string]any{"description": about, "type": []string{map[tables.Type]string{tables.Text: "string", tables.Time: "string"}[c.Type], "null"}}
		switch c.Type {
		case tables.Number, tables.Integer, tables.Boolean:
			property["type"] = []string{string(c.Type), "null"}
		case tables.Time:
			property["format"] = "date-time"
		}
		if c.Values != nil {
			property["enum"] = append(lists.Map(c.Values, func(v string) any { return v }), nil)
		}
		properties[c.Name] = property
		required = append(required, c.Name)
	}
	return map[string]any{"type": "object", "description": table.About, "additionalProperties": false, "properties": properties, "required": required}
}

func unitWords(unit string) string {
	if unit == "unit" {
		return "the unit of the row"
	}
	return unit
}

func columnsPage(table tables.Table) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n| column | type | unit | meaning |\n|---|---|---|---|\n", table.About)
	for _, c := range table.Columns {
		about := c.About
		if c.Values != nil {
			about += ": `" + strings.Join(c.Values, "`, `") + "`"
		}
		unit := c.Unit
		if unit == "unit" {
			unit = "that of the row"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", c.Name, c.Type, unit, about)
	}
	return out.String()
}

func TestTheJSONExportFitsItsSchema(t *testing.T) {
	for name, in := range map[string]model.Input{"quick": reporttest.Quick(), "nodes": reporttest.OnNodes("a", "b", "c+d"), "ladder": reporttest.Ladder()} {
		files, err := tables.JSON(model.New(in))
		if err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate(t, exportSchema, files[0].Data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := schematest.Validate(t, exportSchema, []byte(`{"format": 1}`)); err == nil {
		t.Error("a document without tables fits too")
	}
}

func TestExportsAreTheSameBytesEachTime(t *testing.T) {
	for _, f := range Formats {
		if f.Export == nil {
			continue
		}
		first, err := f.Files(reporttest.Ladder(), model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		second, err := f.Files(reporttest.Ladder(), model.Options{})
		if err != nil || len(first) != len(second) {
			t.Fatal(f.Name, err)
		}
		for i := range first {
			if first[i].Name != second[i].Name || !bytes.Equal(first[i].Data, second[i].Data) {
				t.Errorf("%s: %s is not the same twice", f.Name, first[i].Name)
			}
		}
	}
}
