package parse

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/testing/needs"
)

func everyParser() (all []Parser) {
	for _, name := range Names() {
		p, _ := Lookup(name)
		all = append(all, p)
	}
	return all
}

// samples are the recorded outputs of a tool, each with its figures beside it
// in golden.json.
func samples(t testing.TB, parser string) map[string][]byte {
	files, err := filepath.Glob(filepath.Join("testdata", parser, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples of %s: %v", parser, err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(f)] = data
	}
	return all
}

// golden compares what was read with a file below testdata.
func golden[T any](t *testing.T, name string, got T) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		text, _ := json.MarshalIndent(got, "", "  ")
		if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var want T
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got; UPDATE_GOLDEN=1 writes it):\n%s", name, d)
	}
}

func TestRecordedOutputsGiveTheirFigures(t *testing.T) {
	for _, p := range everyParser() {
		got := map[string]map[string]float64{}
		for name, data := range samples(t, p.Name) {
			fields, err := p.Parse(data)
			if err != nil {
				t.Errorf("%s, %s: %v", p.Name, name, err)
			}
			got[name] = fields
		}
		golden(t, filepath.Join(p.Name, "golden.json"), got)
	}
}

// All settings of all samples are in one file, so that the names are seen side by side.
func TestRecordedOutputsSayTheirSettings(t *testing.T) {
	got := map[string]map[string]map[string]string{}
	for _, p := range everyParser() {
		if p.Settings == nil {
			continue
		}
		got[p.Name] = map[string]map[string]string{}
		for name, data := range samples(t, p.Name) {
			got[p.Name][name] = p.Settings(data)
		}
	}
	golden(t, "settings.json", got)
}

func TestAFigureIsInItsDeclaredUnit(t *testing.T) {
	// Read off the samples by eye, not by the parser.
	for _, c := range []struct {
		parser, sample, field string
		want                  float64
	}{
		{"wrk", "no-latency.txt", "latency_avg", 691.52},
		{"wrk", "no-latency.txt", "latency_stdev", 930},
		{"wrk", "few-and-slow-answers.txt", "requests", 4},
		{"wrk", "two-threads.txt", "latency_p99", 3640},
		{"h2load", "two-threads.txt", "requests", 1001},
		{"h2load", "two-threads.txt", "bytes", 1264263},
		{"h2load", "two-threads.txt", "latency_max", 13080},
		{"h2load", "one-request.txt", "seconds", 0.000727},
		{"h2load", "slow-answer.txt", "latency_avg", 2.16e6},
		{"h2load", "one-second.txt", "bytes_per_second", 6.29 * 1048576},
		{"h2load", "closed-connections.txt", "bytes", 18444 + 193980}, // its total is 11935
		{"h2load", "closed-connections.txt", "bytes_per_second", (18444 + 193980) / .050055},
		{"wrk", "two-threads.txt", "requests", 152859},
		{"wrk", "two-threads.txt", "bytes_per_second", 24.86 * 1048576},
		{"sysbench-cpu", "five-seconds.txt", "events_per_second", 1952.87},
		{"sysbench-memory", "1m-blocks.txt", "throughput", 34430.75},
		{"fio", "libaio-randread.txt", "iops", 95506.29874},
		{"fio", "libaio-randread.txt", "latency_p99", 3620.864},
		{"redis-benchmark", "csv-all.txt", "lrange_100_latency_p99", 1.551},
		{"redis-benchmark", "csv-all.txt", "mset_rps", 56657.23},
		{"redis-benchmark", "text-get.txt", "get_rps", 55126.79},
		{"redis-benchmark", "text-get.txt", "requests", 50000},
		{"redis-benchmark", "docker-quiet.txt", "lrange_300_latency_p50", 0.975},
		{"ab", "nginx.txt", "bytes_per_second", 9271.63 * 1024},
		{"ab", "nginx.txt", "latency_p98", 4},
		{"ab", "docker-keepalive-404.txt", "non_2xx", 1000},
		{"ab", "answers-of-varying-length.txt", "failed_length", 1524},
		{"ab", "one-request.txt", "latency_mean", 301},
		{"boot-times", "minutes.txt", "real_seconds", 72.345},
		{"cassandra-stress", "3node-mixed.txt", "op_rate", 2298},
		{"cassandra-stress", "3node-mixed.txt", "read_latency_p999", 104.5},
		{"cassandra-stress", "3node-mixed.txt", "total_seconds", 8},
		{"hpl", "native-openblas.txt", "gflops", 60.42},
		{"hpl", "native-openblas.txt", "nb", 192},
		{"ioping", "native-raw.txt", "latency_mean", 56.855},
		{"ioping", "native-json.txt", "latency_max", 29.835},
		{"iozone", "docker-gaps.txt", "random_read", 2115642 * 1024},
		{"iozone", "docker-stride-fread.txt", "stride_read", 1622698 * 1024},
		{"iozone", "docker-all-tests.txt", "record_rewrite", 1864376 * 1024},
		{"iozone", "native-all-tests-3.510.txt", "stride_read", 3993414 * 1024},
		{"iozone", "native-gaps-3.510.txt", "stride_read", 1691162 * 1024},
		{"iperf3", "tcp-two-streams.txt", "bandwidth_received", 19807833771.104942},
		{"iperf3", "tcp-two-streams.txt", "retransmits", 1605},
		{"iperf3", "tcp-two-streams.txt", "cwnd", 1963488}, // the mean of six windows
		{"iperf3", "udp-loss.txt", "lost_packets", 1433},
		{"iperf3", "udp-loss.txt", "jitter_ms", 0.000408080247044315},
		{"iperf3", "docker-serverudp.txt", "bytes_received", 3768320},
		{"jmeter", "wordpress.txt", "elapsed_max", 76},
		{"jmeter", "wordpress.txt", "throughput", 40 / 1.529},
		{"ghz", "calls.txt", "calls", 150},
		{"ghz", "calls.txt", "latency_max", 41103.18},
		{"ghz", "deadline.txt", "errors", 54},
		{"memtier", "requests.txt", "operations_per_second", 19013.76},
		{"memtier", "rate.txt", "latency_p99", 0.951},
		{"k6", "closed.txt", "requests_per_second", 102.05224536304215},
		{"k6", "closed.txt", "latency_max", 285.258431},
		{"k6", "dropped.txt", "dropped_iterations", 241},
		{"k6", "dropped.txt", "latency_p95", 39.07689834999998},
		{"k6", "failed-requests.txt", "errors", 2},
		{"latencies", "two-hundred.txt", "latency_p99", 198.5},
		{"latencies", "two-hundred.txt", "latency_mean", 101},
		{"netperf", "gvisor.txt", "transactions_per_second", 9034.13},
		{"netperf", "docker-udp.txt", "response_size", 1024},
		{"pgbench", "mixed.txt", "tps", 244.478006},
		{"pgbench", "rate-limit.txt", "skipped", 111},
		{"pgbench", "rate-limit.txt", "late", 64},
		{"pgbench", "rate-limit.txt", "schedule_lag_max", 164.186},
		{"pgbench", "serial.txt", "failed", 82},
		{"pgbench", "serial.txt", "latency_avg", 21.443},
		{"pgbench", "counted.txt", "transactions", 200},
		{"stages", "own-names.txt", "stage_build", 2},
		{"stress-ng", "native-vm.txt", "bogo_ops_per_second_real", 33755.54},
		{"stress-ng", "yaml-vm.txt", "user_seconds", 1.796254},
		{"stress-ng", "docker-text-and-yaml.txt", "user_seconds", 2.96},
		{"sysbench-fileio", "native-rndrw.txt", "write_bandwidth", 81.53 * 1048576},
		{"sysbench-oltp", "docker-write-only.txt", "ignored_errors", 9},
		{"sysbench-cpu", "one-event-of-many-seconds.txt", "latency_max", 49796.80},
		{"sysbench-threads", "native.txt", "events_per_second", 5587 / 2.0002},
		{"vegeta-csv", "stall.txt", "service_max", 500849.67},
		{"wrk2", "readme-no-latency.txt", "requests_per_second", 2000.15},
		{"wrk2", "readme-stalled.txt", "latency_p99", 1.27e6},
		{"wrk2", "readme-uncorrected.txt", "latency_p999", 11190},
		{"wrk2", "readme-uncorrected.txt", "service_p99", 5430},
	} {
		p, _ := Lookup(c.parser)
		fields, err := p.Parse(samples(t, c.parser)[c.sample])
		if got, ok := fields[c.field]; err != nil || !ok || math.Abs(got/c.want-1) > 1e-9 {
			t.Errorf("%s of %s/%s is %v, want %v (%v)", c.field, c.parser, c.sample, got, c.want, err)
		}
	}
}

// A truncated report is an error, or has the same values as the whole one. It is
// truncated at every byte of its end, which matters most, and at some before it;
// with -short at fewer.
func TestACutReportNeverGivesOtherFigures(t *testing.T) {
	exact, steps := 1000, 200
	if needs.ShortForm() {
		exact, steps = 60, 20
	}
	for _, p := range everyParser() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			for name, data := range samples(t, p.Name) {
				whole, err := p.Parse(data)
				if err != nil {
					t.Fatal(err)
				}
				var counted map[string]Histogram
				if p.Histograms != nil {
					counted, _ = p.Histograms(data)
				}
				for cut := 0; cut < len(data); cut++ {
					if left := len(data) - cut; left > exact {
						cut += max(12, len(data)/steps)
					}
					cut = min(cut, len(data)-1)
					fields, err := p.Parse(data[:cut])
					if err == nil && !cmp.Equal(fields, whole) && !startOfARun(p.Name, data[:cut]) {
						t.Fatalf("%s cut at byte %d of %d has other values: %s", name, cut, len(data), cmp.Diff(whole, fields))
					}
					if p.Histograms == nil || err != nil {
						continue
					}
					histograms, err := p.Histograms(data[:cut])
					if err == nil && len(histograms) > 0 && !cmp.Equal(histograms, counted) && !startOfARun(p.Name, data[:cut]) {
						t.Fatalf("%s cut at byte %d of %d has other histograms: %s", name, cut, len(data), cmp.Diff(counted, histograms))
					}
				}
			}
		})
	}
}

// startOfARun: a report of several tests is whole after each of them, and so is
// a table of requests that nothing ends and whose number is not announced.
func startOfARun(parser string, data []byte) bool {
	open := parser == "redis-benchmark" || parser == "jmeter" || parser == "vegeta-csv" && !strings.Contains(string(data), "requests=")
	rest := strings.TrimRight(string(data), " \r")
	return open && (strings.HasSuffix(rest, "\n") || parser == "redis-benchmark" && strings.HasSuffix(rest, `"`))
}

func TestFieldsAreDeclared(t *testing.T) {
	for _, p := range everyParser() {
		declared := map[string]bool{}
		for _, f := range p.Fields {
			if declared[f.Name] || f.Unit == "" {
				t.Errorf("%s declares %q badly", p.Name, f.Name)
			}
			declared[f.Name] = true
		}
		if p.About == "" || p.Versions == "" {
			t.Errorf("%s does not say what it reads", p.Name)
		}
		for name, data := range samples(t, p.Name) {
			fields, _ := p.Parse(data)
			for f := range fields {
				if !p.HasField(f) {
					t.Errorf("%s gives %q for %s and does not declare it", p.Name, f, name)
				}
			}
		}
	}
}

func TestUnparsedOutputIsQuoted(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, c := range []struct{ parser, output, want string }{
		{"wrk", read("broken/wrk-no-request.txt"), "no operation was attempted"},
		{"h2load", strings.Replace(read("h2load/native.txt"), "time for connect", "time of connect", 1), "is no line that tare knows of h2load 1.52 or 1.70"},
		{"h2load", strings.Replace(read("h2load/logged.txt"), "requests: 2000 total, 2000 started, 2000 done, 2000 succ", "requests: 2 total, 2 started, 2 done, 2 succ", 1), "2000 requests, and the report 2"},
		{"h2load", strings.Replace(read("h2load/logged.txt"), "816 us: 30", "816 us: 31", 1), "count 2001"},
		{"h2load", strings.Replace(read("h2load/logged.txt"), "816 us: 30", "817 us: 30", 1), "not the start of a bin: \"817 us: 30\""},
		{"h2load", strings.Replace(read("h2load/logged.txt"), "816 us: 30", "808 us: 30", 1), "order of latencies"},
		{"h2load", strings.Replace(read("h2load/logged.txt"), "816 us: 30", "816 ms: 30", 1), "816 ms"},
		{"h2load", strings.Replace(read("h2load/logged.txt"), " in 103786 us", " in 0 us", 1), "took no time"},
		{"pgbench", read("broken/pgbench-aborted.txt"), "processed 0 of 3 transactions"},
		{"pgbench", strings.Replace(read("pgbench/counted.txt"), "48 us: 1", "48 us: 2", 1), "count 201 requests"},
		{"pgbench", strings.Replace(read("pgbench/counted.txt"), "processed: 200", "processed: 201", 1), "the log has 200 requests, and the report 201"},
		{"wrk2", strings.Replace(read("wrk2/readme-stalled.txt"), "Total count    =        39500", "Total count    =        39501", 1), "count 39500 requests"},
		{"redis-benchmark", read("broken/redis-benchmark-in-no-time.txt"), "it needs more requests"},
		{"cassandra-stress", strings.Replace(read("cassandra-stress/read.txt"), "Results:\n", "java.lang.RuntimeException: Failed to execute stress action\nResults:\n", 1), "Failed to execute stress action"},
		{"wrk", strings.Replace(read("wrk/native.txt"), "Latency Distribution", "Latenz-Verteilung", 1), "Latenz-Verteilung"},
		{"wrk", strings.Replace(read("wrk/no-latency.txt"), "691.52us", "691.52ns", 1), "691.52ns"},
		{"wrk", "unable to connect to 127.0.0.1:80 Connection refused\n", "unable to connect"},
		{"sysbench-cpu", read("broken/sysbench-cpu-threads.txt"), "events per second"},
		{"sysbench-cpu", strings.Replace(read("sysbench-cpu/native.txt"), "1.0.20", "1.1.0", 1), "sysbench 1.1.0"},
		{"sysbench-cpu", strings.Replace(read("sysbench-cpu/native.txt"), "CPU speed", "FATAL: no threads\nCPU speed", 1), "FATAL: no threads"},
		{"fio", strings.Replace(read("fio/native-randread.txt"), `"error" : 0`, `"error" : 28`, 1), "error 28"},
		{"fio", "fio: pid=0, err=22/file:filesetup.c:708, func=open(/data/fio.dat), error=Invalid argument\n", "fio:"},
		{"fio", strings.Replace(read("fio/native-randread.txt"), "fio-3.33", "fio-4.0", 1), "version 3"},
		{"redis-benchmark", "\"test\",\"rps\"\n\"GET\",\"1\"\n", "unknown columns"},
		{"redis-benchmark", strings.Replace(read("redis-benchmark/csv-all.txt"), "ZADD", "ZFOO", 1), "ZFOO"},
		{"redis-benchmark", "Could not connect to Redis at 127.0.0.1:6379: Connection refused\n", "Could not connect"},
		{"dd", "dd: error writing '/dev/full': No space left on device\n", "No space left"},
		{"dd", "", "it printed nothing"},
		{"ab", strings.Replace(read("ab/nginx.txt"), "Finished 5000 requests", "apr_socket_recv: Connection reset by peer (104)", 1), "Connection reset by peer"},
		{"ab", "ab: invalid URL\n", "invalid URL"},
		{"ab", strings.Replace(read("ab/docker-quiet.txt"), ".....done", "...apr_socket_recv: Connection refused (111)", 1), "Connection refused (111)"},
		{"boot-times", "error: Failed to start domain guest\n\nreal\t0m1.5s\nuser\t0m0.1s\nsys\t0m0.1s\n", "Failed to start"},
		{"boot-times", read("boot-times/minutes.txt") + read("boot-times/minutes.txt"), "a second line"},
		{"cassandra-stress", strings.Replace(read("cassandra-stress/read.txt"), "END", "FAILURE", 1), "FAILURE"},
		{"cassandra-stress", strings.Replace(read("cassandra-stress/read.txt"), "[READ: 5,075 op/s]", "[insert: 5,075 op/s]", 1), "neither READ nor WRITE"},
		{"cassandra-stress", strings.Replace(read("cassandra-stress/read.txt"), "1.5 ms [", "1.5 us [", 1), "1.5 us"},
		{"cassandra-stress", read("cassandra-stress/read.txt") + read("cassandra-stress/read.txt"), "follows the end"},
		{"hpl", read("broken/hpl-failed.txt"), "0.0082903 ...... FAILED"},
		{"hpl", read("broken/hpl-two-results.txt"), "two results"},
		{"hpl", strings.Replace(read("hpl/one-process.txt"), "1.075e+02", "1,075e+02", 1), "1,075e+02"},
		{"ioping", "ioping: malformed arguments\n", "malformed"},
		{"ioping", strings.Replace(read("ioping/native-json.txt"), `"stat"`, `"total"`, 1), "entry 4"},
		{"iozone", read("broken/iozone-two-record-sizes.txt"), "65536      64  2324709"},
		{"iozone", strings.Replace(read("iozone/docker.txt"), "kBytes/sec", "ops/sec", 1), "Output is in ops/sec"},
		{"iozone", strings.Replace(read("iozone/docker.txt"), "64  1231138", "64 1231138 ", 1), "64 1231138"},
		{"iozone", strings.Replace(read("iozone/docker.txt"), "iozone test complete.", "Can not open temp file: No space left on device", 1), "No space left"},
		{"iperf3", read("broken/iperf3-refused.txt"), "unable to connect to server: Connection refused"},
		{"iperf3", strings.Replace(read("iperf3/tcp.txt"), `"TCP"`, `"SCTP"`, 1), "SCTP"},
		{"iperf3", read("iperf3/tcp.txt") + read("iperf3/tcp.txt"), "unexpected text after"},
		{"jmeter", strings.Replace(read("jmeter/wordpress.txt"), "success", "ok", 1), "no column success"},
		{"jmeter", strings.Replace(read("jmeter/wordpress.txt"), "text,true", "text,maybe", 1), "neither true nor false"},
		{"jmeter", "timeStamp,elapsed\n", "no sample"},
		{"ghz", read("broken/ghz-no-call.txt"), "lists no call that ended"},
		{"ghz", strings.Replace(read("ghz/calls.txt"), `"count":150`, `"count":151`, 1), "lists 150 calls and counts 151"},
		{"ghz", `{"jobs": []}`, "it has no count"},
		{"ghz", read("ghz/calls.txt") + read("ghz/calls.txt"), "unexpected text after"},
		{"k6", "{\"metrics\": {}}", "no iteration"},
		{"k6", strings.Replace(read("k6/closed.txt"), `"count": 115`, `"count": 116`, 2), "the times of 115 requests, and its summary has 116"},
		{"k6", strings.Replace(read("k6/dropped.txt"), `"count": 241`, `"count": "many"`, 1), `count of dropped_iterations is not a number but "many"`},
		{"k6", read("k6/dropped.txt") + read("k6/dropped.txt"), "2 summaries"},
		{"k6", `{"type": "Point", "metric": "http_req_duration", "data": {"value": 1}}`, "k6's summary is missing"},
		{"k6", `{"jobs": []}`, "neither a point nor a summary of k6"},
		{"latencies", "latencies us\n1\nERROR 2006 (HY000)\ntotal 1\n", "ERROR 2006"},
		{"latencies", "latencies us\n1\n2\n", "no line with the total"},
		{"memtier", read("broken/memtier-two-runs.txt"), "output contains 2 runs (-x); use -x 1"},
		{"memtier", strings.Replace(read("memtier/requests.txt"), `"Interrupted": "false"`, `"Interrupted": "true"`, 1), "was interrupted"},
		{"memtier", strings.Replace(read("memtier/requests.txt"), `"MILLISECONDS"`, `"SECONDS"`, 1), "not a number of milliseconds"},
		{"memtier", strings.ReplaceAll(read("memtier/requests.txt"), `"Count": 2000`, `"Count": 0`), "counted no operation"},
		{"memtier", strings.ReplaceAll(read("memtier/requests.txt"), `"Max Latency": 9.471`, `"Max Latency": "-"`), `Max Latency is not a number but "-"`},
		{"memtier", `{"count": 1}`, "no ALL STATS"},
		{"netperf", "establish control: are you sure there is a netserver listening?\n", "establish control"},
		{"netperf", strings.Replace(read("netperf/docker.txt"), "first burst 0", "first burst 16", 1), "first burst 16"},
		{"redis-benchmark", strings.Replace(read("redis-benchmark/docker-quiet.txt"), "MSET (10 keys)", "MSET (20 keys)", 1), "MSET (20 keys)"},
		{"stages", "stage build 1\nmake: *** [all] Error 2\ntotal 3\n", "make: ***"},
		{"stages", "stage build 1\n", "no line with the total"},
		{"stress-ng", read("broken/stress-ng-two-stressors.txt"), "cpu, vm"},
		{"stress-ng", read("broken/stress-ng-quiet-yaml.txt"), "--quiet"},
		{"stress-ng", strings.Replace(read("stress-ng/docker-brief.txt"), "info:  [7] successful", "fail:  [7] cpu: sqrt error detected\nstress-ng: info:  [7] successful", 1), "sqrt error detected"},
		{"stress-ng", strings.Replace(read("stress-ng/docker-brief.txt"), "successful", "unsuccessful", 1), "unsuccessful"},
		{"sysbench-fileio", strings.Replace(read("sysbench-fileio/docker-rndrw.txt"), "Throughput:", "FATAL: Failed to read file!", 1), "Failed to read file"},
		{"sysbench-oltp", strings.Replace(read("sysbench-oltp/native-read-only.txt"), "SQL statistics:", "FATAL: mysql_stmt_execute() returned error 1213", 1), "1213"},
		{"sysbench-oltp", strings.Replace(read("sysbench-oltp/native-read-only.txt"), "reconnects", "disconnects", 1), "disconnects"},
		{"sysbench-threads", read("sysbench-oltp/native-read-only.txt"), "SQL statistics:"},
		{"sysbench-threads", read("sysbench-cpu/native.txt"), "Prime numbers limit"},
		{"vegeta-csv", strings.Replace(read("vegeta-csv/stall.txt"), "rate=100", "rate=0", 1), "no rate is intended"},
		{"vegeta-csv", strings.Replace(read("vegeta-csv/calm.txt"), ",calm,7,", ",calm,8,", 1), "request 7"},
		{"vegeta-csv", strings.Replace(read("vegeta-csv/stall.txt"), "requests=200", "requests=201", 1), "200 that follow"},
		{"vegeta-csv", strings.TrimPrefix(read("vegeta-csv/calm.txt"), "rate=50\n"), "is not like rate=100"},
	} {
		p, _ := Lookup(c.parser)
		if fields, err := p.Parse([]byte(c.output)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v; want %q quoted", c.parser, fields, err, c.want)
		}
	}
}

// HPLinpack 2.1 and later print when a solution began and ended, and more digits.
func TestLaterHPLinpacksAreRead(t *testing.T) {
	p, _ := Lookup("hpl")
	later := strings.NewReplacer(
		"HPLinpack 2.0  --  High-Performance Linpack benchmark  --   September 10, 2008", "HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018",
		"1.075e+02\n", "1.0751e+02\nHPL_pdgesv() start time Sat May 15 18:05:59 2021\n\nHPL_pdgesv() end time   Sat May 15 18:06:03 2021\n\n",
		"0.0029471 ......", "2.94712345e-03 ......",
	).Replace(string(samples(t, "hpl")["one-process.txt"]))
	fields, err := p.Parse([]byte(later))
	if err != nil || fields["gflops"] != 107.51 || fields["residual"] != 2.94712345e-03 || fields["passed"] != 1 {
		t.Errorf("%v, %v", fields, err)
	}
}

// What a tool prints only seldom, on a slow or busy machine, and that says
// nothing against the figures.
func TestRareFormatsAreRead(t *testing.T) {
	read := func(parser, sample string) string { return string(samples(t, parser)[sample]) }
	warning := "WARN  Connection: lost one\njava.io.IOException: Broken pipe\n\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)\n\t... 3 common frames omitted\n" +
		"OpenJDK 64-Bit Server VM warning: late\n[9.123s][warning][safepoint] late\n"
	for what, c := range map[string]struct {
		parser, sample, old, new string
		field                    string
		want                     float64
	}{
		"a figure that fills its column":   {"wrk", "answers-of-a-second.txt", "20.67ms   1.04s ", "20.67ms1000.00ms", "latency_max", 1e6},
		"a figure too long for its column": {"wrk", "answers-of-a-second.txt", "    1.03s ", " 1000.00m ", "latency_avg", 1e6},
		"a warning before the results":     {"cassandra-stress", "read.txt", "Results:\n", warning + "Results:\n", "errors", 0},
		"a warning among the results":      {"cassandra-stress", "read.txt", "Total errors ", warning + "Total errors ", "errors", 0},
		"a warning behind the results":     {"cassandra-stress", "read.txt", "END\n", "END\n" + warning, "errors", 0},
	} {
		p, _ := Lookup(c.parser)
		text := read(c.parser, c.sample)
		changed := strings.Replace(text, c.old, c.new, 1)
		if changed == text {
			t.Fatalf("%s: %q is not in %s", what, c.old, c.sample)
		}
		fields, err := p.Parse([]byte(changed))
		if got, ok := fields[c.field]; err != nil || !ok || got != c.want {
			t.Errorf("%s: %s is %v, want %v (%v)", what, c.field, got, c.want, err)
		}
	}
}

// In an interval without an operation nothing can be divided.
func TestASeriesLeavesOutWhatHasNoValue(t *testing.T) {
	p, _ := Lookup("iperf3")
	text := string(samples(t, "iperf3")["udp-one-datagram.txt"])
	whole, err := p.Series([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	end := strings.Index(text, "\"end\":\t{")
	odd := regexp.MustCompile(`"seconds":\s*[0-9.]+,\s*"bytes":\s*\d+,\s*"bits_per_second":\s*[0-9.]+`).
		ReplaceAllString(text[:end], `"seconds": 0, "bytes": 0, "bits_per_second": null`) + text[end:]
	left, err := p.Series([]byte(odd))
	if err != nil || len(left["bandwidth_sent"]) != 0 || len(whole["bandwidth_sent"]) == 0 {
		t.Errorf("%v became %v, %v", whole, left, err)
	}
}

func TestNotesBeforeFiosReportAreSkipped(t *testing.T) {
	data := samples(t, "fio")["native-randread.txt"]
	p, _ := Lookup("fio")
	plain, _ := p.Parse(data)
	noted, err := p.Parse(append([]byte("note: both iodepth >= 1 and synchronous I/O engine are selected\n"), data...))
	if err != nil || !cmp.Equal(plain, noted) {
		t.Errorf("with a note: %v", err)
	}
}

// A server that stops for half a second delays two requests while they are
// served, because there are two connections, but keeps a quarter of all from
// being sent in time. Who looks at the served ones only does not see it.
func TestAStallShowsInTheLatencyFromTheIntendedTime(t *testing.T) {
	p, _ := Lookup("vegeta-csv")
	stall, err := p.Parse(samples(t, "vegeta-csv")["stall.txt"])
	if err != nil {
		t.Fatal(err)
	}
	if stall["latency_p99"] < 400e3 || stall["latency_p90"] < 250e3 {
		t.Errorf("the stall of 500 ms is not in the latency: p90 %v us, p99 %v us", stall["latency_p90"], stall["latency_p99"])
	}
	if stall["service_p99"] > 50e3 || stall["service_max"] < 500e3 {
		t.Errorf("the stall should be in the slowest service times only: p99 %v us, max %v us", stall["service_p99"], stall["service_max"])
	}
	calm, err := p.Parse(samples(t, "vegeta-csv")["calm.txt"])
	if err != nil {
		t.Fatal(err)
	}
	if d := calm["latency_max"] - calm["service_max"]; d > calm["send_delay_max"] || d < 0 {
		t.Errorf("without a stall both latencies differ by more than the sending's delay: %v us", d)
	}
}

// An end of a connection that does not know a figure prints 0 for it.
func TestValuesThatOneSideDoesNotReportAreAbsent(t *testing.T) {
	for _, c := range []struct {
		parser, sample string
		absent         []string
	}{
		{"iperf3", "docker-server.txt", []string{"bandwidth_sent", "retransmits", "jitter_ms", "bandwidth_received_reverse", "cpu_remote_percent"}},
		{"iperf3", "docker-serverR.txt", []string{"bandwidth_received", "bytes_received"}},
		{"iperf3", "docker-serverudp.txt", []string{"bandwidth_sent", "bytes_sent", "retransmits"}},
		{"iozone", "docker-gaps.txt", []string{"read", "reread", "backward_read", "fread"}},
		{"iozone", "native-gaps-3.510.txt", []string{"read", "reread", "backward_read", "record_rewrite", "fwrite"}},
		{"cassandra-stress", "read.txt", []string{"gc_count", "gc_time_mean", "write_op_rate"}},
		{"redis-benchmark", "docker-quiet.txt", []string{"requests", "set_latency_p99"}},
		{"ab", "nginx.txt", []string{"keep_alive_requests", "failed_length"}},
	} {
		p, _ := Lookup(c.parser)
		fields, err := p.Parse(samples(t, c.parser)[c.sample])
		if err != nil {
			t.Errorf("%s, %s: %v", c.parser, c.sample, err)
		}
		for _, name := range c.absent {
			if v, there := fields[name]; there {
				t.Errorf("%s, %s gives %s = %v", c.parser, c.sample, name, v)
			}
		}
	}
}

func TestAFamilyOfFieldsHasAllItsNames(t *testing.T) {
	p, _ := Lookup("stages")
	for name, want := range map[string]bool{"total": true, "stage_build": true, "stage_anything": true, "stage_": false, "stage": false, "": false} {
		if p.HasField(name) != want {
			t.Errorf("stages gives %q: %v", name, !want)
		}
	}
}

func TestGenericParsers(t *testing.T) {
	rate := regexp.MustCompile(`rate=(?P<rate>\S+)`)
	if f, err := Regex([]*regexp.Regexp{rate}, []byte("rate=5\n")); err != nil || f["rate"] != 5 {
		t.Errorf("regex: %v, %v", f, err)
	}
	if _, err := Regex([]*regexp.Regexp{rate}, []byte("rate=5\nrate=6\n")); err == nil || !strings.Contains(err.Error(), "more than once") {
		t.Errorf("two matches: %v", err)
	}
	if _, err := Regex([]*regexp.Regexp{rate}, []byte("rate=inf\n")); err == nil {
		t.Error("an infinite rate was taken")
	}
}

func TestOfSeveralTablesOfIOzoneTheFastestCounts(t *testing.T) {
	data, err := os.ReadFile("testdata/iozone/docker.txt")
	if err != nil {
		t.Fatal(err)
	}
	slower := strings.Replace(string(data), "  1231138", "  9231138", 1) // the first number of the row is the write
	p, _ := Lookup("iozone")
	got, err := p.Parse(append(data, slower...))
	alone, err2 := p.Parse(data)
	if err != nil || err2 != nil || got["write"] != 9231138*1024 || got["read"] != alone["read"] {
		t.Errorf("%v, alone %v, %v, %v", got, alone, err, err2)
	}
}
