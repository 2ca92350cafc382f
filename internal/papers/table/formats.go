package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Formats are the files of tools that are known by their content, as documentation and
// messages name them.
var Formats = []string{"hyperfine", "go-bench", "google-benchmark", "criterion", "phoronix", "prometheus"}

// tableOf finds the format of a file by what it begins with, and reads it.
func tableOf(name string, data []byte, c Columns) (*table, error) {
	start := bytes.TrimSpace(data)
	read := func(name string, data []byte) (*table, error) { return text(name, data, c) }
	switch {
	case bytes.HasPrefix(start, []byte("{")):
		if read = jsonFormat(start); read == nil {
			return nil, fmt.Errorf("%s: it is JSON, and none of hyperfine, Google Benchmark, Criterion or a range query of Prometheus: import it with a pack (`tare import --tool ./pack.yaml`), which says where the values are", name)
		}
	case bytes.HasPrefix(start, []byte("<")):
		read = phoronix
	case goBenchLine.Match(data):
		read = goBench
	}
	t, err := read(name, data)
	if err == nil && t.made && len(t.rows) == 0 {
		return nil, fmt.Errorf("%s has no result", name)
	}
	return t, err
}

// jsonFormat is the reader of a document, by its keys.
func jsonFormat(document []byte) func(string, []byte) (*table, error) {
	var keys map[string]json.RawMessage
	if json.NewDecoder(bytes.NewReader(document)).Decode(&keys) != nil {
		return func(name string, data []byte) (*table, error) { return nil, decode(name, data, &keys) }
	}
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return keys[name] == nil })
	}
	switch {
	case has("context", "benchmarks"):
		return googleBenchmark
	case has("results"):
		return hyperfine
	case has("status", "data"):
		return prometheus
	case has("sampling_mode", "iters", "times"):
		return criterionSample
	case has("reason"):
		return criterionMessages
	case has("Action"):
		return goTestJSON
	}
	return nil
}

// decode reads a document of a tool.
func decode(name string, data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// shown writes a number so that it is read as the same one.
func shown(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// addRow adds a row of a tool's format.
func (t *table) addRow(cells ...string) { t.rows = append(t.rows, row{cells: cells}) }

// hyperfine reads the file of --export-json: each run of each command.
func hyperfine(name string, data []byte) (*table, error) {
	var report struct {
		Results []struct {
			Command    string         `json:"command"`
			Times      []float64      `json:"times"`
			ExitCodes  []*int         `json:"exit_codes"`
			Parameters map[string]any `json:"parameters"`
		} `json:"results"`
	}
	if err := decode(name, data, &report); err != nil {
		return nil, err
	}
	t := &table{name: name, made: true, columns: []string{"command", "run", "seconds", better, unit}, values: []string{"seconds"},
		roles: map[string]string{environment: "command", better: better, unit: unit}}
	parameters := map[string]bool{}
	for _, r := range report.Results {
		for p := range r.Parameters {
			parameters[p] = true
		}
	}
	names := slices.Sorted(maps.Keys(parameters))
	for _, p := range names {
		t.columns = append(t.columns, "parameter_"+p)
	}
	seen := map[string]bool{}
	for i, r := range report.Results {
		key := fmt.Sprint(r.Command, r.Parameters)
		switch {
		case len(r.Times) == 0:
			return nil, fmt.Errorf("%s: result %d, %q, has no times: it is no file of hyperfine's --export-json", name, i+1, r.Command)
		case seen[key]:
			return nil, fmt.Errorf("%s: result %d, %q, is there twice: give each command a name with hyperfine --command-name", name, i+1, r.Command)
		}
		seen[key] = true
		for n, seconds := range r.Times {
			if n < len(r.ExitCodes) && (r.ExitCodes[n] == nil || *r.ExitCodes[n] != 0) {
				return nil, fmt.Errorf("%s: run %d of %q failed (--ignore-failure kept it): its time is none of finished work; if the command ended as it should, let it end with 0", name, n+1, r.Command)
			}
			cells := []string{r.Command, strconv.Itoa(n + 1), shown(seconds), "lower", "s"}
			for _, p := range names {
				cells = append(cells, parameterText(r.Parameters[p]))
			}
			t.addRow(cells...)
		}
	}
	return t, nil
}

func parameterText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return shown(v)
	}
	return fmt.Sprint(v)
}

// seconds are the units of time of Google Benchmark and Criterion.
var seconds = map[string]float64{"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1}

// googleBookkeeping are numbers of Google Benchmark that are no measurements.
var googleBookkeeping = []string{"family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations"}

// googleBenchmark reads --benchmark_format=json: each repetition of each benchmark, without
// the aggregates that were made of them.
func googleBenchmark(name string, data []byte) (*table, error) {
	var report struct {
		Context struct {
			Build string `json:"library_build_type"`
		} `json:"context"`
		Benchmarks []map[string]any `json:"benchmarks"`
	}
	if err := decode(name, data, &report); err != nil {
		return nil, err
	}
	t := &table{name: name, made: true, columns: []string{"benchmark", "repetition", metric, value, unit, better},
		roles: map[string]string{environment: byFile, work: "benchmark", metric: metric, better: better, unit: unit}}
	if report.Context.Build == "debug" {
		t.remarks = append(t.remarks, name+": Google Benchmark was built for debugging, which its own times suffer from")
	}
	aggregates := 0
	for _, b := range report.Benchmarks {
		word := func(key string) string { s, _ := b[key].(string); return s }
		run := word("run_name")
		if run == "" {
			run = word("name")
		}
		if b["error_occurred"] == true || b["skipped"] != nil && b["skipped"] != false && b["skipped"] != "" {
			t.remarks = append(t.remarks, fmt.Sprintf("%s: %s has no result: %s", name, run, word("error_message")))
			continue
		}
		if word("run_type") == "aggregate" {
			aggregates++
			continue
		}
		per, known := seconds[word("time_unit")]
		if !known {
			return nil, fmt.Errorf("%s: benchmark %q has the time_unit %q: ns, us, ms and s are known", name, run, word("time_unit"))
		}
		repetition := "1"
		if n, is := b["repetition_index"].(float64); is {
			repetition = shown(n + 1)
		}
		for _, key := range slices.Sorted(maps.Keys(b)) {
			v, is := b[key].(float64)
			if !is || slices.Contains(googleBookkeeping, key) {
				continue
			}
			switch {
			case key == "real_time" || key == "cpu_time":
				t.addRow(run, repetition, key, shown(v/per), "s", "lower")
			case strings.HasSuffix(key, "_per_second"):
				t.addRow(run, repetition, key, shown(v), "1/s", "higher")
			default:
				t.addRow(run, repetition, key, shown(v), "1", "")
			}
		}
	}
	if len(t.rows) == 0 && aggregates > 0 {
		return nil, fmt.Errorf("%s has only aggregates, and none of the repetitions that they are of: leave --benchmark_report_aggregates_only and --benchmark_display_aggregates_only out", name)
	}
	return t, nil
}
