package importer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/base/strictyaml"
	"tare/internal/rundir"
	"tare/internal/workload"
)

func TestTheSchemaKnowsExactlyTheKeysOfAManifest(t *testing.T) {
	text, err := os.ReadFile("../../../schema/import-manifest.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type object struct {
		Properties map[string]any    `json:"properties"`
		Defs       map[string]object `json:"$defs"`
	}
	var schema object
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		keys []string
		has  map[string]any
	}{
		"manifest":    {strictyaml.Keys(reflect.TypeFor[document]()), schema.Properties},
		"results":     {strictyaml.Keys(reflect.TypeFor[batch]()), schema.Defs["batch"].Properties},
		"columns":     {strictyaml.Keys(reflect.TypeFor[columns]()), schema.Defs["columns"].Properties},
		"environment": {strictyaml.Keys(reflect.TypeFor[environmentSection]()), schema.Defs["environment"].Properties},
		"metric":      {strictyaml.Keys(reflect.TypeFor[workload.Metric]()), schema.Defs["metric"].Properties},
	} {
		var has []string
		for key := range c.has {
			has = append(has, key)
		}
		slices.Sort(has)
		slices.Sort(c.keys)
		if !slices.Equal(has, c.keys) {
			t.Errorf("%s: the schema has %v, the manifest %v", name, has, c.keys)
		}
	}
}

func TestNamesTellWhatIsInAFile(t *testing.T) {
	at := func(text string) time.Time {
		v, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		name, pattern, layout, zone string
		want                        File
		wrong                       string
	}{
		{name: "2024-01-02T05:18:39+0200-vm-cpu.log", pattern: `^(?P<time>.+[+-]\d{4})-(?P<environment>.+)-cpu\.log$`,
			want: File{Environment: "vm", Taken: at("2024-01-02T03:18:39Z")}},
		{name: "vm-cpu-20240102-051839.log", pattern: `^(?P<environment>\w+)-cpu-(?P<time>[\d-]+)\.log$`, zone: "-03:00",
			want: File{Environment: "vm", Taken: at("2024-01-02T08:18:39Z")}},
		{name: "vm-20240702-051839.log", pattern: `^(?P<environment>\w+)-(?P<time>[\d-]+)\.log$`, zone: "Europe/Helsinki",
			want: File{Environment: "vm", Taken: at("2024-07-02T02:18:39Z")}},
		{name: "vm-1.7.2024.log", pattern: `^(?P<environment>\w+)-(?P<time>[\d.]+)\.log$`, layout: "2.1.2006", zone: "+00:00",
			want: File{Environment: "vm", Taken: at("2024-07-01T00:00:00Z")}},
		{name: "docker-c16-run03.json", pattern: `^(?P<environment>\w+)-c(?P<clients>\d+)-run(?P<block>\d+)\.json$`,
			want: File{Environment: "docker", Block: 3, Level: "clients=16", Parameters: map[string]string{"clients": "16"}}},
		{name: "vm-20240102-051839.log", pattern: `(?P<environment>vm)-(?P<time>[\d-]+)\.log`, wrong: "no offset from UTC"},
		{name: "vm-yesterday.log", pattern: `(?P<environment>vm)-(?P<time>\w+)\.log`, wrong: "has no known layout"},
		{name: "vm-run0.log", pattern: `(?P<environment>vm)-run(?P<block>\d)`, wrong: "numbered from 1"},
		{name: "xen.log", pattern: `(?P<environment>vm)`, wrong: "does not match"},
		{name: "vm.log", pattern: `vm`, wrong: "no named group"},
		{name: "vm.log", pattern: `(?P<tme>vm)`, wrong: `did you mean "time"`},
		{name: "vm.log", pattern: `(?P<environment>vm)`, zone: "Local", wrong: "differs between machines"},
		{name: "vm.log", pattern: `(?P<environment>vm)`, zone: "Nowhere/Else", wrong: "neither an offset"},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		names := fileNames{Layout: c.layout}
		var err error
		if c.zone != "" {
			names.Zone, err = parseZone(c.zone)
		}
		if err == nil {
			names.Pattern, err = parsePattern(c.pattern)
		}
		var files []File
		if err == nil {
			files, err = filesOf([]string{path}, "", names)
		}
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s by %s: %v", c.name, c.pattern, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		c.want.Path = path
		if !reflect.DeepEqual(files[0], c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, files[0], c.want)
		}
	}
}

func TestTheOrderIsOnlyWhatIsKnown(t *testing.T) {
	file := func(environment string, hour, place int) rundir.ImportedFile {
		f := rundir.ImportedFile{Environment: environment, Workload: "w", Place: place}
		if hour > 0 {
			f.Taken = time.Unix(int64(hour)*3600, 0)
		}
		return f
	}
	for name, c := range map[string]struct {
		files []rundir.ImportedFile
		want  string
	}{
		"one after another by time":    {[]rundir.ImportedFile{file("b", 3, 0), file("a", 1, 0), file("a", 2, 0)}, rundir.ImportSequential},
		"there and back":               {[]rundir.ImportedFile{file("b", 2, 0), file("a", 1, 0), file("a", 3, 0)}, rundir.ImportMixed},
		"by the manifest's places":     {[]rundir.ImportedFile{file("b", 0, 2), file("a", 0, 1)}, rundir.ImportSequential},
		"one without a time":           {[]rundir.ImportedFile{file("b", 2, 0), file("a", 0, 0)}, rundir.ImportUnknown},
		"one with a time, one a place": {[]rundir.ImportedFile{file("b", 2, 0), file("a", 0, 1)}, rundir.ImportUnknown},
	} {
		got, known := orderOf([]rundir.Trial{{}}, c.files)
		if got != c.want || (known == "") != (got == rundir.ImportUnknown) {
			t.Errorf("%s: %s, known by %q", name, got, known)
		}
	}
}

// Whatever stands in a file, cutting it before a line loses no byte from the first one on.
func TestCuttingAFileLosesNothing(t *testing.T) {
	begins := regexp.MustCompile(`^run \d+$`)
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOf(rapid.SampledFrom([]string{"run 1", "run 2", "rate 3", "", "  run 1"})).Draw(rt, "lines")
		data := []byte(strings.Join(lines, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "end")))
		outputs, err := splitBefore(data, begins)
		if err != nil {
			return
		}
		var joined []byte
		for _, o := range outputs {
			if !strings.HasPrefix(string(o), "run ") {
				rt.Fatalf("a result begins with %q", o)
			}
			joined = append(joined, o...)
		}
		rest := strings.TrimSuffix(string(data), string(joined))
		if len(rest)+len(joined) != len(data) || strings.HasPrefix(rest, "run ") || strings.Contains(rest, "\nrun ") {
			rt.Fatalf("%q is lost of %q", rest, data)
		}
	})
}

func TestAToolBringsItsMetricsWithTheirDirection(t *testing.T) {
	for _, c := range []struct {
		tool    string
		metrics []workload.Metric
		want    string
		wrong   string
	}{
		{tool: "sysbench-cpu", want: "events_per_second:higher:op/s:true"},
		{tool: "boot-times", want: "real_seconds:lower:s:true user_seconds:lower:s:false"},
		{tool: "iperf3", metrics: []workload.Metric{{Name: "jitter_ms"}, {Name: "lost", Field: "lost_percent", Better: "lower"}},
			want: "jitter_ms:lower:ms:false lost:lower:%:false"},
		{tool: "iperf3", metrics: []workload.Metric{{Name: "lost_percent"}}, wrong: "is lower or higher better?"},
		{tool: "iperf3", metrics: []workload.Metric{{Name: "jiter_ms"}}, wrong: `did you mean`},
		{tool: "startup", wrong: "nothing can be imported"},
		{tool: "./nowhere.yaml", wrong: "nowhere.yaml"},
	} {
		pack, err := toolOf(c.tool, c.metrics)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v", c.tool, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.tool, err)
			continue
		}
		var got []string
		for _, m := range pack.Metrics {
			got = append(got, strings.Join([]string{m.Name, m.Better, m.Unit, map[bool]string{true: "true", false: "false"}[m.Primary]}, ":"))
		}
		if !strings.HasPrefix(strings.Join(got, " "), c.want) {
			t.Errorf("%s: %s", c.tool, strings.Join(got, " "))
		}
	}
}
