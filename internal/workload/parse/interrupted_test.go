package parse

import (
	"strings"
	"testing"
)

// Outputs of stress-ng 0.15.06, ab 2.3 and redis-benchmark 7.0.15 that SIGINT ended after a
// second, and of pgbench 15.18 whose server was killed, without its standard error.
func TestInterruptedRunsAreRefused(t *testing.T) {
	for _, c := range []struct{ parser, file, want string }{
		{"stress-ng", "stress-ng", "was to run for 5 s and ran for 0.99 s: it was interrupted, or a number of operations (--cpu-ops) ended it"},
		{"stress-ng", "stress-ng-ops", "was to do 300000 bogo operations and did 212: it was interrupted"},
		{"ab", "ab", "ab was interrupted after "},
		{"ab", "ab-q", "ab was interrupted"},
		{"redis-benchmark", "redis", `interrupted in the test "GET"`},
		{"redis-benchmark", "redis-q", `interrupted in the test "GET"`},
		{"ghz", "ghz", "interrupted after 12 calls"},
		{"memtier", "memtier", "memtier_benchmark was interrupted"},
		{"memtier", "memtier-server-killed", "counted no operation"},
		{"pgbench", "pgbench-server-killed", "was to run for 3 s and ran for 1.45 s: its clients were aborted"},
	} {
		all, err := imported(c.parser, keptFile(t, "interrupted/"+c.file+".txt"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want %q", c.file, all, err, c.want)
		}
	}
}

func TestRunsThatReachTheirLimitAreRead(t *testing.T) {
	for _, c := range []struct {
		parser, file, field string
		want                float64
	}{
		{"stress-ng", "stress-ng-ops-done", "bogo_ops", 300},
		{"ab", "ab-finished", "requests", 2000},
	} {
		all, err := imported(c.parser, keptFile(t, "interrupted/"+c.file+".txt"))
		if err != nil || len(all) != 1 || all[0][c.field] != c.want {
			t.Errorf("%s: %v, %v", c.file, all, err)
		}
	}
	for text, want := range map[string]float64{"5.03s": 5.03, "90 second (1 min, 30.00 secs)": 90, "1 min, 30 secs": 90, "1 day, 1 hour": 90000, "some time": 0} {
		if got := stressSeconds(text); got != want {
			t.Errorf("%q are %v s, want %v", text, got, want)
		}
	}
}

// What an interrupted run prints like a complete one is said to be so, unless a line tells.
func TestWhatMayBeOfAnInterruptedRunIsSaid(t *testing.T) {
	file := func(name string) string { return string(keptFile(t, name)) }
	completed := strings.NewReplacer("Completed 3000 requests\n", "", "Completed 6000 requests\n", "").Replace(file("interrupted/ab.txt"))
	for name, c := range map[string]struct {
		parser, text string
		want         string // "": it tells
	}{
		"k6":                             {"k6", file("k6-handle-summary/summary.json"), "how long the run was to take"},
		"dd":                             {"dd", file("../dd/native.txt"), "after SIGINT"},
		"JMeter":                         {"jmeter", file("../jmeter/wordpress.txt"), "how long the test was to take"},
		"ab without its standard error":  {"ab", completed, "2>&1"},
		"ab with it":                     {"ab", file("interrupted/ab-finished.txt"), ""},
		"ab -q":                          {"ab", file("../ab/docker-quiet.txt"), ""},
		"stress-ng without --timeout":    {"stress-ng", file("interrupted/stress-ng-no-timeout.txt"), "-v prints how many"},
		"stress-ng with it":              {"stress-ng", strings.Replace(file("interrupted/stress-ng-no-timeout.txt"), "defaulting to a 86400 second (1 day, 0.00 secs)", "setting to a 1 second", 1), ""},
		"stress-ng -v":                   {"stress-ng", file("interrupted/stress-ng-ops-done.txt"), ""},
		"clients without standard error": {"pgbench", file("pgbench-14/pg14.txt"), "some of its clients were aborted"},
		"clients with it":                {"pgbench", "starting vacuum...end.\n" + file("pgbench-14/pg14.txt"), ""},
		"one client":                     {"pgbench", strings.Replace(file("pgbench-14/pg14.txt"), "clients: 4", "clients: 1", 1), ""},
		"a number of transactions":       {"pgbench", file("../pgbench/select-transactions.txt"), ""},
		"sysbench, which prints nothing": {"sysbench-cpu", file("../sysbench-cpu/native.txt"), ""},
	} {
		if all, err := imported(c.parser, []byte(c.text)); err != nil || len(all) != 1 {
			t.Errorf("%s: %v, %v", name, all, err)
		}
		p, _ := Lookup(c.parser)
		if got := p.Unsure([]byte(c.text)); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Results are kept in Markdown too, each in a block, with text between them.
func TestABlockOfMarkdownEndsAResult(t *testing.T) {
	one := "```bash\n" + strings.TrimSuffix(string(keptFile(t, "options/pgbench-P.txt")), "\n") + "\n```\n\n**Again**, *error* and 3.5 times\n"
	all, err := imported("pgbench", []byte("# Results\n"+one+one))
	if err != nil || len(all) != 2 || all[0]["tps"] != 24.170427 || all[1]["tps"] != 24.170427 {
		t.Errorf("%v, %v", all, err)
	}
	cut := strings.Replace(one, "tps = ", "```\ntps = ", 1)
	if all, err := imported("pgbench", []byte(cut)); err == nil {
		t.Errorf("a report that goes on behind its block is read: %v", all)
	}
	redis := "```\nWARNING: Could not fetch server CONFIG\n" + string(keptFile(t, "options/redis-k0.txt")) + "```\n"
	if all, err := imported("redis-benchmark", []byte(redis)); err != nil || len(all) != 1 || all[0]["get_rps"] != 7692.31 {
		t.Errorf("%v, %v", all, err)
	}
	xml := "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testResults version=\"1.2\">\n</testResults>\n"
	if _, err := imported("jmeter", []byte(xml)); err == nil || !strings.Contains(err.Error(), "output_format=csv") {
		t.Errorf("JMeter's XML: %v", err)
	}
}
