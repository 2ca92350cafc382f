package tables

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
)

// runs are runs that together have every table, with what their tables hold.
func runs() map[string][]Table {
	alternating := reporttest.Quick()
	for i := range alternating.Trials {
		t := &alternating.Trials[i]
		for n := range 3 {
			r := rundir.Round{Number: n + 1, Position: 1, Metrics: t.Metrics, HostSeconds: .1, StealSeconds: new(.001)}
			if n == 1 {
				r.Metrics, r.Missing = nil, map[string]string{"get": "the driver broke", "events": "it printed none"}
			}
			t.Rounds = append(t.Rounds, r)
		}
	}
	of := func(in model.Input) []Table { return Of(model.New(in)) }
	return map[string][]Table{"quick": of(reporttest.Quick()), "nodes": of(reporttest.OnNodes("a", "b", "c+d")), "ladder": of(reporttest.Ladder()), "alternating": of(alternating)}
}

func inputs() map[string]model.Input {
	return map[string]model.Input{"quick": reporttest.Quick(), "nodes": reporttest.OnNodes("a", "b", "c+d"), "ladder": reporttest.Ladder()}
}

func TestEveryTableHasRowsInSomeRunAndCellsOfItsTypes(t *testing.T) {
	seen, filled := map[string]bool{}, map[string]bool{}
	for name, tables := range runs() {
		for _, table := range tables {
			for _, row := range table.Rows {
				seen[table.Name] = true
				if len(row) != len(table.Columns) {
					t.Fatalf("%s, %s: %d cells for %d columns", name, table.Name, len(row), len(table.Columns))
				}
				for i, cell := range row {
					c := table.Columns[i]
					if cell != nil {
						filled[table.Name+"."+c.Name] = true
					}
					types := map[Type]any{Text: "", Number: 0., Integer: int64(0), Boolean: false, Time: time.Time{}}
					if have := fmt.Sprintf("%T", cell); cell != nil && have != fmt.Sprintf("%T", types[c.Type]) {
						t.Errorf("%s, %s, %s: %s is no %s", name, table.Name, c.Name, have, c.Type)
					}
					if text, is := cell.(string); is && c.Values != nil && !slices.Contains(c.Values, text) {
						t.Errorf("%s, %s, %s: %q is none of %q", name, table.Name, c.Name, text, c.Values)
					}
				}
			}
			if i := slices.IndexFunc(table.Columns, func(c Column) bool { return c.Name == "reason" }); i >= 0 {
				value := slices.IndexFunc(table.Columns, func(c Column) bool { return slices.Contains([]string{"value", "verdict"}, c.Name) })
				for _, row := range table.Rows {
					if row[value] == nil && row[i] == nil {
						t.Errorf("%s, %s: no value and no reason: %v", name, table.Name, row)
						break
					}
				}
			}
		}
	}
	if len(seen) != 5 {
		t.Errorf("only these tables have rows: %v", seen)
	}
	for _, table := range runs()["quick"] {
		for _, c := range table.Columns {
			if !filled[table.Name+"."+c.Name] && seen[table.Name] {
				t.Logf("%s, %s: without a value in all runs", table.Name, c.Name)
			}
		}
	}
}

func TestAnObservationIsOfOneMetricOfOneTrial(t *testing.T) {
	in := reporttest.OnNodes("a", "b", "c+d")
	table := Of(model.New(in))[0]
	at := func(row []any, name string) any {
		return row[slices.IndexFunc(table.Columns, func(c Column) bool { return c.Name == name })]
	}
	values, seen := 0, map[string]bool{}
	for _, row := range table.Rows {
		key := fmt.Sprint(at(row, "workload"), at(row, "level"), at(row, "environment"), at(row, "metric"), at(row, "block"))
		if seen[key] {
			t.Fatalf("%s has two rows", key)
		}
		seen[key] = true
		if lane := at(row, "lane"); at(row, "node") != []any{"a", "b", "c+d"}[lane.(int64)-1] {
			t.Fatalf("%v in lane %v", at(row, "node"), lane)
		}
		if at(row, "value") != nil {
			values++
		}
	}
	want := 0
	for _, trial := range in.Trials {
		if trial.Status != rundir.OK {
			continue
		}
		for _, m := range newBase(model.New(in)).at(trial.Cell().Place()) {
			if _, has := trial.Metrics[m.Name]; has {
				want++
			}
		}
	}
	if values != want {
		t.Errorf("%d values of %d", values, want)
	}
}

func TestAContrastIsWhatTheVerdictSays(t *testing.T) {
	v := model.New(reporttest.Quick())
	table := Of(v)[2]
	row := func(workload, level, metric, environment string) map[string]any {
		for _, cells := range table.Rows {
			cell := map[string]any{}
			for i, c := range table.Columns {
				cell[c.Name] = cells[i]
			}
			if cell["workload"] == workload && (cell["level"] == level || cell["level"] == nil && level == "") && cell["metric"] == metric && cell["environment"] == environment {
				return cell
			}
		}
		t.Fatalf("no row for %s %s %s %s", workload, level, metric, environment)
		return nil
	}
	for _, c := range v.Contrasts {
		if !c.Primary || c.N == 0 {
			continue
		}
		r := row(c.Workload, c.Level, c.Metric, c.Environment)
		if c.Bounded() && (r["ratio"] != c.Ratio().Estimate || r["ratio_low"] != c.Ratio().Low || r["ratio_high"] != c.Ratio().High) || r["blocks"] != int64(c.N) || c.Verdict != verdict.None && r["verdict"] != string(c.Verdict) {
			t.Errorf("%+v\n%v", c, r)
		}
	}
	if r := row("redis", "clients=10", "get", "podman"); r["ratio"] != nil || r["reason"] != "skipped: the environment is not usable here" || r["level_value"] != 10. || r["level_parameter"] != "clients" {
		t.Errorf("of an environment that was skipped: %v", r)
	}
}

func TestCSVReadsBackAsTheTables(t *testing.T) {
	for name, in := range inputs() {
		v := model.New(in)
		files, err := CSV(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range Of(v) {
			i := slices.IndexFunc(files, func(f model.File) bool { return f.Name == table.Name+".csv" })
			if i < 0 {
				if len(table.Rows) > 0 {
					t.Errorf("%s: no file of %s", name, table.Name)
				}
				continue
			}
			rows, err := csv.NewReader(bytes.NewReader(files[i].Data)).ReadAll()
			if err != nil || len(rows) != len(table.Rows)+1 {
				t.Fatalf("%s, %s: %d rows of %d, %v", name, table.Name, len(rows), len(table.Rows), err)
			}
			for j, c := range table.Columns {
				if rows[0][j] != c.Name {
					t.Errorf("column %d is %s, not %s", j, rows[0][j], c.Name)
				}
				for k, row := range table.Rows {
					if have := read(rows[k+1][j], c.Type); have != row[j] {
						t.Fatalf("%s, %s, %s: %v, and the table has %v", name, table.Name, c.Name, have, row[j])
					}
				}
			}
		}
	}
}

func read(cell string, as Type) any {
	if cell == Missing {
		return nil
	}
	switch as {
	case Number:
		x, _ := strconv.ParseFloat(cell, 64)
		return x
	case Integer:
		n, _ := strconv.ParseInt(cell, 10, 64)
		return n
	case Boolean:
		return cell == "TRUE"
	case Time:
		at, _ := time.Parse(time.RFC3339, cell)
		return at
	}
	return cell
}

func TestNoNameIsAFormulaOrAMissingValueInCSV(t *testing.T) {
	for given, want := range map[string]string{
		"nginx": "nginx", "=HYPERLINK(\"x\")": "'=HYPERLINK(\"x\")", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "NA": "'NA", "'x": "''x",
		"a\nb": `a\u000ab`, "\t=1": `\u0009=1`, "＝1": "'＝1", "a,\"b\"": "a,\"b\"", "é\u202e": "é\\u202e",
	} {
		if have := cellOf(given); have != want {
			t.Errorf("%q is %q, not %q", given, have, want)
		}
	}
	if have := cellOf(-1.5); have != "-1.5" {
		t.Errorf("a negative number is %q", have)
	}
}

// A median is that of all values, as in the report, also where some have no ratio.
func TestTheMediansAreThoseOfTheReport(t *testing.T) {
	in := reporttest.Quick()
	for i, trial := range in.Trials {
		if trial.Workload == "nginx" && trial.Environment == "docker" && trial.Block <= 8 {
			in.Trials[i].Metrics = maps.Clone(trial.Metrics)
			in.Trials[i].Metrics["requests"] = 0
		}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	v := model.New(in)
	rows := map[string][]any{}
	table := Of(v)[slices.IndexFunc(Of(v), func(t Table) bool { return t.Name == "contrasts" })]
	at := func(row []any, name string) any {
		return row[slices.IndexFunc(table.Columns, func(c Column) bool { return c.Name == name })]
	}
	for _, row := range table.Rows {
		level, _ := at(row, "level").(string)
		rows[fmt.Sprint(at(row, "workload"), level, at(row, "metric"), at(row, "environment"))] = row
	}
	for _, w := range v.Workloads {
		for _, l := range w.Levels {
			for _, m := range l.Metrics {
				for _, c := range m.Cells {
					row := rows[fmt.Sprint(w.Name, l.Name, m.Name, c.Environment.Name)]
					for name, want := range map[string]float64{"environment_median": c.Median, "baseline_median": m.Reference} {
						if got := at(row, name); got == nil != math.IsNaN(want) || got != nil && got != want {
							t.Errorf("%s %s %s in %s: %s is %v, and in the report %v", w.Name, l.Name, m.Name, c.Environment.Name, name, got, want)
						}
					}
				}
			}
		}
	}
}
