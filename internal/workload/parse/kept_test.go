package parse

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"
)

// imported are the fields of the results of a file, as an import reads it.
func imported(parser string, file []byte) (all []map[string]float64, err error) {
	p, _ := Lookup(parser)
	text, err := Text(file)
	if err != nil {
		return nil, err
	}
	outputs, err := p.Split(text)
	if err != nil {
		return nil, err
	}
	for _, output := range outputs {
		fields, err := p.Parse(output)
		if err != nil {
			return nil, err
		}
		all = append(all, fields)
	}
	return all, nil
}

func utf16Of(text []byte, order binary.AppendByteOrder) (file []byte) {
	for _, unit := range utf16.Encode([]rune("\ufeff" + string(text))) {
		file = order.AppendUint16(file, unit)
	}
	return file
}

func TestOutputsAsTheyAreKeptAreRead(t *testing.T) {
	file := func(name string) []byte { return keptFile(t, name) }
	changed := func(name, old, new string) []byte { return []byte(strings.ReplaceAll(string(file(name)), old, new)) }
	for what, c := range map[string]struct {
		parser string
		file   []byte
		field  string
		want   float64
		absent string
	}{
		"a byte order mark":                     {"sysbench-cpu", file("byte-order-mark/sysbench.txt"), "events_per_second", 1234.56, ""},
		"one before JSON":                       {"fio", file("byte-order-mark/fio.json"), "iops", 1000, ""},
		"one before a table":                    {"jmeter", file("byte-order-mark/results.jtl"), "elapsed_mean", 190, ""},
		"UTF-16 of PowerShell":                  {"sysbench-cpu", utf16Of(file("lines-before/prompt.txt"), binary.LittleEndian), "events_per_second", 1234.56, ""},
		"UTF-16, the other way":                 {"fio", utf16Of(file("fio-normal-and-json/fio.txt"), binary.BigEndian), "iops", 1000, ""},
		"sysbench's warnings before it":         {"sysbench-cpu", file("lines-before/deprecated.txt"), "events_per_second", 1017.08, ""},
		"ssh's note before it":                  {"sysbench-cpu", file("lines-before/ssh.txt"), "events_per_second", 1234.56, ""},
		"the command before it":                 {"sysbench-cpu", file("lines-before/prompt.txt"), "events_per_second", 1234.56, ""},
		"the trace of a shell before it":        {"sysbench-cpu", changed("lines-before/prompt.txt", "$ sysbench", "+ sysbench"), "events_per_second", 1234.56, ""},
		"normal output before fio's JSON":       {"fio", file("fio-normal-and-json/fio.txt"), "iops", 1000, ""},
		"fio's states of one run":               {"fio", file("fio-status-interval/fio.json"), "operations", 1200, ""},
		"what a script of wrk prints":           {"wrk", file("wrk-script-lines/wrk.txt"), "requests_per_second", 43.98, ""},
		"YAML without its last newline":         {"stress-ng", file("no-newline-at-the-end/stress-ng.yaml"), "bogo_ops_per_second_real", 420, ""},
		"text without it":                       {"stress-ng", bytes.TrimSpace(file("stress-ng-miscellaneous-metrics/pipe.txt")), "bogo_ops_per_second_real", 267067.85, ""},
		"a quoted cell without it":              {"redis-benchmark", file("no-newline-at-the-end/redis.csv"), "get_rps", 50000, ""},
		"a table whose last column is unused":   {"jmeter", bytes.TrimSpace(file("jmeter-columns/no-connect.jtl")), "elapsed_mean", 196, "connect_mean"},
		"no column Connect":                     {"jmeter", file("jmeter-columns/no-connect.jtl"), "elapsed_mean", 196, "connect_mean"},
		"columns in another order":              {"jmeter", file("jmeter-columns/order.jtl"), "elapsed_mean", 100, ""},
		"semicolons":                            {"jmeter", file("jmeter-columns/semicolon.jtl"), "throughput", 5 / 4.202, ""},
		"tabs":                                  {"jmeter", changed("jmeter-columns/semicolon.jtl", ";", "\t"), "elapsed_mean", 196, ""},
		"times as dates":                        {"jmeter", file("jmeter-columns/time.jtl"), "elapsed_mean", 190, ""},
		"a page with its redirects":             {"jmeter", file("jmeter-sub-results/results.jtl"), "requests", 5, ""},
		"its times":                             {"jmeter", file("jmeter-sub-results/results.jtl"), "elapsed_mean", 196, ""},
		"its bytes":                             {"jmeter", file("jmeter-sub-results/results.jtl"), "bytes", 47000, ""},
		"the same names in other threads":       {"jmeter", changed("jmeter-sub-results/results.jtl", "302,Found,Users 1-1", "302,Found,Users 1-2"), "requests", 10, ""},
		"the data of handleSummary":             {"k6", file("k6-handle-summary/summary.json"), "requests_per_second", 81.0986, ""},
		"its failures":                          {"k6", file("k6-handle-summary/summary.json"), "error_ratio", 0, ""},
		"histograms beside memtier's totals":    {"memtier", file("memtier-histogram/memtier.json"), "latency_avg", .49, "connection_errors"},
		"pgbench 14":                            {"pgbench", file("pgbench-14/pg14.txt"), "tps", 1374.702311, "failed"},
		"pgbench 13":                            {"pgbench", file("pgbench-14/pg13.txt"), "tps", 1374.702311, "failed"},
		"pgbench -C":                            {"pgbench", file("pgbench-14/reconnect.txt"), "tps", 304.09123, ""},
		"metrics of a stressor's own":           {"stress-ng", file("stress-ng-miscellaneous-metrics/pipe.txt"), "bogo_ops_per_second_real", 267067.85, ""},
		"those of another":                      {"stress-ng", file("stress-ng-miscellaneous-metrics/switch.txt"), "bogo_ops_per_second_real", 236431, ""},
		"an old stress-ng":                      {"stress-ng", file("stress-ng-older/old.txt"), "bogo_ops_per_second_real", 4200, ""},
		"an operation that moves nothing":       {"sysbench-memory", file("sysbench-memory-none/none.txt"), "operations_per_second", 3175017.73, "throughput"},
		"another percentile":                    {"sysbench-cpu", file("sysbench-percentile/p99.txt"), "latency_p99", 59.99, "latency_p95"},
		"another percentile in each interval":   {"sysbench-cpu", file("sysbench-percentile/interval-p99.txt"), "latency_p99", 5.67, "latency_p95"},
		"no percentile":                         {"sysbench-cpu", file("sysbench-percentile/p0.txt"), "latency_max", 78.1, "latency_p95"},
		"a server that sent UDP":                {"iperf3", file("iperf3-udp-server-sent/server.json"), "bandwidth_sent", 5111378.644193888, "jitter_ms"},
		"what it does not know of losses":       {"iperf3", file("iperf3-udp-server-sent/server.json"), "bytes_sent", 1277952, "lost_percent"},
		"latencies that fio did not measure":    {"fio", changed("fio-normal-and-json/fio.txt", `"N": 1000`, `"N": 0`), "iops", 1000, "latency_mean"},
		"jobs of one group and of equal length": {"fio", changed("fio-two-groups/fio.json", `"groupid": 1`, `"groupid": 0`), "iops", 2300, ""},
	} {
		all, err := imported(c.parser, c.file)
		if err != nil || len(all) != 1 {
			t.Errorf("%s: %d results, %v", what, len(all), err)
			continue
		}
		if got, there := all[0][c.field]; !there || got != c.want {
			t.Errorf("%s: %s is %v (%v), want %v", what, c.field, got, there, c.want)
		}
		if got, there := all[0][c.absent]; there {
			t.Errorf("%s: %s is %v and could not be known", what, c.absent, got)
		}
	}
}

// Of a slow machine a sample of sysbench's threads may have one event a thread. A run of tare
// is of threads; of a file it is not known, and mutex prints the same.
func TestFewEventsOfSysbenchsThreadsAreRead(t *testing.T) {
	p, _ := Lookup("sysbench-threads")
	file := keptFile(t, "sysbench-mutex-as-threads/mutex.txt")
	if fields, err := p.Parse(file); err != nil || fields["events"] != 1 {
		t.Errorf("%v, %v", fields, err)
	}
	if other := p.Other(file); other != "sysbench mutex" {
		t.Errorf("in a file it is %q", other)
	}
}

// Outputs of sysbench 1.0.20, one behind another.
func TestOtherOutputsOfAFileAreNamed(t *testing.T) {
	for _, c := range []struct{ parser, file, want string }{
		{"sysbench-fileio", "prepare-run-cleanup", "sysbench prepare, , sysbench cleanup"},
		{"sysbench-cpu", "tests", ", sysbench-memory, sysbench-threads, sysbench mutex, sysbench mutex"},
		{"sysbench-memory", "tests", "sysbench-cpu, , sysbench-threads, sysbench mutex, sysbench mutex"},
		{"sysbench-threads", "tests", "sysbench-cpu, sysbench-memory, , sysbench mutex, sysbench mutex"},
	} {
		p, _ := Lookup(c.parser)
		pieces, err := p.Split(keptFile(t, "sysbench-several/"+c.file+".txt"))
		var others []string
		for _, piece := range pieces {
			other := p.Other(piece)
			others = append(others, other)
			if _, err := p.Parse(piece); other == "" && err != nil {
				t.Errorf("%s of %s: %v", c.parser, c.file, err)
			}
		}
		if got := strings.Join(others, ", "); err != nil || got != c.want {
			t.Errorf("%s of %s: %q, %v; want %q", c.parser, c.file, got, err, c.want)
		}
	}
	p, _ := Lookup("sysbench-fileio")
	for _, text := range []string{"sysbench 1.0.20\n\nCreating files for the test...\nFATAL: Failed to create file!\n", "sysbench 1.0.20\n\nThreads started!\n"} {
		if other := p.Other([]byte(text)); other != "" {
			t.Errorf("%q is left out as %s", text, other)
		}
	}
}

func TestWhatIsNoResultIsRefusedWithItsLineAndAWayOut(t *testing.T) {
	file := func(name string) []byte { return keptFile(t, name) }
	changed := func(name, old, new string) []byte { return []byte(strings.ReplaceAll(string(file(name)), old, new)) }
	for what, c := range map[string]struct {
		parser string
		file   []byte
		line   int // 0: of the whole
		want   string
	}{
		"decimal commas of dd":          {"dd", file("decimal-comma/dd.txt"), 3, "LC_ALL=C"},
		"decimal commas of the shell":   {"boot-times", file("decimal-comma/time.txt"), 4, "LC_ALL=C"},
		"groups one after another":      {"fio", file("fio-two-groups/fio.json"), 0, `"seqread" in group 0 and "randread" in group 1`},
		"jobs of different lengths":     {"fio", bytes.Replace(changed("fio-two-groups/fio.json", `"groupid": 1`, `"groupid": 0`), []byte(`"job_runtime": 10000`), []byte(`"job_runtime": 2000`), 1), 0, "took 2000 ms"},
		"UDP of which nothing arrived":  {"iperf3", file("iperf3-udp-nothing-arrived/iperf3.json"), 0, "nothing arrived"},
		"a test without an interval":    {"iperf3", file("iperf3-short-test-server/server.json"), 0, "no interval"},
		"memtier's table":               {"memtier", file("memtier-text/memtier.txt"), 6, "--json-out-file=FILE"},
		"clients that were aborted":     {"pgbench", file("pgbench-clients-aborted/pgbench.txt"), 0, "1003 of 2000"},
		"pgbench's own words about it":  {"pgbench", append(file("pgbench-14/reconnect.txt"), "pgbench: error: Run was aborted; the above results are incomplete.\n"...), 14, "Run was aborted"},
		"sysbench 1.1":                  {"sysbench-cpu", []byte("sysbench 1.1.0-2ca9e3f (using bundled LuaJIT 2.1.0-beta3)\n"), 1, "run 1.0, or import with a pack of your own"},
		"a line between others":         {"sysbench-cpu", file("line-number/log.txt")[bytes.LastIndex(file("line-number/log.txt"), []byte("sysbench 1.0")):], 33, `"real\t0m10.013s" is no line that tare knows`},
		"a run without its beginning":   {"sysbench-cpu", append(file("lines-before/ssh.txt")[400:], file("lines-before/ssh.txt")...), 2, "precedes the first run"},
		"a failure before the first":    {"sysbench-cpu", append([]byte("sysbench: error while loading shared libraries: libaio.so.1\n"), file("lines-before/ssh.txt")...), 1, "error while loading"},
		"a table that may be cut off":   {"jmeter", bytes.TrimSpace(file("jmeter-columns/semicolon.jtl")), 6, "if it is complete, add a newline"},
		"a time in an unknown form":     {"jmeter", changed("jmeter-columns/time.jtl", "2023/11/14", "14.11.23"), 0, "timestamp_format=ms"},
		"a run of wrk that was stopped": {"wrk", changed("wrk-script-lines/wrk.txt", "Running 1s", "Running 30s"), 0, "stopped after 1 s of 30 s"},
		"a run of fio that was stopped": {"fio", append([]byte("fio: terminating on signal 2\n"), file("fio-normal-and-json/fio.txt")...), 0, "terminating on signal 2"},
		"UTF-16 without a mark":         {"sysbench-cpu", utf16Of(file("lines-before/prompt.txt"), binary.LittleEndian)[2:], 1, "UTF-16"},
		"a document that is not closed": {"fio", bytes.TrimSuffix(bytes.TrimSpace(file("byte-order-mark/fio.json")), []byte("}")), 1, "unexpected EOF"},
	} {
		all, err := imported(c.parser, c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want %q", what, all, err, c.want)
			continue
		}
		var at *Line
		if errors.As(err, &at); at != nil && at.Number != c.line || at == nil && c.line != 0 {
			t.Errorf("%s: %v is on line %+v, want %d", what, err, at, c.line)
		}
		if strings.Contains(err.Error(), "does not print") {
			t.Errorf("%s: %v claims to know all that a tool prints", what, err)
		}
	}
}

func TestSeveralRunsOfFioAreNotStatesOfOne(t *testing.T) {
	one := string(keptFile(t, "byte-order-mark/fio.json"))
	later := strings.NewReplacer(`"job_runtime": 1000`, `"job_runtime": 1010`, "1700000000123", "1700000001400").Replace(one)
	if all, err := imported("fio", []byte(one+later)); err != nil || len(all) != 2 {
		t.Errorf("%d results: %v", len(all), err)
	}
}
