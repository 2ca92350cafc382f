package probe

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

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
	if len(rebuilt) != 3 {
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
		if same {
			t.Errorf("%s differs from what its source gives: go generate ./internal/usage/evidence/probe", name)
			continue
		}
		if got, want := interfaceOf(t, got), interfaceOf(t, want); got != want {
			t.Errorf("%s: rebuilt with another clang it has\n%s\nthe committed one\n%s", name, got, want)
		}
	}
}

// rebuildObjects compiles the sources of each package as its go:generate directives do,
// and returns the new objects by the committed ones.
func rebuildObjects(t *testing.T, packages ...string) map[string]string {
	t.Helper()
	rebuilt := map[string]string{}
	for _, of := range packages {
		sources, err := filepath.Glob(filepath.Join(of, "bpf", "*.bpf.c"))
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range sources {
			name := strings.TrimSuffix(filepath.Base(source), ".bpf.c") + ".o"
			object := filepath.Join(t.TempDir(), name)
			command := exec.Command(filepath.Join("..", "..", "..", "..", "scripts", "bpf.sh"), source, object)
			if of != "." {
				if command.Path, err = filepath.Abs(command.Path); err != nil {
					t.Fatal(err)
				}
				command.Dir, command.Args[1] = of, filepath.Join("bpf", filepath.Base(source))
			}
			if out, err := command.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", command, err, out)
			}
			rebuilt[filepath.Join(of, name)] = object
		}
	}
	return rebuilt
}

func TestLayoutIsThatOfTheObjects(t *testing.T) {
	counting, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(countObject))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]map[string]uint64{
		"limit": {"MAX_TASKS": maxTasks, "MAX_FRAMES": maxFrames, "MAX_PARTS": maxParts, "HOST_PART": hostPart},
		"slot": {
			"SLOT_SYSCALL": slotSyscall, "MAX_SYSCALLS": maxSyscalls, "SLOT_VOLUNTARY": slotVoluntary, "SLOT_INVOLUNTARY": slotInvoluntary,
			"SLOT_MINOR": slotMinor, "SLOT_MAJOR": slotMajor, "SLOT_SOFTIRQ": slotSoftirq, "MAX_SOFTIRQS": maxSoftirqs,
			"SLOT_PROCESS": slotProcess, "SLOT_THREAD": slotThread, "SLOT_TRANSFER": slotTransfer, "MAX_TRANSFERS": maxTransfers, "SLOTS": slots,
		},
	} {
		var enum *btf.Enum
		if err := counting.Types.TypeByName(name, &enum); err != nil {
			t.Fatal(err)
		}
		for _, v := range enum.Values {
			if value, known := want[v.Name]; known && value != v.Value {
				t.Errorf("%s is %d, and %d here", v.Name, v.Value, value)
			}
			delete(want, v.Name)
		}
		if len(want) > 0 {
			t.Errorf("%s has no %v", name, want)
		}
	}
	sampling, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(sampleObject))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stored btf.Type
		here   reflect.Type
	}{
		{counting.Maps["tare_tasks"].Value, reflect.TypeFor[task]()}, {counting.Maps["tare_counters"].Value, reflect.TypeFor[counter]()},
		{sampling.Maps["tare_samples"].Key, reflect.TypeFor[sample]()},
	} {
		members := c.stored.(*btf.Struct).Members
		if len(members) != c.here.NumField() {
			t.Errorf("%v has %d fields, and %v here", c.stored, len(members), c.here)
			continue
		}
		for n, m := range members {
			f := c.here.Field(n)
			if !strings.EqualFold(strings.ReplaceAll(m.Name, "_", ""), f.Name) || uintptr(m.Offset.Bytes()) != f.Offset {
				t.Errorf("%v: %s at %d, and %s at %d here", c.stored, m.Name, m.Offset.Bytes(), f.Name, f.Offset)
			}
		}
	}
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
