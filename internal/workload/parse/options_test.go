package parse

import (
	"errors"
	"strings"
	"testing"
)

// Outputs of sysbench 1.0.20, stress-ng 0.15.06, ab 2.3, pgbench 15.18, redis-benchmark 7.0.15, iperf3 3.12,
// ghz 0.120.0 and memtier_benchmark after 2.3.1,
// with options that change what they print. The values were taken from them by regular
// expressions of another program.
func TestOptionsThatChangeAnOutputAreRead(t *testing.T) {
	for _, c := range []struct {
		parser, file, field string
		want                float64
	}{
		{"sysbench-cpu", "sysbench-rate-report", "events_per_second", 6.84},
		{"sysbench-threads", "sysbench-threads-debug", "events", 20},
		{"sysbench-fileio", "sysbench-fileio-mmap", "reads_per_second", 5398.19},
		{"sysbench-fileio", "sysbench-fileio-validate", "bandwidth", 50.50 * 1048576},
		{"sysbench-fileio", "sysbench-fileio-merged", "reads_per_second", 1432.74},
		{"sysbench-oltp", "sysbench-oltp-report", "tps", 7.92},
		{"ab", "ab-S", "requests_per_second", 6749.92},
		{"ab", "ab-S", "latency_mean", 1},
		{"ab", "ab-S", "latency_max", 2},
		{"pgbench", "pgbench-P", "tps", 24.170427},
		{"pgbench", "pgbench-vacuum", "tps", 982.028872},
		{"pgbench", "pgbench-s", "tps", 239.808153},
		{"pgbench", "pgbench-failures-detailed", "tps", 853.141916},
		{"pgbench", "pgbench-failures-detailed", ErrorRatio, 22. / 80},
		{"redis-benchmark", "redis-k0", "get_rps", 7692.31},
		{"redis-benchmark", "redis-e", "get_rps", 4761.90},
		{"stress-ng", "stress-ng-ops", "bogo_ops_per_second_real", 204.25},
		{"stress-ng", "stress-ng-sn", "bogo_ops_per_second_real", 558.649},
		{"stress-ng", "stress-ng-v", "bogo_ops_per_second_real", 110.30},
		{"stress-ng", "stress-ng-timestamp", "bogo_ops_per_second_real", 161.80},
		{"memtier", "memtier-newer", "operations_per_second", 9762.17},
		{"memtier", "memtier-newer", "latency_avg", 3971. / 19527}, // its text has 0.20402
		{"jmeter", "jmeter-redirects", "requests", 3},
		{"jmeter", "jmeter-redirects", "elapsed_max", 168},
		{"jmeter", "jmeter-separator", "elapsed_max", 319},
		{"jmeter", "jmeter-columns", "requests", 20},
		{"ghz", "ghz-skipFirst", "calls", 20},
		{"ghz", "ghz-skipFirst", "latency_max", 134974.074},
		{"ghz", "ghz-duration-stop", "calls", 10},
		{"ghz", "ghz-duration-stop", ErrorRatio, 0},
		{"ghz", "ghz-duration-stop", "latency_min", 50541.472},
		{"iperf3", "iperf3-V", "bandwidth_sent", 13530012903.225807},
	} {
		all, err := imported(c.parser, keptFile(t, "options/"+c.file+".txt"))
		if err != nil || len(all) != 1 {
			t.Errorf("%s: %d results, %v", c.file, len(all), err)
		} else if got, there := all[0][c.field]; !there || got != c.want {
			t.Errorf("%s: %s is %v (%v), want %v", c.file, c.field, got, there, c.want)
		}
	}
	if all, err := imported("iperf3", keptFile(t, "options/iperf3-f.txt")); err != nil || len(all) != 1 {
		t.Errorf("iperf3 -f: %v, %v", all, err)
	}
}

func TestOptionsWithoutAReadableResultAreNamed(t *testing.T) {
	for _, c := range []struct {
		parser, file string
		line         int
		want         string
	}{
		{"sysbench-cpu", "sysbench-checkpoints", 6, "without --report-checkpoints"},
		{"sysbench-cpu", "sysbench-no-such-option", 3, "reports \"invalid option: "},
		{"ab", "ab-w", 10, "without -w"},
		{"ab", "ab-v2", 5, "without -v"},
		{"ab", "ab-refused", 5, "Connection refused"},
		{"pgbench", "pgbench-d", 2, "without -d"},
		{"redis-benchmark", "redis-command", 0, "those that -t names"},
		{"iperf3", "iperf3-text", 1, "-J"},
		{"iperf3", "iperf3-d", 1, "without -d"},
		{"stress-ng", "stress-ng-log-brief", 1, "without --log-brief"},
		{"fio", "fio-terse", 1, "--output-format=json"},
		{"fio", "fio-normal", 2, "--output-format=json"},
		{"ab", "ab-g", 1, "import the report of ab"},
		{"memtier", "memtier-breakdown-line", 0, "several Sets"},
		{"jmeter", "jmeter-no-head", 1, "print_field_names=true"},
		{"jmeter", "jmeter-time", 0, "timestamp_format=ms"},
		{"jmeter", "jmeter-no-success", 0, "no column success"},
		{"pgbench", "pgbench-unreachable", 1, "Connection refused"},
	} {
		all, err := imported(c.parser, keptFile(t, "options/"+c.file+".txt"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want %q", c.file, all, err, c.want)
			continue
		}
		var at *Line
		if errors.As(err, &at); at != nil && at.Number != c.line || at == nil && c.line != 0 {
			t.Errorf("%s: %v is on line %+v, want %d", c.file, err, at, c.line)
		}
	}
}

// Made in the form of files that people publish.
func TestOtherFormsOfK6sSummaryAreNamed(t *testing.T) {
	const dots = "  checks.........................: 100.00% ✓ 40  ✗ 0\n  http_reqs......................: 40    4.5/s\n\nrunning (0m10.0s), 00/5 VUs, 0 complete and 5 interrupted iterations\n"
	for text, want := range map[string]string{
		"script: load.js\n" + dots:                       "k6's summary for people, whose values are rounded: have k6 write --summary-export=FILE",
		strings.ReplaceAll(dots, "....: ", "....: avg="): "k6's summary for people",
		`{"scenario": "normal", "rps_avg": "42.2"}`:      "neither a point nor a summary of k6: a handleSummary of one's own",
		"nothing of k6\n":                                "k6's JSON: invalid character",
	} {
		p, _ := Lookup("k6")
		if _, err := p.Split([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
