package table

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/testing/fuzzing"
)

// readFiles reads files of testdata.
func readFiles(t *testing.T, c Columns, names ...string) (*Records, error) {
	t.Helper()
	var files []File
	for _, name := range names {
		path := filepath.Join("testdata", name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, File{path, data})
	}
	return Read(files, c)
}

func readText(text string, c Columns) (*Records, error) {
	return Read([]File{{"t.csv", []byte(text)}}, c)
}

// The numbers were read from the files with Python's json, csv and xml.
func TestFilesOfToolsAreReadAsAnotherProgramReadsThem(t *testing.T) {
	for what, c := range map[string]struct {
		files   []string
		columns Columns
		count   int
		at      int // of the record
		want    Record
		remarks []string
	}{
		"hyperfine 1.15, names of commands": {[]string{"hyperfine.json"}, Columns{}, 8, 5,
			Record{Environment: "shell", Metric: "seconds", Better: "lower", Unit: "s", Value: 0.000696745}, nil},
		"its runs as blocks": {[]string{"hyperfine.json"}, Columns{Block: "run"}, 8, 6,
			Record{Environment: "shell", Block: "3", Metric: "seconds", Better: "lower", Unit: "s", Value: 0.000659299}, nil},
		"its parameters": {[]string{"hyperfine-parameters.json"}, Columns{Environment: "parameter_n", Values: []string{"seconds"}}, 8, 4,
			Record{Environment: "2", Metric: "seconds", Better: "lower", Unit: "s", Value: 0.000884544}, nil},
		"Google Benchmark 1.9.4, time": {[]string{"google.json"}, Columns{Environment: "file"}, 9, 5,
			Record{Environment: "google", Workload: "sum_million/100", Metric: "real_time", Better: "lower", Unit: "s", Value: 7.071606940790776e-07}, []string{"skipping has no result: no device"}},
		"its rate": {[]string{"google.json"}, Columns{Environment: "file"}, 9, 4,
			Record{Environment: "google", Workload: "sum_million/100", Metric: "items_per_second", Better: "higher", Unit: "1/s", Value: 159354823.68382144}, nil},
		"go test -bench": {[]string{"go.txt"}, Columns{Environment: "file"}, 30, 5,
			Record{Environment: "go", Workload: "Repeat/n=10-2", Metric: "sec/op", Better: "lower", Unit: "sec/op", Value: 384.0e-9, Line: 6}, []string{"BenchmarkFails failed and has no result"}},
		"its bytes per second": {[]string{"go.txt"}, Columns{Environment: "file"}, 30, 6,
			Record{Environment: "go", Workload: "Repeat/n=10-2", Metric: "B/s", Better: "higher", Unit: "B/s", Value: 26.04e6, Line: 6}, nil},
		"its metrics of one's own": {[]string{"go.txt"}, Columns{Environment: "file"}, 30, 7,
			Record{Environment: "go", Workload: "Repeat/n=10-2", Metric: "things/op", Unit: "things/op", Value: 3.5, Line: 6}, nil},
		"go test -json -bench": {[]string{"go-json.txt"}, Columns{Environment: "file"}, 20, 5,
			Record{Environment: "go-json", Workload: "Repeat/n=10-2", Metric: "sec/op", Better: "lower", Unit: "sec/op", Value: 158.9e-9}, nil},
		"two files of it": {[]string{"go.txt", "go-json.txt"}, Columns{}, 50, 30,
			Record{Environment: "go-json", Workload: "Repeat/n=10-2", Metric: "sec/op", Better: "lower", Unit: "sec/op", Value: 361.7e-9}, nil},
		"Criterion 0.5.1": {[]string{"criterion/docker/sample.json"}, Columns{}, 10, 1,
			Record{Environment: "docker", Workload: "sum/loop/100", Metric: "seconds", Better: "lower", Unit: "s", Value: 3.9022403895989595e-08}, nil},
		"its raw.csv, where value is no value": {[]string{"criterion/docker/raw.csv"}, Columns{}, 10, 1,
			Record{Environment: "docker", Workload: "sum/loop/100", Metric: "seconds", Better: "lower", Unit: "s", Value: 3.9022403895989595e-08}, nil},
		"Phoronix": {[]string{"phoronix.xml"}, Columns{}, 7, 1,
			Record{Environment: "native", Workload: "Redis, Test: GET", Metric: "Requests Per Second", Better: "higher", Value: 2000100.5},
			[]string{"Build has no result of docker", "CPU Temperature Monitor is a LINE_GRAPH and not read", "Redis, Test Install Size is of the installation and not read"}},
		"its tests of one run": {[]string{"phoronix.xml"}, Columns{}, 7, 6,
			Record{Environment: "native", Workload: "Build", Metric: "Seconds", Better: "lower", Value: 10.25}, nil},
		"Phoronix 10.8.6, unchanged": {[]string{"phoronix-10.8.6.xml"}, Columns{}, 6, 3,
			Record{Environment: "docker", Workload: "Tiny", Metric: "Seconds", Better: "lower", Value: 0.221827}, nil},
		"a range query of Prometheus 2.42, unchanged": {[]string{"prometheus-2.42.json"}, Columns{Environment: "runtime", Block: "time"}, 6, 5,
			Record{Environment: "runsc", Block: "1795840645", Value: 0.003370659}, nil},
		"a range query": {[]string{"prometheus.json"}, Columns{Environment: "runtime", Block: "time"}, 3, 1,
			Record{Environment: "runc", Block: "1700000015.5", Metric: "job:latency_seconds:p99", Value: 0.013}, []string{"1 value NaN or infinite, and left out"}},
	} {
		r, err := readFiles(t, c.columns, c.files...)
		if err != nil || len(r.All) != c.count {
			t.Errorf("%s: %v, %d records, want %d", what, err, len(r.All), c.count)
			continue
		}
		got := r.All[c.at]
		// A quotient can differ in its last bit from another order of divisions.
		if d := got.Value/c.want.Value - 1; d > 1e-15 || d < -1e-15 {
			t.Errorf("%s: %v, want %v", what, got.Value, c.want.Value)
		}
		got.Value, got.Column, got.file, got.series = c.want.Value, 0, 0, ""
		if got.Parameters = nil; !equal(got, c.want) {
			t.Errorf("%s: got %+v\nwant %+v", what, got, c.want)
		}
		for _, remark := range c.remarks {
			if !strings.Contains(strings.Join(r.Remarks, "\n"), remark) {
				t.Errorf("%s: %q lacks %q", what, r.Remarks, remark)
			}
		}
	}
}

func equal(a, b Record) bool {
	return a.Environment == b.Environment && a.Block == b.Block && a.Workload == b.Workload && a.Metric == b.Metric && a.Level == b.Level &&
		a.Round == b.Round && a.Better == b.Better && a.Unit == b.Unit && a.Value == b.Value && a.None == b.None && a.Line == b.Line
}

// A table of sizes and methods, as people publish them, looks like many samples of one thing.
func TestResultsOfDifferentWorkAreNotOneSampleWithoutAWord(t *testing.T) {
	const text = "library,dataset,compression,note,ms\na,small,none,x,1\na,large,zstd,x,90\nb,small,none,y,2\nb,large,zstd,y,80\n" // a note says nothing of its own
	const remark = "have the same several values of dataset (2 values), compression (2 values), and are taken for samples of one thing: name a column that tells them apart by --workload, --level or --block"
	for want, columns := range map[string][]Columns{
		remark: {{Environment: "library", Values: []string{"ms"}}},
		"": {{Environment: "library", Values: []string{"ms"}, Workload: "dataset", Level: []string{"compression"}},
			{Environment: "library", Values: []string{"ms"}, Workload: "dataset"}, // which tells the compressions apart too
			{Environment: "library", Values: []string{"ms"}, Block: "dataset"}},
	} {
		for _, c := range columns {
			r, err := Read([]File{{Name: "t.csv", Data: []byte(text)}}, c)
			if err != nil || (want == "") != (len(r.Remarks) == 0) || !strings.Contains(strings.Join(r.Remarks, "\n"), want) {
				t.Errorf("%+v: %v, %+v, want %q", c, err, r, want)
			}
		}
	}
}

// The forms of tables that people publish.
func TestTablesOfAnyFormAreRead(t *testing.T) {
	for what, c := range map[string]struct {
		text    string
		columns Columns
		want    Record // the second
		unused  []string
	}{
		"other names":          {"run,runtime,ms\n1,runc,10\n1,runsc,12.5\n", Columns{Block: "run", Environment: "runtime", Values: []string{"ms"}}, Record{Environment: "runsc", Block: "1", Metric: "ms", Value: 12.5, Line: 3}, nil},
		"upper case":           {"Block,Environment,Value\n1,a,1\n1,b,2\n", Columns{}, Record{Environment: "b", Block: "1", Value: 2, Line: 3}, nil},
		"a column each":        {"native,docker\n1,2\n3,4\n", Columns{Values: []string{"native", "docker"}, Block: "row"}, Record{Environment: "docker", Block: "1", Value: 2, Line: 2}, nil},
		"a column each run":    {"os,run1,run2\na,1,2\nb,3,4\n", Columns{Environment: "os", Values: []string{"run*"}, Block: "column"}, Record{Environment: "a", Block: "run2", Metric: "run2", Value: 2, Line: 2}, nil},
		"a column each metric": {"env,min,max\na,1,2\nb,3,4\n", Columns{Environment: "env", Values: []string{"min", "max"}, Metric: "column"}, Record{Environment: "a", Metric: "max", Value: 2, Line: 2}, nil},
		"no header":            {"bare,4096,7.5e-08\nrunc,4096,8.5e-08\n", Columns{NoHeader: true, Environment: "1", Level: []string{"2"}, Values: []string{"3"}}, Record{Environment: "runc", Metric: "3", Level: "2=4096", Value: 8.5e-08, Line: 2}, nil},
		"semicolons":           {"environment;value\na;1\nb;2\n", Columns{}, Record{Environment: "b", Value: 2, Line: 3}, nil},
		"decimal commas":       {"environment;value\na;1,5\nb;2,5\n", Columns{DecimalComma: true}, Record{Environment: "b", Value: 2.5, Line: 3}, nil},
		"tabs":                 {"environment\tvalue\na\t1\nb\t2\n", Columns{}, Record{Environment: "b", Value: 2, Line: 3}, nil},
		"bars":                 {"environment|value\na|1\nb|2\n", Columns{}, Record{Environment: "b", Value: 2, Line: 3}, nil},
		"blanks":               {"environment   value\na             1\nb             2\n", Columns{}, Record{Environment: "b", Value: 2, Line: 3}, nil},
		"comments":             {"# made on Monday, at night\nenvironment,value\na,1\nb,2\n", Columns{}, Record{Environment: "b", Value: 2, Line: 4}, nil},
		"an index of pandas":   {",environment,value\n0,a,1\n1,b,2\n", Columns{}, Record{Environment: "b", Value: 2, Line: 3}, []string{""}},
		"two levels":           {"environment,value,size,mode\na,1,4,r\nb,2,4,w\n", Columns{Level: []string{"size", "mode"}}, Record{Environment: "b", Level: "mode=w,size=4", Value: 2, Line: 3}, nil},
		"no value in a cell":   {"environment,value\na,1\nb,N/A\n", Columns{}, Record{Environment: "b", None: true, Line: 3}, nil},
		"no text in one":       {"a,b\n1,\n1,2\n", Columns{Values: []string{"a", "b"}}, Record{Environment: "b", None: true, Line: 2}, nil},
		"a long unused text":   {"environment,value,log\na,1,x\nb,2," + strings.Repeat("x", 500) + "\n", Columns{}, Record{Environment: "b", Value: 2, Line: 3}, []string{"log"}},
		"UTF-16":               {"\xff\xfee\x00n\x00v\x00,\x00m\x00s\x00\n\x00a\x00,\x001\x00\n\x00b\x00,\x002\x00\n\x00", Columns{Environment: "env", Values: []string{"ms"}}, Record{Environment: "b", Metric: "ms", Value: 2, Line: 3}, nil},
		"a separator by word":  {"environment,a value\nx,1 1\nx,1 2\n", Columns{Separator: "space", Environment: "environment,a", Values: []string{"value"}}, Record{Environment: "x,1", Metric: "value", Value: 2, Line: 3}, nil},
	} {
		r, err := readText(c.text, c.columns)
		if err != nil || len(r.All) < 2 {
			t.Errorf("%s: %v, %+v", what, err, r)
			continue
		}
		if got := r.All[1]; !equal(got, c.want) || !slices.Equal(r.Unused, c.unused) {
			t.Errorf("%s: got %+v, unused %q\nwant %+v", what, got, r.Unused, c.want)
		}
	}
}

func TestWhatCannotBeReadIsRefusedWithAWayOut(t *testing.T) {
	for what, c := range map[string]struct {
		text    string
		columns Columns
		want    string
	}{
		"values in the first line":   {"a,1\nb,2\n", Columns{}, "add --no-header"},
		"a column that is not there": {"env,ms\na,1\n", Columns{Environment: "env", Values: []string{"sec"}}, `t.csv:1: there is no column "sec" for --value: it has "env, ms"`},
		"two separators":             {"a,b;c\n1,2;3\n", Columns{}, "say which with --separator"},
		"a bad separator":            {"a,b\n", Columns{Separator: "ab"}, `the separator "ab" is not one character`},
		"a decimal comma":            {"environment;value\na;1,5\n", Columns{}, `t.csv:2:3: "1,5" is not a number: if its comma is a decimal one, add --decimal-comma`},
		"a point beside it":          {"environment;value\na;1.500,5\n", Columns{DecimalComma: true}, "has a point"},
		"a unit":                     {"environment,value\na,12ms\n", Columns{}, `t.csv:2:3: "12ms" is not a number: the column has one finite number per row, without its unit`},
		"other JSON":                 {`{"a": 1}`, Columns{}, "none of hyperfine, Google Benchmark, Criterion"},
		"JSON that is cut off":       {`{"results": [`, Columns{}, "unexpected end of JSON input"},
		"other XML":                  {"<a></a>", Columns{}, "it is XML with <a>"},
		"a run that failed":          {`{"results":[{"command":"x","times":[1,2],"exit_codes":[0,1]}]}`, Columns{}, `run 2 of "x" failed`},
		"a run that was killed":      {`{"results":[{"command":"x","times":[1],"exit_codes":[null]}]}`, Columns{}, `run 1 of "x" failed`},
		"a command twice":            {`{"results":[{"command":"x","times":[1]},{"command":"x","times":[1]}]}`, Columns{}, "--command-name"},
		"results of something else":  {`{"results":[{"a":1}]}`, Columns{}, "it is no file of hyperfine's --export-json"},
		"only aggregates":            {`{"context":{},"benchmarks":[{"run_name":"a","run_type":"aggregate","time_unit":"ns","real_time":1}]}`, Columns{}, "only aggregates"},
		"a counter":                  {`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"requests_total","a":"b"},"values":[[1,"1"]]}]}}`, Columns{Environment: "a"}, "rate(requests_total[1m])"},
		"a query that failed":        {`{"status":"error","error":"timed out","data":{}}`, Columns{}, "the query failed: error timed out"},
		"no label is named":          {`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[1,"1"]]}]}}`, Columns{}, "Say it with --environment COLUMN"},
		"two series as one":          {`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b","pod":"1"},"values":[[1,"1"]]},{"metric":{"a":"b","pod":"2"},"values":[[1,"1"]]}]}}`, Columns{Environment: "a"}, "name the column that tells them apart"},
		"Criterion without a name":   {`{"sampling_mode":"Flat","iters":[1],"times":[2]}`, Columns{}, "benchmark.json beside it"},
		"samples of another length":  {`{"reason":"benchmark-complete","id":"a","iteration_count":[1],"measured_values":[2,3],"unit":"ns"}`, Columns{Environment: "file"}, "1 counts of iterations and 2 times"},
	} {
		r, err := readText(c.text, c.columns)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "t.csv") && what != "a bad separator" {
			t.Errorf("%s: %v, %+v\nwant %s", what, err, r, c.want)
		}
	}
}

// Block 1 of one file is not block 1 of another, unless each file is an environment.
func TestBlocksAreThoseOfTheirFile(t *testing.T) {
	one := []byte("block,environment,value\n1,a,1\n1,b,2\n")
	r, err := Read([]File{{"x.csv", one}, {"y.csv", one}}, Columns{})
	if err != nil || r.All[0].Block == r.All[2].Block || r.All[2].Block != r.All[3].Block {
		t.Errorf("%v, %+v", err, r)
	}
	r, err = Read([]File{{"x.csv", []byte("block,value\n1,1\n")}, {"y.csv", []byte("block,value\n1,2\n")}}, Columns{})
	if err != nil || r.All[0].Block != "1" || r.All[1].Block != "1" || r.All[1].Environment != "y" {
		t.Errorf("%v, %+v", err, r)
	}
	if _, err := Read([]File{{"x.csv", one}, {"x.csv", one}}, Columns{}); err == nil || !strings.Contains(err.Error(), "named twice") {
		t.Error(err)
	}
}

// The form is that of Prometheus 2.40 and later.
func TestNativeHistogramsOfPrometheusAreRefused(t *testing.T) {
	answer := `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"seconds"},"histograms":[[1700000000,{"count":"2","sum":"3","buckets":[[0,"1","2","2"]]}]]}]}}`
	_, err := Read([]File{{"answer.json", []byte(answer)}}, Columns{})
	if err == nil || !strings.Contains(err.Error(), "histogram_quantile(0.99, rate(seconds[1m]))") {
		t.Errorf("%v", err)
	}
}

func FuzzFormats(f *testing.F) {
	for _, name := range []string{"hyperfine.json", "google.json", "go.txt", "go-json.txt", "phoronix.xml", "prometheus.json", "criterion/docker/raw.csv"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzing.Allocates(t, 64<<20+uint64(len(data))*10_000, func() {
			r, err := Read([]File{{"fuzz", data}}, Columns{})
			if err != nil && !strings.HasPrefix(err.Error(), "fuzz") {
				t.Errorf("the error names no file: %v", err)
			}
			if err == nil && len(r.All) == 0 {
				t.Error("no value and no error")
			}
		})
	})
}
