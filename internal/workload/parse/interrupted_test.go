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
