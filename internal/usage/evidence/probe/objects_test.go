package probe

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"tare/internal/testing/needs"
)

// The version of clang and llvm-strip that the committed objects were built
// with: Debian 12's. Other versions order instructions differently, so with
// them the objects are compared by what the loader uses of them, and not byte
// by byte.
const clangVersion = "14.0.6"

func TestObjectsMatchTheirSources(t *testing.T) {
	needs.Program(t, "clang", "llvm-strip")
	_, err := os.Stat("/usr/include/bpf/bpf_helpers.h")
	needs.Working(t, "clang: libbpf's headers", err)
	version, err := exec.Command("clang", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	same := strings.Contains(string(version), "clang version "+clangVersion)
	rebuilt := rebuildObjects(t, ".", filepath.Join("..", "..", "..", "linux", "stolen"))
	if len(rebuilt) != 6 { // three sources, an object and a Go file each
		t.Errorf("rebuilt %q", rebuilt)
	}
	for name, path := range rebuilt {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(got, want) {
			continue
		}
		if same || !strings.HasSuffix(name, ".o") {
			t.Errorf("%s differs from what its source gives: go generate ./internal/usage/evidence/probe", name)
			continue
		}
		if got, want := interfaceOf(t, got), interfaceOf(t, want); got != want {
			t.Errorf("%s: rebuilt with another clang it has\n%s\nthe committed one\n%s", name, got, want)
		}
	}
}

// rebuildObjects executes the go:generate directives of each package's generate.go in
// a directory with a copy of the sources, and returns the generated files by the
// committed ones.
func rebuildObjects(t *testing.T, packages ...string) map[string]string {
	t.Helper()
	rebuilt := map[string]string{}
	bpf2go := filepath.Join(t.TempDir(), "bpf2go")
	if out, err := exec.Command("go", "build", "-o", bpf2go, "github.com/cilium/ebpf/cmd/bpf2go").CombinedOutput(); err != nil {
		t.Fatalf("building bpf2go: %v: %s", err, out)
	}
	for _, of := range packages {
		directory := t.TempDir()
		if err := os.CopyFS(filepath.Join(directory, "bpf"), os.DirFS(filepath.Join(of, "bpf"))); err != nil {
			t.Fatal(err)
		}
		source, err := os.ReadFile(filepath.Join(of, "generate.go"))
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(string(source), "\n")
		for line := range strings.Lines(string(source)) {
			arguments, ok := strings.CutPrefix(line, "//go:generate go tool bpf2go ")
			if !ok {
				continue
			}
			command := exec.Command("sh", "-c", bpf2go+" "+arguments)
			command.Dir = directory
			command.Env = append(os.Environ(), "GOPACKAGE="+strings.TrimPrefix(name, "package "))
			if out, err := command.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", command, err, out)
			}
		}
		files, err := filepath.Glob(filepath.Join(directory, "*_bpfel.*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			rebuilt[filepath.Join(of, filepath.Base(path))] = path
		}
	}
	return rebuilt
}

// interfaceOf describes what the loader uses of an object: programs, maps and
// constants.
func interfaceOf(t *testing.T, object []byte) string {
	t.Helper()
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range spec.Programs {
		lines = append(lines, fmt.Sprintf("program %s: %s %s, licence %s", p.Name, p.Type, p.SectionName, p.License))
	}
	for _, m := range spec.Maps {
		lines = append(lines, fmt.Sprintf("map %s: %s, key %d, value %d, %d entries", m.Name, m.Type, m.KeySize, m.ValueSize, m.MaxEntries))
	}
	for name, v := range spec.Variables {
		lines = append(lines, fmt.Sprintf("variable %s: %d bytes", name, v.Size()))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
