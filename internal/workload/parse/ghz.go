package parse

import (
	"cmp"
	"time"
)

func ghzSettings(_ []byte, found map[string]string) map[string]string {
	if len(found) > 0 {
		found["rate"] = cmp.Or(found["rate"], "0") // it leaves out a rate of 0
	}
	return found
}

type ghzReport struct {
	Count   *float64 `json:"count"`
	End     string   `json:"endReason"` // normal, timeout after -z or -x, cancel; older versions have none
	Details []struct {
		Timestamp time.Time `json:"timestamp"`
		Latency   int64     `json:"latency"` // ns
		Status    string    `json:"status"`
		Error     string    `json:"error"`
	} `json:"details"`
}

// ghzClosed are errors of calls whose connection ghz closed itself.
var ghzClosed = expression(`use of closed network connection$|the client connection is closing$`)

// readGhz reads the latencies of all calls. ghz's own rate is of the whole run, with its
// connections.
func readGhz(r *reading) {
	var report ghzReport
	decode("ghz's report", r.stdout, r.lines, &report)
	switch {
	case report.Count == nil:
		fail("it is not a report of ghz with -O json: it has no count")
	case len(report.Details) == 0:
		fail("ghz lists no call that ended")
	case float64(len(report.Details)) != *report.Count:
		fail("ghz lists %d calls and counts %g", len(report.Details), *report.Count)
	case report.End == "cancel":
		fail("ghz was interrupted after %g calls: its endReason is cancel", *report.Count)
	}
	failed := 0.0
	var calls []float64 // us
	var first, last time.Time
	for i, call := range report.Details {
		if call.Latency < 0 || call.Timestamp.IsZero() {
			fail("call %d of ghz has no time", i+1)
		}
		// At the end of its time ghz closes the calls that are under way, unless it has
		// --duration-stop=wait or ignore: these have no end, and did not fail.
		if report.End == "timeout" && ghzClosed.match(call.Error) {
			continue
		}
		if call.Status != "OK" {
			failed++
		}
		if first.IsZero() || call.Timestamp.Before(first) {
			first = call.Timestamp
		}
		if end := call.Timestamp.Add(time.Duration(call.Latency)); end.After(last) {
			last = end
		}
		calls = append(calls, float64(call.Latency)/1e3)
	}
	if len(calls) == 0 {
		fail("ghz lists no call that ended")
	}
	n, seconds := float64(len(calls)), last.Sub(first).Seconds()
	r.fields["calls"], r.fields["seconds"] = n, seconds
	r.failed(failed, n)
	if seconds > 0 {
		r.fields["calls_per_second"] = (n - failed) / seconds
	}
	r.count("latency", calls)
	r.summarize(calls, "latency_", "mean min p50 p90 p95 p99 p999 max")
}
