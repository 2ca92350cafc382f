package trend_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"tare/internal/report/model"
	"tare/internal/report/trend"
	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
)

// What benchstat's own reader reads are the trials that worked, a line each.
func TestBenchstatReadsEveryTrial(t *testing.T) {
	in := reporttest.Quick()
	files, err := trend.Benchstat(model.New(in))
	if err != nil {
		t.Fatal(err)
	}
	trials := map[string]float64{}
	for i := range in.Trials {
		if r := &in.Trials[i]; r.Status == rundir.OK && r.Workload == "redis" && r.Environment == "docker" {
			trials[r.Level] += r.Metrics["get_rps"]
		}
	}
	reader, units := benchfmt.NewReader(bytes.NewReader(files[0].Data), files[0].Name), 0
	for reader.Scan() {
		switch r := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Fatal(r)
		case *benchfmt.UnitMetadata:
			units++
		case *benchfmt.Result:
			name := r.Name.String()
			if x, has := r.Value("get_rps"); has && strings.HasSuffix(name, "/env=docker") {
				for level := range trials {
					if level == "" || strings.Contains(name, "/"+level+"/") {
						trials[level] -= x
					}
				}
			}
		}
	}
	if units == 0 || len(trials) == 0 {
		t.Fatalf("%d units, %d levels", units, len(trials))
	}
	for level, left := range trials {
		if left > 1e-3 || left < -1e-3 {
			t.Errorf("redis %s: the values that are read are not those of the trials: %v is left", level, left)
		}
	}
}

// The fields are those that each program publishes, and a ratio is beside the values.
func TestCIProgramsGetValuesAndRatios(t *testing.T) {
	v := model.New(reporttest.Quick())
	files, err := trend.GitHub(v)
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	all := 0
	for _, f := range files {
		var entries []struct {
			Name, Unit, Range, Extra string
			Value                    *float64
		}
		d := json.NewDecoder(bytes.NewReader(f.Data))
		d.DisallowUnknownFields()
		if err := d.Decode(&entries); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		for _, e := range entries {
			if e.Name == "" || e.Unit == "" || e.Value == nil {
				t.Errorf("%s: %+v", f.Name, e)
			}
			if strings.Contains(e.Name, "(docker/native)") && e.Unit == "ratio" {
				all++
			}
			if higher := strings.Contains(f.Name, "bigger"); strings.Contains(e.Name, "rps") && !higher {
				t.Errorf("%s has %s", f.Name, e.Name)
			}
		}
	}
	if all == 0 {
		t.Error("there is no ratio of docker to native")
	}
	if files, err = trend.Bencher(v); err != nil {
		t.Fatal(err)
	}
	var metrics map[string]map[string]struct {
		Value *float64
		Lower *float64 `json:"lower_value"`
		Upper *float64 `json:"upper_value"`
	}
	d := json.NewDecoder(bytes.NewReader(files[0].Data))
	d.DisallowUnknownFields()
	if err := d.Decode(&metrics); err != nil || len(metrics) == 0 {
		t.Fatal(err)
	}
	for name, measures := range metrics {
		for measure, m := range measures {
			if m.Value == nil || m.Lower != nil && (*m.Lower > *m.Value || *m.Upper < *m.Value) {
				t.Errorf("%s %s: %+v", name, measure, m)
			}
		}
	}
}
