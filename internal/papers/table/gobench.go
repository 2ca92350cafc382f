package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"

	"golang.org/x/perf/benchfmt"

	"tare/internal/base/lists"
)

// goBenchLine is a result of Go's benchmarks: a name, iterations, and a value with its unit.
var goBenchLine = regexp.MustCompile(`(?m)^Benchmark\S+[ \t]+\d+[ \t]+[0-9.e+]+ \S+`)

// goFailed is a benchmark that failed.
var goFailed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// goBench reads what go test -bench prints, also of several times one after another, as
// benchstat does.
func goBench(name string, data []byte) (*table, error) {
	t := &table{name: name, made: true, columns: []string{"package", "benchmark", "iterations", metric, value, unit, better},
		roles: map[string]string{environment: byFile, work: "benchmark", metric: metric, better: better, unit: unit}}
	reader := benchfmt.NewReader(bytes.NewReader(data), name)
	var packages []string
	type result struct{ pkg, name string }
	places := map[result]int{}
	var configured []string // keys of lines such as "note: hypervisor"
	for reader.Scan() {
		switch r := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, fmt.Errorf("%s:%d: %s", name, r.Line, r.Msg)
		case *benchfmt.Result:
			pkg := r.GetConfig("pkg")
			packages = lists.Add(packages, pkg)
			for _, key := range r.Config {
				if !slices.Contains(t.columns, key.Key) && key.Key != "pkg" {
					t.columns, configured = append(t.columns, key.Key), append(configured, key.Key)
				}
			}
			places[result{pkg, r.Name.String()}]++
			for _, v := range r.Values {
				cells := []string{pkg, r.Name.String(), strconv.Itoa(r.Iters), v.Unit, shown(v.Value), v.Unit, ""}
				for _, key := range configured {
					cells = append(cells, r.GetConfig(key))
				}
				_, line := r.Pos()
				t.rows = append(t.rows, row{cells: cells, line: line})
			}
		}
	}
	if err := reader.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i := range t.rows {
		r := &t.rows[i]
		for len(r.cells) < len(t.columns) {
			r.cells = append(r.cells, "")
		}
		switch reader.Units().GetBetter(r.cells[5]) {
		case -1:
			r.cells[6] = "lower"
		case 1:
			r.cells[6] = "higher"
		}
	}
	if len(packages) > 1 { // the same name in two of them is two benchmarks
		for i := range t.rows {
			t.rows[i].cells[1] = t.rows[i].cells[0] + "." + t.rows[i].cells[1]
		}
	}
	for _, failed := range goFailed.FindAllSubmatch(data, -1) {
		t.remarks = append(t.remarks, fmt.Sprintf("%s: %s failed and has no result", name, failed[1]))
	}
	return t, nil
}

// goTestJSON reads go test -json -bench, whose events have the same text in pieces.
func goTestJSON(name string, data []byte) (*table, error) {
	var output []byte
	for events := json.NewDecoder(bytes.NewReader(data)); ; {
		var event struct{ Action, Output string }
		if err := events.Decode(&event); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if event.Action == "output" {
			output = append(output, event.Output...)
		}
	}
	t, err := goBench(name, output)
	if err != nil {
		return nil, err
	}
	for i := range t.rows { // the lines are not those of the file
		t.rows[i].line = 0
	}
	return t, nil
}
