package importer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/rundir"
)

const kept = "../../workload/parse/testdata/kept/"

// setOnly is what redis-benchmark -t set -q prints.
func setOnly(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "set.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnotherMetricIsPrimaryWhereNoOutputHasThatOfTheTool(t *testing.T) {
	set := setOnly(t, "SET: 11527.38 requests per second, p50=1.623 msec\n")
	get := setOnly(t, "GET: 10000.00 requests per second, p50=1.623 msec\n")
	for name, c := range map[string]struct {
		single       Single
		metric, note string
		value        float64
		failed       string
	}{
		"a rate":          {single: Single{Tool: "redis-benchmark", Paths: []string{set}}, metric: "set_rps", value: 11527.38, note: "no output has get_rps, so set_rps is the primary metric; --metric"},
		"no memory moved": {single: Single{Tool: "sysbench-memory", Paths: []string{kept + "sysbench-memory-none/none.txt"}}, metric: "operations_per_second", value: 3175017.73, note: "no output has throughput, so operations_per_second is"},
		"its own":         {single: Single{Tool: "redis-benchmark", Paths: []string{get}}, metric: "get_rps", value: 10000},
		"some have it":    {single: Single{Tool: "redis-benchmark", Paths: []string{get, set}}, failed: "the output has no get_rps, the primary metric; it has set_latency_p50, set_rps"},
		"it was chosen":   {single: Single{Tool: "redis-benchmark", Metrics: []string{"get_rps"}, Paths: []string{set}}, failed: "the output has no get_rps"},
	} {
		c.single.Environment, c.single.Margin, c.single.Fresh = "native", "2%", "unknown"
		request, err := c.single.Request()
		if err != nil {
			t.Fatal(name, err)
		}
		result, err := request.Import(Options{Directory: filepath.Join(t.TempDir(), "run"), Now: time.Unix(0, 0)})
		if c.failed != "" {
			if err == nil || !strings.Contains(err.Error(), c.failed) {
				t.Errorf("%s: %v, want %q", name, err, c.failed)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if notes := strings.Join(result.Notes, "; "); c.note == "" && notes != "" || !strings.Contains(notes, c.note) {
			t.Errorf("%s: the note is %q, want %q", name, notes, c.note)
		}
		run, err := rundir.Open(result.Directory)
		if err != nil {
			t.Fatal(err)
		}
		m := run.Plan.Workloads[0].Pack.Metric(c.metric)
		if m == nil || !m.Primary || run.Trials[0].Metrics[c.metric] != c.value {
			t.Errorf("%s: %s is %+v, %v", name, c.metric, m, run.Trials[0].Metrics)
		}
	}
}

// importOf is the import of files in one environment.
func importOf(t *testing.T, single Single) (*Result, error) {
	t.Helper()
	single.Environment, single.Margin, single.Fresh = "native", "2%", "unknown"
	request, err := single.Request()
	if err != nil {
		t.Fatal(err)
	}
	return request.Import(Options{Directory: filepath.Join(t.TempDir(), "run"), Now: time.Unix(0, 0)})
}

func TestAnImportSaysWhatItLeftOut(t *testing.T) {
	several := kept + "sysbench-several/"
	for _, c := range []struct{ tool, file, note, failed string }{
		{"sysbench-fileio", "prepare-run-cleanup.txt", "2 other outputs left out: sysbench cleanup, sysbench prepare", ""},
		{"sysbench-memory", "tests.txt", "4 other outputs left out: sysbench mutex, sysbench-cpu, sysbench-threads", ""},
		{"sysbench-oltp", "tests.txt", "", "it has no result of sysbench-oltp, only of sysbench mutex, sysbench-cpu, sysbench-memory, sysbench-threads"},
	} {
		result, err := importOf(t, Single{Tool: c.tool, Paths: []string{several + c.file}})
		switch {
		case c.failed != "":
			if err == nil || !strings.Contains(err.Error(), c.failed) {
				t.Errorf("%s of %s: %v, want %q", c.tool, c.file, err, c.failed)
			}
		case err != nil:
			t.Errorf("%s of %s: %v", c.tool, c.file, err)
		case result.Results != 1 || !strings.Contains(strings.Join(result.Notes, "; "), c.note):
			t.Errorf("%s of %s: %+v, want %q", c.tool, c.file, result, c.note)
		}
	}
}

func TestAnImportKeepsThatARunMayHaveBeenInterrupted(t *testing.T) {
	result, err := importOf(t, Single{Tool: "stress-ng", Paths: []string{kept + "interrupted/stress-ng-no-timeout.txt"}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := rundir.Open(result.Directory)
	if err != nil {
		t.Fatal(err)
	}
	want := "stress-ng: was a run interrupted? The outputs do not tell: without --timeout"
	if unsure := run.Manifest.Import.Unsure; len(unsure) != 1 || !strings.HasPrefix(unsure[0], want) {
		t.Errorf("the run has %q, want %q", unsure, want)
	}
}
