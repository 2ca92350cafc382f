package importer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/testing/schematest"
)

const ownPack = `workload: own
title: Own rates
stresses: cpu
image: {packages: [coreutils]}
driver: {run: "true"}
parser: {regex: ['^rate (?P<rate>\S+)']}
metrics: [{name: rate, unit: op/s, better: higher, primary: true}]
`

// What an import writes is a run directory like any other.
func TestAnImportedRunIsValidByTheSchemas(t *testing.T) {
	directory := t.TempDir()
	for name, text := range map[string]string{
		"own.yaml": ownPack, "a-c1.txt": "rate 5\nrate 6\n", "b-c1.txt": "rate 4\nrate six\n", "a-c2.txt": "rate 7\n",
		"m.yaml": `import: levels
machine: somewhere
skip_bad: true
environments: {a: {label: x, about: first}, b: }
results:
  - {tool: own.yaml, begins: '^rate ', files: ["*-c?.txt"], names: '^(?P<environment>.)-c(?P<clients>.)'}
`} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := ReadManifest(filepath.Join(directory, "m.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Import(Options{Runs: filepath.Join(directory, "runs"), Command: []string{"tare"}, Version: "test", Now: time.Unix(1e9, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if result.Results != 5 || result.Failed != 1 {
		t.Errorf("%+v", result)
	}
	valid := func(schema string, text []byte) {
		t.Helper()
		if err := schematest.Validate(t, schema, text); err != nil {
			t.Errorf("%s: %v\n%s", schema, err, text)
		}
	}
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(result.Directory, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	valid("run-manifest.schema.json", read("manifest.json"))
	valid("run-plan.schema.json", read("plan.json"))
	for _, line := range strings.Split(strings.TrimSpace(string(read("journal.jsonl"))), "\n") {
		valid("journal-trial.schema.json", []byte(line))
	}
}
