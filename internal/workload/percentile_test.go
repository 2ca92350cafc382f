package workload

import (
	"regexp"
	"strings"
	"testing"
)

const tails = `workload: tails
title: Latencies
stresses: cpu
image: {packages: [gawk]}
driver: {run: drive, role: driver}
parser: {regex: ['(?m)^rate (?P<rate>\S+)$', '(?m)^p99 (?P<p99>\S+)$', '(?m)^max (?P<max>\S+)$']}
metrics:
  - {name: rate, unit: op/s, better: higher, primary: true}
  - {name: p50, unit: us, better: lower, percentile: 50, of: '(?m)^took (?P<value>\S+)(?: times (?P<count>\d+))?$'}
  - {name: p99, unit: us, better: lower, percentile: 99}
  - {name: max, unit: us, better: lower, percentile: 100}
`

func TestAPercentileOfSeveralOutputsIsThatOfAllTheirValues(t *testing.T) {
	p, err := Decode("tails.yaml", []byte(tails))
	if err != nil {
		t.Fatal(err)
	}
	var outputs []Output
	for _, text := range []string{"rate 1\nmax 9\np99 8\ntook 1 times 2\ntook 9\n", "rate 1\nmax 5\np99 5\ntook 5 times 7\n"} {
		o, err := p.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, o)
	}
	if m := outputs[0].Metrics; m["p50"] != 1 || m["p99"] != 8 || m["max"] != 9 {
		t.Errorf("one output has %v", m)
	}
	for i, want := range []float64{5, 0, 9} {
		m := p.Metrics[i+1]
		got, missing := m.Together(outputs, "2 samples")
		if got != want || (missing == "") != (m.Name != "p99") {
			t.Errorf("%s of both is %v, %q; want %v", m.Name, got, missing, want)
		}
		if one, missing := m.Together(outputs[:1], "1 sample"); one != outputs[0].Metrics[m.Name] || missing != "" {
			t.Errorf("%s of one is %v, %q", m.Name, one, missing)
		}
	}
	if _, missing := p.Metrics[2].Together(outputs, "2 samples"); missing != "the driver prints percentiles, which do not add up over 2 samples" {
		t.Errorf("p99 is missing since %q", missing)
	}
	none, err := p.Parse([]byte("rate 1\nmax 9\np99 8\n"))
	if err != nil || none.Missing["p50"] != "the driver printed no p50" {
		t.Errorf("%+v, %v", none, err)
	}
	if _, missing := p.Metrics[1].Together(append(outputs, none), "3 samples"); missing != "the driver printed no p50" {
		t.Errorf("without the values of one, p50 is missing since %q", missing)
	}
	if _, err := p.Parse([]byte("rate 1\nmax 9\np99 8\ntook long\n")); err == nil || !strings.Contains(err.Error(), `"long" in the line "took long"`) {
		t.Errorf("a value that is no number gave %v", err)
	}
}

func TestDistributionsInJSON(t *testing.T) {
	for of, want := range map[string]float64{"raw": 3, "jobs.0.bins": 7} {
		p, err := Decode("json.yaml", []byte(regexp.MustCompile(`(?s)parser:.*`).ReplaceAllString(tails, "parser: {json: true}\n"+
			"metrics: [{name: rate, unit: op/s, better: higher, primary: true}, {name: p90, unit: us, better: lower, percentile: 90, of: "+of+"}]\n")))
		if err != nil {
			t.Fatal(err)
		}
		o, err := p.Parse([]byte(`{"rate": 1, "raw": [3, 1, 2], "jobs": [{"bins": {"7": 2, "5": 8}}]}`))
		if err != nil || o.Metrics["p90"] != want {
			t.Errorf("%s: %+v, %v", of, o, err)
		}
		if o, err = p.Parse([]byte(`{"rate": 1}`)); err != nil || o.Missing["p90"] == "" {
			t.Errorf("without %s: %+v, %v", of, o, err)
		}
		for _, wrong := range []string{`"many"`, `["many"]`, `{"many": 1}`, `{"1": "many"}`} {
			text := strings.NewReplacer(`"raw": 0`, `"raw": `+wrong, `"bins": 0`, `"bins": `+wrong).Replace(`{"rate": 1, "raw": 0, "jobs": [{"bins": 0}]}`)
			if o, err := p.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "many") {
				t.Errorf("%s: %s gave %+v, %v", of, wrong, o, err)
			}
		}
	}
}

func TestAColumnOfATableIsADistribution(t *testing.T) {
	p, err := Decode("csv.yaml", []byte(regexp.MustCompile(`(?s)parser:.*`).ReplaceAllString(tails, "parser: {csv: true}\n"+
		"metrics: [{name: p50, unit: us, better: lower, primary: true, percentile: 50, of: us}]\n")))
	if err != nil {
		t.Fatal(err)
	}
	if o, err := p.Parse([]byte("at,us\n1,3\n1,1\n2,2\n")); err != nil || o.Metrics["p50"] != 2 {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestAPercentileHasOneMeaning(t *testing.T) {
	for change, want := range map[[2]string]string{
		{"percentile: 100", "percentile: 101"}:                             "101 is not between 0 and 100",
		{"percentile: 100", "percentile: 100, across: mean"}:               "across has no effect on a percentile",
		{"percentile: 100", "of: x"}:                                       "of needs percentile",
		{"percentile: 100", "percentile: 100, field: max_rss"}:             "is for values from the driver's output",
		{"(?P<value>\\S+)", "(?P<v>\\S+)"}:                                 "no group for the values",
		{"(?P<value>\\S+)", "(?P<value>\\S+"}:                              "missing closing )",
		{"parser: {regex", "parser: {name: redis-benchmark} # "}:           "unknown distribution of the parser",
		{"parser: {regex", "parser: {name: wrk} # "}:                       "unknown distribution of the parser",
		{"percentile: 50, of: '(?m)", "field: p55, percentile: 50, of: '"}: `unknown field of the parser "p55"`,
	} {
		text := strings.Replace(tails, change[0], change[1], 1)
		if text == tails {
			t.Fatalf("%q is not in the pack", change[0])
		}
		if _, err := Decode("tails.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v; want %q in it", change[1], err, want)
		}
	}
}

// A metric that is a percentile and does not say so would be averaged over samples.
func TestThePercentilesOfTheBuiltInPacksSaySo(t *testing.T) {
	named := regexp.MustCompile(`_(p\d+|min|max)$`)
	for _, name := range Names() {
		p, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range p.Metrics {
			if !p.Startup && named.MatchString(m.FieldName()) != (m.Percentile != nil) {
				t.Errorf("%s: %s has the percentile %v", name, m.Name, m.Percentile)
			}
		}
	}
}
