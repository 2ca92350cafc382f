package parse

import (
	"math"
	"slices"
	"strings"
	"testing"
)

const document = `{"rps": 7.5, "jobs": [{"name": "read", "iops": 5, "p(99.9)": 3}, {"name": "write", "iops": 6}], "a.b": 1, "none": null, "text": "12 ms", "0": 9}`

func TestAJSONPathLeadsToOneNumber(t *testing.T) {
	for _, c := range []struct {
		path    string
		want    float64
		problem string // of the output, or why there is no value
	}{
		{"rps", 7.5, ""},
		{"jobs.0.iops", 5, ""},
		{"0", 9, ""},
		{"$.jobs[-1].iops", 6, ""},
		{"$.jobs[?@.name == 'write'].iops", 6, ""},
		{"$['a.b']", 1, ""},
		{`$.jobs[0]["p(99.9)"]`, 3, ""},
		{"jobs.0.gone", 0, `the JSON has no jobs.0.gone: $.jobs[0] is an object with iops, name, p(99.9)`},
		{"jobs.7.iops", 0, "the JSON has no jobs.7.iops: $.jobs is a list of 2 entries"},
		{"jobs.read.iops", 0, "$.jobs is a list of 2 entries"},
		{"gone.iops", 0, "$ is an object with 0, a.b, jobs, none, rps, text"},
		{"$.rps.mean", 0, "$.rps is 7.5"},
		{"$.jobs[?@.name == 'trim'].iops", 0, "$.jobs is a list of 2 entries"},
		{"none", 0, "$ is an object with"},
		{"text", 0, `text is not a number but "12 ms"`},
		{"jobs.0", 0, "jobs.0 is not a number but an object with iops, name, p(99.9)"},
		{"jobs", 0, "jobs is not a number but a list of 2 entries"},
		{"$.jobs[*].iops", 0, "$.jobs[*].iops is 2 values, first 5 and then 6; make it say which one is meant"},
		{"$.jobs[", 0, `"$.jobs[" is not a JSONPath such as`},
	} {
		fields, missing, err := JSON([]string{c.path}, []byte(document))
		v, there := fields[c.path]
		got := missing[c.path]
		if err != nil {
			got = err.Error()
		}
		if there != (c.problem == "") || v != c.want || !strings.Contains(got, c.problem) || (got == "") != there {
			t.Errorf("%s is %v, %q; want %v, %q", c.path, v, got, c.want, c.problem)
		}
	}
	for _, broken := range []string{"", "ready\n" + document, document + document, document[:20]} {
		if fields, _, err := JSON([]string{"rps"}, []byte(broken)); err == nil {
			t.Errorf("%q gave %v", broken, fields)
		}
	}
	if _, missing, err := JSON([]string{"rps"}, []byte("null")); err != nil || missing["rps"] != "the JSON is null" {
		t.Errorf("null gave %v, %v", missing, err)
	}
}

func TestACellOfATableIsOneNumber(t *testing.T) {
	const one, two = "test,rps,p50\nGET,5,6\n", "test,rps,p50\nSET,5,x\nGET,6,7\n"
	for _, c := range []struct {
		table, name string
		want        float64
		problem     string
	}{
		{one, "rps", 5, ""},
		{one, "GET.p50", 6, ""},
		{two, "GET.rps", 6, ""},
		{"a.b,c\nx.y,2\n", "x.y.c", 2, ""},
		{one, "qps", 0, "the table has no column qps, but test, rps, p50"},
		{two, "rps", 0, "the table has no rps: with 2 rows a value is ROW.COLUMN; the rows begin with SET, GET, and the columns are test, rps, p50"},
		{two, "SET.p50", 0, `"x" in the line "SET.p50" is not a number`},
		{"test,rps\nGET,5\nGET,6\n", "GET.rps", 0, `"GET.rps" occurs 2 times in the table, as "5" and as "6"`},
		{"rps\n51", "rps", 0, "cut off"},
		{"rps\n", "rps", 0, "at least one row"},
		{"a,b\n1\n", "a", 0, "wrong number of fields"},
	} {
		fields, missing, err := CSV([]string{c.name}, []byte(c.table))
		v, there := fields[c.name]
		got := missing[c.name]
		if err != nil {
			got = err.Error()
		}
		if there != (c.problem == "") || v != c.want || !strings.Contains(got, c.problem) || (got == "") != there {
			t.Errorf("%s of %q is %v, %q; want %v, %q", c.name, c.table, v, got, c.want, c.problem)
		}
	}
}

func TestAColumnIsADistribution(t *testing.T) {
	h, err := CSVHistogram("ms", []byte("at,ms\n1,3\n1,1\n2,2\n"))
	if p50, ok := h.Percentile(50); err != nil || !ok || p50 != 2 {
		t.Errorf("%v, %v", h, err)
	}
	if h, err := CSVHistogram("us", []byte("at,ms\n1,3\n")); h != nil || err != nil {
		t.Errorf("a column that is not there is %v, %v", h, err)
	}
	if _, err := CSVHistogram("ms", []byte("at,ms\n1,late\n")); err == nil || !strings.Contains(err.Error(), `column ms: "late" in the line "1,late"`) {
		t.Errorf("a cell that is no number gave %v", err)
	}
}

// No path and no output make a panic, or a value that is not finite, and what has
// no value has a reason.
func FuzzJSON(f *testing.F) {
	for _, path := range []string{"jobs.0.iops", "$.jobs[?@.name == 'read'].iops", "$..iops", "$.jobs[-1:].iops", "$[?length(@) > 1]"} {
		f.Add(path, []byte(document))
	}
	f.Fuzz(func(t *testing.T, path string, data []byte) {
		fields, missing, err := JSON([]string{path}, data)
		if v, there := fields[path]; err == nil && there == (missing[path] != "") || math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%v, %v", fields, missing)
		}
		_, _ = JSONHistogram(path, data)
	})
}

func FuzzCSV(f *testing.F) {
	f.Add("GET.rps", []byte("test,rps\nSET,5\nGET,6\n"))
	f.Add("rps", []byte("rps\n5\n"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		fields, missing, err := CSV([]string{name}, data)
		if v, there := fields[name]; err == nil && there == (missing[name] != "") || math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%v, %v", fields, missing)
		}
		h, err := CSVHistogram(name, data)
		if err == nil && slices.ContainsFunc(h, func(b Bin) bool { return math.IsNaN(b.High) }) {
			t.Errorf("%v", h)
		}
	})
}
