package parse

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// samples are the recorded outputs of a tool, each with its figures beside it
// in golden.json.
func samples(t testing.TB, parser string) map[string][]byte {
	files, err := filepath.Glob(filepath.Join("testdata", parser, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples of %s: %v", parser, err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(f)] = data
	}
	return all
}

func TestRecordedOutputsGiveTheirFigures(t *testing.T) {
	for _, p := range parsers {
		got := map[string]map[string]float64{}
		for name, data := range samples(t, p.Name) {
			fields, err := p.Parse(data)
			if err != nil {
				t.Errorf("%s, %s: %v", p.Name, name, err)
			}
			got[name] = fields
		}
		path := filepath.Join("testdata", p.Name, "golden.json")
		if os.Getenv("UPDATE_GOLDEN") != "" {
			text, _ := json.MarshalIndent(got, "", "  ")
			if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]map[string]float64{}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got; UPDATE_GOLDEN=1 writes it):\n%s", p.Name, d)
		}
	}
}

func TestAFigureIsInItsDeclaredUnit(t *testing.T) {
	// Read off the samples by eye, not by the parser.
	for _, c := range []struct {
		parser, sample, field string
		want                  float64
	}{
		{"wrk", "no-latency.txt", "latency_avg", 691.52},
		{"wrk", "no-latency.txt", "latency_stdev", 930},
		{"wrk", "two-threads.txt", "latency_p99", 3640},
		{"wrk", "two-threads.txt", "requests", 152859},
		{"wrk", "two-threads.txt", "bytes_per_second", 24.86 * 1048576},
		{"sysbench-cpu", "five-seconds.txt", "events_per_second", 1952.87},
		{"sysbench-memory", "1m-blocks.txt", "throughput", 34430.75},
		{"fio", "libaio-randread.txt", "iops", 95506.29874},
		{"fio", "libaio-randread.txt", "latency_p99", 3620.864},
		{"redis-benchmark", "csv-all.txt", "lrange_100_latency_p99", 1.551},
		{"redis-benchmark", "csv-all.txt", "mset_rps", 56657.23},
		{"redis-benchmark", "text-get.txt", "get_rps", 55126.79},
		{"redis-benchmark", "text-get.txt", "requests", 50000},
	} {
		p, _ := Lookup(c.parser)
		fields, err := p.Parse(samples(t, c.parser)[c.sample])
		if got, ok := fields[c.field]; err != nil || !ok || math.Abs(got/c.want-1) > 1e-9 {
			t.Errorf("%s of %s/%s is %v, want %v (%v)", c.field, c.parser, c.sample, got, c.want, err)
		}
	}
}

// A parser that reads less than it was given must not take the rest for
// granted: whatever is cut off a report is an error or gives the same figures.
func TestACutReportNeverGivesOtherFigures(t *testing.T) {
	for _, p := range parsers {
		for name, data := range samples(t, p.Name) {
			whole, err := p.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			for cut := 0; cut < len(data); cut++ {
				if left := len(data) - cut; left > 1000 {
					cut += 12 // the end is where it matters
				}
				fields, err := p.Parse(data[:cut])
				if err == nil && !cmp.Equal(fields, whole) && !startOfARun(p.Name, data[:cut]) {
					t.Fatalf("%s, %s cut at byte %d of %d gave other figures: %s", p.Name, name, cut, len(data), cmp.Diff(whole, fields))
				}
			}
		}
	}
}

// startOfARun: a report of several tests is whole after each of them.
func startOfARun(parser string, data []byte) bool {
	return parser == "redis-benchmark" && strings.HasSuffix(strings.TrimRight(string(data), " \r"), "\n")
}

func TestFieldsAreDeclared(t *testing.T) {
	for _, p := range parsers {
		declared := map[string]bool{}
		for _, f := range p.Fields {
			if declared[f.Name] || f.Unit == "" {
				t.Errorf("%s declares %q badly", p.Name, f.Name)
			}
			declared[f.Name] = true
		}
		if p.About == "" || p.Versions == "" {
			t.Errorf("%s does not say what it reads", p.Name)
		}
		for name, data := range samples(t, p.Name) {
			fields, _ := p.Parse(data)
			for f := range fields {
				if !declared[f] {
					t.Errorf("%s gives %q for %s and does not declare it", p.Name, f, name)
				}
			}
		}
	}
}

func TestWhatIsNotUnderstoodIsQuoted(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, c := range []struct{ parser, output, want string }{
		{"wrk", read("broken/wrk-non2xx.txt"), "Non-2xx or 3xx responses: 89902"},
		{"wrk", strings.Replace(read("wrk/native.txt"), "Requests/sec", "  Socket errors: connect 0, read 3, write 0, timeout 0\nRequests/sec", 1), "read 3"},
		{"wrk", strings.Replace(read("wrk/native.txt"), "Latency Distribution", "Latenz-Verteilung", 1), "Latenz-Verteilung"},
		{"wrk", strings.Replace(read("wrk/no-latency.txt"), "691.52us", "691.52ns", 1), "691.52ns"},
		{"wrk", "unable to connect to 127.0.0.1:80 Connection refused\n", "unable to connect"},
		{"sysbench-cpu", read("broken/sysbench-cpu-threads.txt"), "events per second"},
		{"sysbench-cpu", strings.Replace(read("sysbench-cpu/native.txt"), "1.0.20", "1.1.0", 1), "sysbench 1.1.0"},
		{"sysbench-cpu", strings.Replace(read("sysbench-cpu/native.txt"), "CPU speed", "FATAL: no threads\nCPU speed", 1), "FATAL: no threads"},
		{"fio", strings.Replace(read("fio/native-randread.txt"), `"error" : 0`, `"error" : 28`, 1), "error 28"},
		{"fio", "fio: pid=0, err=22/file:filesetup.c:708, func=open(/data/fio.dat), error=Invalid argument\n", "fio:"},
		{"fio", strings.Replace(read("fio/native-randread.txt"), "fio-3.33", "fio-4.0", 1), "version 3"},
		{"redis-benchmark", "\"test\",\"rps\"\n\"GET\",\"1\"\n", "unknown columns"},
		{"redis-benchmark", strings.Replace(read("redis-benchmark/csv-all.txt"), "ZADD", "ZFOO", 1), "ZFOO"},
		{"redis-benchmark", "Could not connect to Redis at 127.0.0.1:6379: Connection refused\n", "Could not connect"},
		{"dd", "dd: error writing '/dev/full': No space left on device\n", "No space left"},
		{"dd", "", "it printed nothing"},
	} {
		p, _ := Lookup(c.parser)
		if fields, err := p.Parse([]byte(c.output)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v; want %q quoted", c.parser, fields, err, c.want)
		}
	}
}

func TestNotesBeforeFiosReportAreSkipped(t *testing.T) {
	data := samples(t, "fio")["native-randread.txt"]
	p, _ := Lookup("fio")
	plain, _ := p.Parse(data)
	noted, err := p.Parse(append([]byte("note: both iodepth >= 1 and synchronous I/O engine are selected\n"), data...))
	if err != nil || !cmp.Equal(plain, noted) {
		t.Errorf("with a note: %v", err)
	}
}

func TestGenericParsers(t *testing.T) {
	rate := regexp.MustCompile(`rate=(?P<rate>\S+)`)
	if f, err := Regex([]*regexp.Regexp{rate}, []byte("rate=5\n")); err != nil || f["rate"] != 5 {
		t.Errorf("regex: %v, %v", f, err)
	}
	if _, err := Regex([]*regexp.Regexp{rate}, []byte("rate=5\nrate=6\n")); err == nil || !strings.Contains(err.Error(), "more than once") {
		t.Errorf("two matches: %v", err)
	}
	if _, err := Regex([]*regexp.Regexp{rate}, []byte("rate=inf\n")); err == nil {
		t.Error("an infinite rate was taken")
	}
	document := []byte(`{"jobs":[{"read":{"iops":7.5,"name":"x"}}]}`)
	if f, err := JSON([]string{"jobs.0.read.iops", "jobs.0.read.gone"}, document); err != nil || f["jobs.0.read.iops"] != 7.5 || len(f) != 1 {
		t.Errorf("json: %v, %v", f, err)
	}
	for _, path := range []string{"jobs.1.read.iops", "jobs.0.read.name"} {
		if _, err := JSON([]string{path}, document); err == nil {
			t.Errorf("%s was taken for a number", path)
		}
	}
	if _, err := JSON([]string{"a"}, []byte(`{"a":1} {"a":2}`)); err == nil {
		t.Error("two documents were taken for one")
	}
	if f, err := CSV([]string{"rps", "p50"}, []byte("rps,p50\n5,6\n")); err != nil || f["rps"] != 5 || f["p50"] != 6 {
		t.Errorf("csv: %v, %v", f, err)
	}
	if f, err := CSV([]string{"GET.rps", "rps"}, []byte("test,rps\nSET,5\nGET,6\n")); err != nil || f["GET.rps"] != 6 || len(f) != 1 {
		t.Errorf("csv with two rows: %v, %v", f, err)
	}
	if _, err := CSV([]string{"rps"}, []byte("rps\n51")); err == nil {
		t.Error("a cut table was taken")
	}
}

// fuzz: no input makes a parser panic, give a figure that it does not declare,
// or one that is not finite.
func fuzz(f *testing.F, p Parser) {
	for _, data := range samples(f, p.Name) {
		f.Add(data)
	}
	declared := map[string]bool{}
	for _, field := range p.Fields {
		declared[field.Name] = true
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fields, err := p.Parse(data)
		if err == nil && len(fields) == 0 {
			t.Error("neither figures nor an error")
		}
		for name, v := range fields {
			if err == nil && (!declared[name] || math.IsNaN(v) || math.IsInf(v, 0)) {
				t.Errorf("%s = %v", name, v)
			}
		}
	})
}

func FuzzDD(f *testing.F)             { fuzz(f, dd) }
func FuzzFio(f *testing.F)            { fuzz(f, fio) }
func FuzzRedisBenchmark(f *testing.F) { fuzz(f, redisBenchmark) }
func FuzzSysbenchCPU(f *testing.F)    { fuzz(f, sysbenchCPU) }
func FuzzSysbenchMemory(f *testing.F) { fuzz(f, sysbenchMemory) }
func FuzzWrk(f *testing.F)            { fuzz(f, wrk) }
