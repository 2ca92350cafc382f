package importer

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/papers/table"
	"tare/internal/rundir"
)

// tables imports tables that are not files.
func tables(t *testing.T, s Single, c table.Columns, texts ...string) (*rundir.Run, error) {
	t.Helper()
	var files []table.File
	for i, text := range texts {
		files = append(files, table.File{Name: string(rune('a'+i)) + ".csv", Data: []byte(text)})
	}
	s.Fresh, s.Margin = unknownFresh, "2%"
	r, err := s.Tables(files, c)
	if err != nil {
		return nil, err
	}
	result, err := r.Import(Options{Runs: filepath.Join(t.TempDir(), "runs"), Command: []string{"tare"}, Version: "test", Now: time.Unix(1e9, 0)})
	if err != nil {
		return nil, err
	}
	run, err := rundir.Open(result.Directory)
	if err != nil {
		t.Fatal(err)
	}
	return run, nil
}

func TestATableIsARunWithItsBlocksAndLevels(t *testing.T) {
	run, err := tables(t, Single{Baseline: "runc"}, table.Columns{Environment: "runtime", Block: "run", Values: []string{"ms"}, Level: []string{"size"}},
		"run,runtime,size,ms\n10,runsc,4k,12.5\n10,runc,4k,10\n2,runc,4k,11\n2,runsc,4k,13\n2,runc,8k,20\n")
	if err != nil {
		t.Fatal(err)
	}
	if run.Plan.Design.Order != "interleaved" || run.Plan.Baseline != "runc" || len(run.Trials) != 5 {
		t.Errorf("%+v, %d trials", run.Plan.Design, len(run.Trials))
	}
	w := run.Plan.Workloads[0]
	if m := w.Pack.Metrics[0]; w.Name != "table" || m.Name != "ms" || m.Unit != "ms" || m.Better != "lower" || !m.Primary || w.Levels[0].Parameters["size"] != "4k" {
		t.Errorf("%+v", w)
	}
	first := run.Trials[0] // run 2 came before run 10
	if first.Environment != "runsc" || first.Block != 2 || first.Level != "size=4k" || first.Metrics["ms"] != 12.5 || first.Source.File != "a.csv" || first.Source.Result != 1 {
		t.Errorf("%+v of %+v", first, first.Source)
	}
}

func TestFilesOfOneToolAreARunOfSeveralWorkloads(t *testing.T) {
	one := "pkg: x\nBenchmarkA-2 100 10 ns/op 5.0 things/op\nBenchmarkA-2 100 12 ns/op 6.0 things/op\nBenchmarkB-2 100 20 ns/op\n"
	run, err := tables(t, Single{}, table.Columns{}, one, strings.ReplaceAll(one, " 10 ns", " 11 ns"))
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Trials) != 6 || len(run.Plan.Workloads) != 2 || run.Plan.Workloads[0].Name != "A-2" || run.Plan.Design.Order != "unpaired" {
		t.Errorf("%d trials of %+v", len(run.Trials), run.Plan.Workloads)
	}
	for _, trial := range run.Trials {
		if trial.Environment == "b" && trial.Workload == "A-2" && trial.Block == 1 && (math.Abs(trial.Metrics["sec_op"]-11e-9) > 1e-20 || len(trial.Metrics) != 1) {
			t.Errorf("%+v", trial.Metrics)
		}
	}
	both, err := tables(t, Single{Metrics: []string{"things_op:higher"}}, table.Columns{}, one, strings.ReplaceAll(one, "5.0", "7.0"))
	if err != nil || both.Plan.Workloads[0].Pack.Metrics[0].Better != "higher" {
		t.Errorf("%v", err)
	}
}

func TestATableThatCannotBeARunIsRefused(t *testing.T) {
	for what, c := range map[string]struct {
		text string
		s    Single
		want string
	}{
		"no direction":        {"environment,value\na,1\nb,2\n", Single{}, "is lower or higher better? Choose metrics with --metric NAME:lower or NAME:higher, of value"},
		"no value":            {"environment,value\na,1\nb,NA\n", Single{Metrics: []string{"value:lower"}}, "a.csv:3: result 1: value: its cell has no value"},
		"two in a block":      {"block,environment,value\n1,a,1\n1,a,2\n1,b,2\n", Single{Metrics: []string{"value:lower"}}, "are both block 1 of table in a"},
		"an unknown baseline": {"environment,value\na,1\nb,2\n", Single{Metrics: []string{"value:lower"}, Baseline: "c"}, "the baseline c has no results"},
	} {
		_, err := tables(t, c.s, table.Columns{}, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	run, err := tables(t, Single{Metrics: []string{"value:lower"}, SkipBad: true}, table.Columns{}, "environment,value\na,1\nb,NA\nb,2\n")
	if err != nil || len(run.Trials) != 3 {
		t.Fatal(err)
	}
	if bad := run.Trials[1]; bad.Status != rundir.Failed || !strings.Contains(bad.Reason, "its cell has no value") {
		t.Errorf("%+v", bad)
	}
}

func TestAManifestHasTablesBesideTheOutputOfTools(t *testing.T) {
	directory := t.TempDir()
	for name, text := range map[string]string{
		"runs.csv": "run,runtime,ms\n1,runc,10\n1,runsc,12.5\n2,runc,11\n2,runsc,13\n",
		"log":      "SET: 11527.38 requests per second, p50=1.623 msec\n",
		"import.yaml": "import: both\nresults:\n- {tool: table, workload: startup, files: [runs.csv], columns: {environment: runtime, block: run, values: [ms]}}\n" +
			"- {tool: redis-benchmark, environment: runc, files: [log]}\n",
		"wrong.yaml": "import: x\nresults:\n- {tool: table, files: [runs.csv], environment: runc, columns: {environment: engine, values: [ms]}}\n",
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := ReadManifest(filepath.Join(directory, "import.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Import(Options{Directory: filepath.Join(directory, "run"), Now: time.Unix(1e9, 0)})
	if err != nil || result.Results != 5 {
		t.Fatal(result, err)
	}
	run, err := rundir.Open(result.Directory)
	if err != nil {
		t.Fatal(err)
	}
	if w := run.Plan.Workload("startup"); w == nil || w.Pack.Metrics[0].Name != "ms" {
		t.Errorf("%+v", run.Plan.Workloads)
	}
	values := map[string]float64{}
	for _, one := range run.Trials {
		for name, v := range one.Metrics {
			values[one.Environment+" "+name] += v
		}
	}
	if values["runc ms"] != 21 || values["runsc ms"] != 25.5 || values["runc set_rps"] != 11527.38 {
		t.Errorf("%v", values)
	}
	_, err = ReadManifest(filepath.Join(directory, "wrong.yaml"))
	if err == nil || !strings.Contains(err.Error(), "a table says it in a column") || !strings.Contains(err.Error(), "engine") {
		t.Errorf("%v", err)
	}
}
