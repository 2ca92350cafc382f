package study

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/agent"
	"tare/internal/application/secret"
	"tare/internal/image"
	"tare/internal/image/recipe"
	"tare/internal/testing/schematest"
	"tare/internal/usage/cost"
	"tare/internal/workload"
)

// The published schemas are kept by hand, so that they explain; this holds them
// to the types that the files are read into.
func TestTheSchemasKnowExactlyTheKeysThatAreRead(t *testing.T) {
	for file, types := range map[string]map[string]any{
		"study.schema.json": {"": document{}, "limits": limitsSection{}, "override": limitsOverride{}, "image": imageSection{}, "system": image.System{},
			"design": designSection{}, "scale": scale{}, "application": applicationSection{}, "host": Host{}, "price": cost.Price{}, "sampling": samplingSection{}, "bounds": blockBounds{}, "secret": secret.Source{}, "range": sweep{}},
		"workload.schema.json": {"": workload.Pack{}, "recipe": recipe.Recipe{}, "file": recipe.File{}, "parameter": workload.Parameter{},
			"role": workload.Role{}, "path": workload.RolePath{}, "step": workload.Step{}, "server": workload.Server{}, "probe": agent.Probe{}, "parser": workload.Parser{}, "metric": workload.Metric{}},
	} {
		schematest.Keys(t, file, types)
	}
}

func TestBuiltInFilesAreValidByTheSchemas(t *testing.T) {
	const study, pack = "study.schema.json", "workload.schema.json"
	valid(t, study, redisStudy, true)
	valid(t, study, "study: x\nenvironments: {native: {}}\nworkloads: [{use: redis}]\nbaselin: native\n", false)
	valid(t, study, "study: x\nenvironments: {native: {}}\nworkloads: [{use: redis, clients: {from: 1, to: 2}}]\n", false)
	valid(t, study, "study: x\nenvironments: {native: {}}\nworkloads: [{use: redis}]\nsecret: {A: {env: B}, C: {file: d, as: file, user: e}}\n", true)
	valid(t, study, "study: x\nenvironments: {native: {}}\nworkloads: [{use: redis}]\nsecret: {A: {}}\n", false)
	valid(t, study, "study: x\nenvironments: {vm: {kind: qemu}, docker: {inside: vm, system: {suite: trixie, kernel: stock}}}\nworkloads: [{use: redis}]\n", true)
	valid(t, study, "study: x\nenvironments: {vm: {kind: qemu}, docker: {inside: {one: vm}}}\nworkloads: [{use: redis}]\n", true)
	valid(t, study, "study: x\nenvironments: {vm: {kind: qemu}, docker: {inside: {}}}\nworkloads: [{use: redis}]\n", false)
	valid(t, study, "study: x\nenvironments: {vm: {kind: qemu}, docker: {inside: vm, system: {}}}\nworkloads: [{use: redis}]\n", false)
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

func TestTheExamplesAreStudiesAndPacks(t *testing.T) {
	studies, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil || len(studies) == 0 {
		t.Fatalf("%q, %v", studies, err)
	}
	for _, path := range studies {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "study:") && filepath.Base(path) != filepath.Base(filepath.Dir(path))+".yaml" {
			valid(t, "workload.schema.json", string(text), true)
			continue
		}
		valid(t, "study.schema.json", string(text), true)
		if strings.Contains(string(text), "kind: kubernetes") {
			continue // the kinds of these tests are others
		}
		file, err := Load(path)
		if err == nil {
			_, err = Resolve(file, Overrides{})
		}
		if err != nil {
			t.Error(err)
		}
	}
}

func valid(t *testing.T, schema, text string, want bool) {
	t.Helper()
	if err := schematest.Validate(t, schema, []byte(text)); (err == nil) != want {
		t.Errorf("valid is %t, not %t, for\n%s\n%v", !want, want, text, err)
	}
}
