package importer

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/base/lists"
	"tare/internal/rundir"
)

// log writes recorded outputs one after another.
func log(t *testing.T, parser string, samples ...string) string {
	t.Helper()
	var text []byte
	for _, name := range samples {
		data, err := os.ReadFile(filepath.Join("../../workload/parse/testdata", parser, name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, data...)
	}
	path := filepath.Join(t.TempDir(), "log.txt")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func imported(t *testing.T, s Single) (*rundir.Run, error) {
	t.Helper()
	s.Margin, s.Fresh = "2%", "unknown"
	if s.Environment == "" && s.Names == "" {
		s.Environment = "native"
	}
	r, err := s.Request()
	if err != nil {
		return nil, err
	}
	result, err := r.Import(Options{Directory: filepath.Join(t.TempDir(), "run"), Now: time.Unix(1e9, 0)})
	if err != nil {
		return nil, err
	}
	run, err := rundir.Open(result.Directory)
	if err != nil {
		t.Fatal(err)
	}
	return run, nil
}

// placed is level, block and status of each trial, in the order of the log.
func placed(run *rundir.Run) string {
	return strings.Join(lists.Map(run.Trials, func(t rundir.Trial) string {
		text := t.Level + "#" + strconv.Itoa(t.Block)
		if t.Status != rundir.OK {
			text += " " + string(t.Status)
		}
		return text
	}), " ")
}

func TestALogIsSortedByWhatItSaysOfItself(t *testing.T) {
	for name, c := range map[string]struct {
		tool    string
		samples []string
		levels  []string
		want    string
	}{
		"threads and modes of a database test": {"sysbench-oltp", []string{"native-read-only", "docker-read-write", "docker-write-only", "native-read-only", "native-write-only", "docker-write-only"}, []string{"threads", "mode"},
			"mode=read_only,threads=2#1 mode=read_write,threads=2#1 mode=write_only,threads=4#1 mode=read_only,threads=2#2 mode=write_only,threads=2#1 mode=write_only,threads=4#2"},
		"modes of a test of files": {"sysbench-fileio", []string{"native-seqrd", "native-seqwr", "native-seqrd", "native-rndrw"}, []string{"mode"},
			"mode=seqrd#1 mode=seqwr#1 mode=seqrd#2 mode=rndrw#1"},
		"options of fio's jobs": {"fio", []string{"native-randread", "libaio-randread", "native-randwrite", "libaio-randread"}, []string{"rw", "iodepth"},
			"iodepth=1,rw=randread#1 iodepth=64,rw=randread#1 iodepth=1,rw=randwrite#1 iodepth=64,rw=randread#2"},
		"tests and clients of redis-benchmark": {"redis-benchmark", []string{"native", "docker"}, []string{"test", "clients"},
			"clients=50,test=set+get#1 clients=50,test=set+get#2"},
		"streams and protocols of iperf3": {"iperf3", []string{"tcp", "tcp-two-streams", "tcp-reverse"}, []string{"streams", "direction"},
			"direction=forward,streams=1#1 direction=forward,streams=2#1 direction=reverse,streams=1#1"},
		"connections of wrk":            {"wrk", []string{"two-threads", "native"}, []string{"connections"}, "connections=32#1 connections=16#1"},
		"a setting that does not vary":  {"sysbench-cpu", []string{"native", "docker"}, []string{"max_prime"}, "max_prime=20000#1 max_prime=20000#2"},
		"no level: everything together": {"sysbench-oltp", []string{"native-read-only", "docker-write-only"}, nil, "#1 #2"},
	} {
		run, err := imported(t, Single{Tool: c.tool, Paths: []string{log(t, c.tool, c.samples...)}, Levels: c.levels})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := placed(run); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
		for _, l := range run.Plan.Workloads[0].Levels {
			if !slices.Equal(slices.Sorted(maps.Keys(l.Parameters)), slices.Sorted(slices.Values(c.levels))) {
				t.Errorf("%s: the level %s has the parameters %v", name, l.Name, l.Parameters)
			}
		}
	}
}

func TestLevelsThatNoLogSaysAreRefused(t *testing.T) {
	truncated := log(t, "sysbench-oltp", "native-read-only", "docker-write-only")
	text, err := os.ReadFile(truncated)
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(t.TempDir(), "half.log")
	begins := strings.LastIndex(string(text), "sysbench 1.0")
	if err := os.WriteFile(half, text[:begins+strings.Index(string(text[begins:]), "Number of threads")], 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		s    Single
		want string
	}{
		"a wrong name":     {Single{Tool: "sysbench-oltp", Levels: []string{"thread"}}, `level thread: unknown setting of sysbench-oltp "thread"; did you mean "threads"? (known: mode, threads, version)`},
		"a tool without":   {Single{Tool: "dd", Paths: []string{log(t, "dd", "native")}, Levels: []string{"bs"}}, "level bs: the results of dd do not say how they were measured"},
		"twice":            {Single{Tool: "sysbench-oltp", Levels: []string{"mode", "mode"}}, "--level: mode is named twice"},
		"no name":          {Single{Tool: "sysbench-oltp", Levels: []string{"mode", ""}}, "--level: one of the names is empty"},
		"in a file's name": {Single{Tool: "sysbench-oltp", Names: `^(?P<environment>l)(?P<threads>o)g`, Levels: []string{"threads"}}, "threads is already o for "},
		"an old redis": {Single{Tool: "redis-benchmark", Paths: []string{log(t, "redis-benchmark", "docker-quiet")}, Levels: []string{"test", "clients"}, Metrics: []string{"set_rps:higher"}},
			`level clients: unknown setting of redis-benchmark "clients"; known: test`},
		"a result without it": {Single{Tool: "sysbench-oltp", Paths: []string{half}, Levels: []string{"threads"}}, "half.log:44: result 2: "},
	} {
		if c.s.Paths == nil {
			c.s.Paths = []string{truncated}
		}
		if _, err := imported(t, c.s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
	run, err := imported(t, Single{Tool: "sysbench-oltp", Paths: []string{half}, Levels: []string{"threads"}, SkipBad: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := placed(run); got != "threads=2#1 threads=unknown#1 failed" {
		t.Errorf("a result that was cut off is at %s", got)
	}
}

// A result that can be read, and does not say what others say, is not put anywhere.
func TestAResultWithoutTheSettingIsNamedWithItsLine(t *testing.T) {
	path := log(t, "stress-ng", "docker-brief", "docker-text-and-yaml")
	_, err := imported(t, Single{Tool: "stress-ng", Paths: []string{path}, Levels: []string{"version"}})
	if err == nil || !strings.Contains(err.Error(), "log.txt:1: result 1: its version is not in the output, so it has no level") || strings.Contains(err.Error(), "result 2") {
		t.Error(err)
	}
}

// With the block in the names of files, a file may have one result of each level.
func TestAFileOfABlockHasOneResultOfEachLevel(t *testing.T) {
	directory := t.TempDir()
	for file, samples := range map[string][]string{"a-1": {"native-read-only", "native-write-only"}, "a-2": {"native-write-only", "native-read-only", "native-write-only"}} {
		if err := os.Rename(log(t, "sysbench-oltp", samples...), filepath.Join(directory, file)); err != nil {
			t.Fatal(err)
		}
	}
	s := Single{Tool: "sysbench-oltp", Names: `^(?P<environment>a)-(?P<block>.)$`, Levels: []string{"mode"}, Paths: []string{filepath.Join(directory, "a-1")}}
	if run, err := imported(t, s); err != nil || placed(run) != "mode=read_only#1 mode=write_only#1" {
		t.Error(err)
	}
	s.Paths = []string{filepath.Join(directory, "a-2")}
	if _, err := imported(t, s); err == nil || !strings.Contains(err.Error(), "its name has the block 2, but it has 3 results, several of them at mode=write_only") {
		t.Error(err)
	}
}

// The author of a published study ran three database tests with seven numbers of
// threads, ten times each, into one log for each platform. The study's Appendix A
// prints the means over the numbers of threads.
func TestTheDatabaseLogsOfAStudyGiveItsTable(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(sharedData(t), "database", "*-database.log"))
	if err != nil || len(found) == 0 {
		t.Skip("needs the study's logs: those of its database, in karna-2021/database below TARE_SHARED_DATA")
	}
	run, err := imported(t, Single{Tool: "sysbench-oltp", Metrics: []string{"transactions:higher:op"}, Levels: []string{"threads", "mode"}, Paths: found,
		Names: `^(?P<time>.+[+-]\d{4})-(?P<environment>.+)-database\.log$`})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(run.Plan.Workloads[0].Levels); n != 21 || len(run.Trials) != 840 {
		t.Errorf("%d levels, %d results", n, len(run.Trials))
	}
	sums := map[string]float64{}
	for _, trial := range run.Trials {
		mode, _, _ := strings.Cut(trial.Level, ",")
		sums[mode+" "+trial.Environment] += trial.Metrics["transactions"]
	}
	for key, want := range map[string]string{
		"mode=read_only metal": "29325.04", "mode=read_only vm": "21916.47", "mode=read_only docker-gvisor": "7094.03", "mode=read_only docker": "35243.14",
		"mode=write_only metal": "5944.71", "mode=write_only vm": "4989.96", "mode=write_only docker-gvisor": "3068.93", "mode=write_only docker": "6593.74",
		"mode=read_write metal": "3274.96", "mode=read_write vm": "3690.49", "mode=read_write docker-gvisor": "1184.50",
		// The study prints 3694.86. The values that its author read from the logs have
		// this mean.
		"mode=read_write docker": "3694.89",
	} {
		if got := strconv.FormatFloat(sums[key]/70, 'f', 2, 64); got != want {
			t.Errorf("%s: %s, the study prints %s", key, got, want)
		}
	}
}

func TestAManifestMakesLevelsOfSettings(t *testing.T) {
	path := log(t, "sysbench-oltp", "native-read-only", "docker-write-only")
	manifest := filepath.Join(filepath.Dir(path), "m.yaml")
	text := "import: x\nresults:\n- {tool: sysbench-oltp, environment: a, files: [log.txt], level: {engine: innodb}, levels: [mode, threads]}\n"
	if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := ReadManifest(manifest)
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Import(Options{Directory: filepath.Join(t.TempDir(), "run"), Now: time.Unix(1e9, 0)})
	if err != nil {
		t.Fatal(err)
	}
	run, err := rundir.Open(result.Directory)
	if err != nil {
		t.Fatal(err)
	}
	levels, _ := json.Marshal(run.Plan.Workloads[0].Levels)
	if got := placed(run); got != "engine=innodb,mode=read_only,threads=2#1 engine=innodb,mode=write_only,threads=4#1" {
		t.Errorf("%s\n%s", got, levels)
	}
	if err := os.WriteFile(manifest, []byte(strings.Replace(text, "mode, threads", "mode, engine", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadManifest(manifest); err == nil || !strings.Contains(err.Error(), "m.yaml:3:92: engine is already innodb for ") {
		t.Error(err)
	}
}
