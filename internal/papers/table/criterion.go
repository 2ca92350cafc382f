package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/bounded"
	"tare/internal/base/strictyaml"
)

func criterionTable(name string) *table {
	return &table{name: name, made: true, columns: []string{"benchmark", "baseline", "sample", "seconds", unit, better}, values: []string{"seconds"},
		roles: map[string]string{environment: "baseline", work: "benchmark", better: better, unit: unit}}
}

// addSamples adds the time of an iteration in each sample.
func (t *table) addSamples(benchmark, baseline string, iterations, times []float64, per float64) error {
	if len(iterations) != len(times) || len(times) == 0 {
		return fmt.Errorf("%s: %q has %d counts of iterations and %d times: it is not whole", t.name, benchmark, len(iterations), len(times))
	}
	for i, total := range times {
		if !(iterations[i] > 0) {
			return fmt.Errorf("%s: sample %d of %q has no iteration", t.name, i+1, benchmark)
		}
		t.addRow(benchmark, baseline, strconv.Itoa(i+1), shown(total/iterations[i]/per), "s", "lower")
	}
	return nil
}

// criterionSample reads a sample.json of target/criterion/BENCHMARK/BASELINE. The benchmark's
// name is in the file beside it.
func criterionSample(name string, data []byte) (*table, error) {
	var sample struct {
		Iters []float64 `json:"iters"`
		Times []float64 `json:"times"`
	}
	if err := decode(name, data, &sample); err != nil {
		return nil, err
	}
	var about struct {
		ID string `json:"full_id"`
	}
	full, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	beside := filepath.Join(filepath.Dir(full), "benchmark.json")
	text, err := bounded.ReadFile(beside, strictyaml.MaxSize)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: the benchmark's name is in benchmark.json beside it, as Criterion writes it, and there is none", name)
	} else if err == nil {
		err = decode(beside, text, &about)
	}
	if err != nil {
		return nil, err
	}
	t := criterionTable(name)
	return t, t.addSamples(about.ID, filepath.Base(filepath.Dir(full)), sample.Iters, sample.Times, 1e9)
}

// criterionMessages reads cargo criterion --message-format=json.
func criterionMessages(name string, data []byte) (*table, error) {
	t := criterionTable(name)
	t.roles[environment] = byFile
	t.columns = slices.Replace(t.columns, 1, 2, "message")
	for messages, n := json.NewDecoder(bytes.NewReader(data)), 1; ; n++ {
		var m struct {
			Reason string    `json:"reason"`
			ID     string    `json:"id"`
			Iters  []float64 `json:"iteration_count"`
			Times  []float64 `json:"measured_values"`
			Unit   string    `json:"unit"`
		}
		if err := messages.Decode(&m); errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: message %d: %w", name, n, err)
		}
		if m.Reason != "benchmark-complete" {
			continue
		}
		per, known := seconds[m.Unit]
		if !known {
			return nil, fmt.Errorf("%s: message %d, %q, has the unit %q: times in ns, us, ms and s are known", name, n, m.ID, m.Unit)
		}
		if err := t.addSamples(m.ID, strconv.Itoa(n), m.Iters, m.Times, per); err != nil {
			return nil, err
		}
	}
}

// criterionColumns are those of raw.csv, in which "value" is a parameter of the benchmark.
var criterionColumns = []string{"group", "function", "value", "throughput_num", "throughput_type", "sample_measured_value", "unit", "iteration_count"}

// criterionCSV reads a raw.csv.
func criterionCSV(from *table) (*table, error) {
	t := criterionTable(from.name)
	full, err := filepath.Abs(from.name)
	if err != nil {
		return nil, err
	}
	for _, r := range from.rows {
		total, wrong := number(r.cells[5], false)
		iterations, alsoWrong := number(r.cells[7], false)
		per, known := seconds[r.cells[6]]
		if err := errors.Join(wrong, alsoWrong); err != nil || !known {
			return nil, fmt.Errorf("%s:%d: the row of Criterion is not times in ns, us, ms or s, and iterations: %q", from.name, r.line, strings.Join(r.cells, ","))
		}
		benchmark := strings.Join(slices.DeleteFunc(slices.Clone(r.cells[:3]), func(s string) bool { return s == "" }), "/")
		if err := t.addSamples(benchmark, filepath.Base(filepath.Dir(full)), []float64{iterations}, []float64{total}, per); err != nil {
			return nil, err
		}
	}
	return t, nil
}
