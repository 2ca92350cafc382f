package parse

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFailedOperationsAreAShareOfThoseThatWereAttempted(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for what, c := range map[string]struct {
		parser, output string
		errors, share  float64
	}{
		"wrk, answers with an error status":          {"wrk", read("broken/wrk-non2xx.txt"), 89902, 1},
		"wrk, connections that broke":                {"wrk", strings.Replace(read("wrk/native.txt"), "Requests/sec", "  Socket errors: connect 0, read 3, write 0, timeout 4\nRequests/sec", 1), 7, 7. / 13870},
		"wrk, nobody listens":                        {"wrk", strings.Replace(read("broken/wrk-no-request.txt"), "Requests/sec", "  Socket errors: connect 16, read 0, write 0, timeout 0\nRequests/sec", 1), 16, 1},
		"wrk2, requests that wait":                   {"wrk2", strings.Replace(read("wrk2/readme-stalled.txt"), "Requests/sec", "  Socket errors: connect 0, read 2, write 0, timeout 100\nRequests/sec", 1), 102, 102. / 60157},
		"ab, pages of another length":                {"ab", read("ab/answers-of-varying-length.txt"), 1524, math.NaN()},
		"ab, error pages":                            {"ab", read("ab/docker-keepalive-404.txt"), 1000, 1},
		"ab, not a byte":                             {"ab", read("kept/ab-empty-answers/docker-1.txt"), 50, 1},
		"ab, every answer":                           {"ab", read("ab/nginx.txt"), 0, 0},
		"h2load, error pages":                        {"h2load", read("broken/h2load-not-found.txt"), 50, 1},
		"h2load, nobody listens":                     {"h2load", read("broken/h2load-refused.txt"), 5, 1},
		"h2load, clients that gave up":               {"h2load", read("h2load/connections-that-broke.txt"), 2, 2. / 7},
		"ab, some without a byte":                    {"ab", read("ab/closed-without-a-byte.txt"), 12, .3},
		"wrk, connections that the server closed":    {"wrk", read("wrk/connections-that-broke.txt"), 113, 113. / 375},
		"wrk, answers after its timeout":             {"wrk", read("wrk/answers-after-the-timeout.txt"), 4, 1},
		"h2load, one of two thousand":                {"h2load", strings.Replace(read("h2load/native.txt"), "2000 succeeded, 0 failed", "1999 succeeded, 1 failed", 1), 1, 1. / 2000},
		"k6, refused connections":                    {"k6", read("kept/k6-all-failed/docker-0.json"), 812, 1},
		"k6, pages that a check refuses":             {"k6", strings.Replace(read("kept/k6-all-failed/native-0.json"), `"metrics": {`, `"metrics": {"checks": {"passes": 609, "fails": 203, "value": 0.75}, `, 1), 203, .25},
		"vegeta, refused connections":                {"vegeta-csv", read("vegeta-csv/refused.txt"), math.NaN(), 1},
		"ghz, deadlines":                             {"ghz", read("ghz/deadline.txt"), 54, math.NaN()},
		"pgbench, serialization failures":            {"pgbench", read("pgbench/serial.txt"), 82, math.NaN()},
		"sysbench, deadlocks":                        {"sysbench-oltp", read("sysbench-oltp/docker-write-only.txt"), 9, math.NaN()},
		"memtier_benchmark, connections":             {"memtier", strings.Replace(read("memtier/requests.txt"), `"Connection Errors": 0`, `"Connection Errors": 2000`, -1), 2000, .5},
		"JMeter, samples without success":            {"jmeter", strings.ReplaceAll(read("jmeter/wordpress.txt"), "text,true", "text,false"), 40, 1},
		"cassandra-stress, operations with an error": {"cassandra-stress", strings.Replace(read("cassandra-stress/read.txt"), "Total errors              :          0 [READ: 0]", "Total errors              :         20 [READ: 20]", 1), 20, math.NaN()},
	} {
		p, _ := Lookup(c.parser)
		fields, err := p.Parse([]byte(c.output))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		for name, want := range map[string]float64{"errors": c.errors, ErrorRatio: c.share} {
			if got, told := fields[name]; !told || !math.IsNaN(want) && got != want {
				t.Errorf("%s: %s is %v (%v), want %v", what, name, got, told, want)
			}
		}
		if share := fields[ErrorRatio]; share < 0 || share > 1 || (share > 0) != (fields["errors"] > 0) {
			t.Errorf("%s: a share of %v", what, share)
		}
	}
}

// pgbench up to 14, and a memtier_benchmark that does not print them, do not tell failures.
func TestAToolThatTellsNoFailuresHasNoShareOfThem(t *testing.T) {
	for parser, file := range map[string]string{"pgbench": "kept/pgbench-14/pg14.txt", "memtier": "kept/memtier-histogram/memtier.json"} {
		p, _ := Lookup(parser)
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		fields, err := p.Parse(data)
		if _, told := fields[ErrorRatio]; told || err != nil {
			t.Errorf("%s: %v, %v", file, fields, err)
		}
	}
}
