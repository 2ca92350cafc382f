package rundir

import (
	"bytes"
	"encoding"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/environment"
	_ "tare/internal/environment/containerd"
	_ "tare/internal/environment/docker"
	_ "tare/internal/environment/gvisor"
	_ "tare/internal/environment/native"
	_ "tare/internal/environment/qemu"
	"tare/internal/parity"
	"tare/internal/study"
	"tare/internal/testing/schematest"
	"tare/internal/usage"
)

// recordedRun is a run directory as this format's first version left it. It stays
// readable for as long as the format is 1.
const recordedRun = "testdata/run-format-1"

// A schema that lags behind is found when a field is added, removed, renamed,
// or made optional.
func TestTheSchemasKnowExactlyTheFieldsThatAreWritten(t *testing.T) {
	for file, value := range map[string]any{
		"run-manifest.schema.json": Manifest{}, "run-plan.schema.json": study.Plan{}, "journal-trial.schema.json": Trial{},
		"fingerprint.schema.json": parity.Fingerprint{},
	} {
		text, err := os.ReadFile(schematest.Path(file))
		if err != nil {
			t.Fatal(err)
		}
		root := object{}
		if err := json.Unmarshal(text, &root); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		comparison{t, root, map[string]bool{}}.agree(file, reflect.TypeOf(value), root)
	}
}

func TestARecordedRunIsReadableAndValid(t *testing.T) {
	run, err := Open(recordedRun)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Trials) == 0 {
		t.Fatal("it has no trials")
	}
	validDirectory(t, recordedRun)
}

func TestANewRunDirectoryIsValid(t *testing.T) {
	file, err := study.Load("quick")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := study.Resolve(file, study.Overrides{Blocks: 3})
	if err != nil {
		t.Fatal(err)
	}
	directory := filepath.Join(t.TempDir(), "full")
	now := time.Now().UTC()
	finding := environment.Finding{State: environment.Missing, What: "a daemon", Reason: "none answers", Fix: environment.Advice("start it")}
	w, err := Create(directory, plan, Manifest{
		Run: "full", Tare: "test", Command: []string{"tare", "run", "quick"}, Created: now,
		Machine: Machine{Kernel: "6.1", Distribution: "Debian", CPU: "a CPU", Cores: 2, Memory: 1 << 30, Cgroups: "v2", Virtualised: "kvm"},
		Noise:   []environment.Finding{finding},
		Image:   ImageFacts{Name: "recipe", Digest: "sha256:" + strings.Repeat("a", 64)},
		Environments: map[string]EnvironmentFacts{
			"native": {State: environment.Usable, Versions: map[string]string{"kernel": "6.1"}, Notes: []string{"a note"}},
			"vm":     {State: environment.Caveat, Label: "tcg", Findings: []environment.Finding{finding}},
			"docker": {State: environment.Missing, Findings: []environment.Finding{finding}},
		},
		Sessions: []Session{{Started: now, Ended: now, Stopped: "interrupted"}, {Started: now}},
	})
	if err != nil {
		t.Fatal(err)
	}
	share, absent := 0.5, usage.Absent("the kernel does not say")
	for _, trial := range []Trial{
		{Block: 1, Position: 1, Environment: "native", Workload: "redis", Level: "clients=10", Status: OK, Instance: "b1-native-1",
			Started: now, Ended: now, HostSeconds: 1, GuestSeconds: 1, ClockRate: .99, ClockUncertain: .01, TookSeconds: 2, OwnSeconds: .01,
			Phases:  []environment.Phase{{Name: environment.PreparePhase, Duration: time.Second}, {Name: "engine", Duration: time.Millisecond}},
			Paths:   &environment.Paths{Network: "veth pair, bridge", Root: "overlay", Data: "tmpfs", RootOn: "ext4 on vda1", DataOn: "memory"},
			Metrics: map[string]float64{"get_rps": 1}, Missing: map[string]string{"set_rps": "not printed"},
			Rounds: []Round{{Number: 1, Position: 1, Metrics: map[string]float64{"get_rps": 1}, StealSeconds: &share, Series: map[string][]Point{"pace": {{Second: 0, Value: 1}, {Second: 1, Value: 2}}}}}, StealSource: usage.StealCounters,
			Usage: &usage.Usage{CPUUser: usage.Known(1), CPUSystem: usage.Known(0), MemoryPeak: absent, MemoryMean: absent,
				DiskRead: absent, DiskWritten: absent, NetReceived: absent, NetSent: absent, Notes: []string{"a process ended unseen"},
				Parts:  []usage.Part{{Role: "vmm", Name: "qemu", Thread: "CPU 0/KVM", Processes: 1, CPU: 1, Memory: 1, Share: 1}, {Role: "workload"}},
				Inside: usage.NotInside("it has none"), Sampler: &usage.Effort{Passes: 1, CPU: 1e-4, PassMean: 1e-4, PassMax: 1e-4},
				Host: &usage.HostUsage{Boot: "b", Seconds: 1, Cores: 2, Energy: absent, IRQTime: "apart", Kernel: []usage.Part{{Role: "kernel", Name: "kworker"}}}},
			Readings: &ReadingsFile{Path: "samples/block-001/native.redis.parquet", SHA256: strings.Repeat("0", 64), Bytes: 3, Rows: 1},
			Pressure: &Pressure{CPU: &share, IO: &share, Memory: &share, StealSeconds: &share, CanarySeconds: &share},
			Warnings: []string{"a warning"},
			Raw:      []Raw{{Name: "driver.stdout", Path: "raw/block-001/native.redis/driver.stdout", SHA256: strings.Repeat("0", 64), Bytes: 3, Samples: []int64{0, 3}}}},
		{Block: 1, Position: 2, Environment: "vm", Workload: "redis", Status: Failed, Reason: "start of vm: no kernel", Started: now, Ended: now, Pressure: &Pressure{}},
		{Block: 1, Position: 3, Environment: "docker", Workload: "redis", Status: Skipped, Reason: "known limit: none", Started: now, Ended: now},
	} {
		if err := w.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	validDirectory(t, directory)
}

func TestAnInvalidTrialIsRejectedByTheSchema(t *testing.T) {
	const schema = "journal-trial.schema.json"
	const trial = `"block":1,"position":1,"environment":"native","workload":"w","started":"2026-01-01T00:00:00Z","ended":"2026-01-01T00:00:00Z"`
	for name, line := range map[string]string{
		"a status of its own": `{` + trial + `,"status":"fine","metrics":{}}`,
		"no reason":           `{` + trial + `,"status":"failed"}`,
		"no metrics":          `{` + trial + `,"status":"ok"}`,
		"an unknown key":      `{` + trial + `,"status":"ok","metrics":{},"colour":"red"}`,
		"no block":            `{"status":"ok"}`,
	} {
		if problem := schematest.Validate(t, schema, []byte(line)); problem == nil {
			t.Errorf("%s is valid: %s", name, line)
		}
	}
	if problem := schematest.Validate(t, schema, []byte(`{`+trial+`,"status":"ok","metrics":{}}`)); problem != nil {
		t.Error(problem)
	}
}

// validDirectory holds the files of a run directory against the schemas.
func validDirectory(t *testing.T, directory string) {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for file, schema := range map[string]string{manifestFile: "run-manifest.schema.json", planFile: "run-plan.schema.json"} {
		if problem := schematest.Validate(t, schema, read(file)); problem != nil {
			t.Errorf("%s: %v", file, problem)
		}
	}
	for i, line := range bytes.Split(bytes.TrimSpace(read(journalFile)), []byte("\n")) {
		if problem := schematest.Validate(t, "journal-trial.schema.json", line); problem != nil {
			t.Errorf("%s:%d: %v\n%s", journalFile, i+1, problem, line)
		}
	}
}

// object is a schema as it was parsed.
type object = map[string]any

// comparison of types with a schema. A definition that was compared with a type
// is not entered again: some hold themselves.
type comparison struct {
	*testing.T
	root object
	done map[string]bool
}

// agree compares a type with what a schema says of it, and goes down into
// both.
func (c comparison) agree(at string, typ reflect.Type, schema object) {
	c.Helper()
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		definition, ok := c.root["$defs"].(object)[name].(object)
		if !ok {
			c.Fatalf("%s: %s leads nowhere", at, ref)
		}
		pair := name + " " + typ.String()
		if c.done[pair] {
			return
		}
		c.done[pair], schema = true, definition
	}
	switch {
	case writesItself(typ):
	case typ.Kind() == reflect.Struct:
		c.agreeOnFields(at, typ, schema)
	case typ.Kind() == reflect.Slice:
		items, _ := schema["items"].(object)
		c.agree(at+"[]", typ.Elem(), items)
	case typ.Kind() == reflect.Map:
		values, ok := schema["additionalProperties"].(object)
		if !ok {
			c.Errorf("%s: the schema says nothing of the values", at)
		}
		c.agree(at+"{}", typ.Elem(), values)
	}
}

func (c comparison) agreeOnFields(at string, typ reflect.Type, schema object) {
	c.Helper()
	if schema["additionalProperties"] != false {
		c.Errorf("%s: additionalProperties is not false", at)
	}
	properties, _ := schema["properties"].(object)
	var known, required, written, always []string
	for key, property := range properties {
		if p, _ := property.(object); p["deprecated"] != true { // the name of an earlier version: read, never written
			known = append(known, key)
		}
	}
	list, _ := schema["required"].([]any)
	for _, key := range list {
		required = append(required, key.(string))
	}
	for _, f := range reflect.VisibleFields(typ) {
		key, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		if key == "-" || f.Anonymous || !f.IsExported() {
			continue
		}
		if key == "" {
			c.Errorf("%s: field %s has no json key", at, f.Name)
		}
		written = append(written, key)
		if !tagged || !strings.Contains(options, "omit") {
			always = append(always, key)
		}
		property, ok := properties[key].(object)
		if !ok {
			c.Errorf("%s: the schema does not know %q", at, key)
			continue
		}
		c.agree(at+"."+key, f.Type, property)
	}
	for _, pair := range []struct {
		what      string
		got, want []string
	}{{"keys", known, written}, {"required keys", required, always}} {
		slices.Sort(pair.got)
		slices.Sort(pair.want)
		if !slices.Equal(pair.got, pair.want) {
			c.Errorf("%s: the schema's %s are %v, written are %v", at, pair.what, pair.got, pair.want)
		}
	}
}

// writesItself says whether a type has a form in JSON of its own.
func writesItself(typ reflect.Type) bool {
	for _, one := range []reflect.Type{typ, reflect.PointerTo(typ)} {
		if one.Implements(reflect.TypeFor[json.Marshaler]()) || one.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return true
		}
	}
	return false
}
