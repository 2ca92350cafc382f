package parse

import (
	"cmp"
	"slices"
)

// ErrorRatio is the field with the share of the operations that failed: of those that a
// driver attempted, the ones that were refused or aborted, that timed out, or whose answer
// was an error or none. It is the same for all drivers; which tell it is in
// docs/reference/parsers.md.
const ErrorRatio = "error_ratio"

// failed says how many of the operations that were attempted failed. A driver may count
// one twice, as an answer with an error that was also too short.
func (r *reading) failed(errors, attempted float64) {
	if !(attempted > 0) {
		fail("no operation was attempted: %s", ending(r.lines))
	}
	r.fields["errors"] = min(errors, attempted)
	r.fields[ErrorRatio] = min(errors/attempted, 1)
}

// without leaves out fields that the tool printed and could not know.
func (r *reading) without(names ...string) {
	for _, name := range names {
		delete(r.fields, name)
	}
}

// ab counts on standard error, so that these lines may be elsewhere.
var (
	abCompleted = expression(`^Completed \d+ requests$`)
	abFinished  = expression(`^Finished \d+ requests$`)
)

// abFailures counts what ab calls failed. Of a response with an error status it says so
// once more where its length differs from the first one's. It counts a connection that
// the server closes without a byte as a request that was answered.
func abFailures(r *reading, _ *report) {
	f := r.fields
	if !slices.ContainsFunc(r.lines, abFinished.match) && slices.ContainsFunc(r.lines, abCompleted.match) {
		fail("ab was interrupted after %v requests: it does not say that it finished them", f["requests"])
	}
	if _, listed := f["latency_p100"]; f["requests"] > 1 && !listed {
		fail("no latency p50 to p100: the report of ab is not complete, or ab ran with -d, without which it prints them; %s", ending(r.lines))
	}
	for _, name := range []string{"write_errors", "non_2xx"} {
		f[name] += 0 // it prints them only if they are not 0
	}
	errors := max(f["failed"]+f["write_errors"], f["non_2xx"])
	if f["bytes"] == 0 {
		errors = f["requests"]
	}
	r.failed(errors, f["requests"])
}

// shortest is the least share of the wanted time that a run takes which was not stopped.
const shortest = 0.9

// wrkFailures counts the responses whose status is an error, those that took longer than
// the timeout, and the connections that were refused or broke.
func wrkFailures(r *reading, _ *report) {
	f := r.fields
	if f["seconds"] < shortest*f["_wanted"] {
		fail("wrk was stopped after %v s of %v s", f["seconds"]/1e6, f["_wanted"]/1e6)
	}
	broken := f["_connect"] + f["_read"] + f["_write"]
	r.failed(f["_status"]+f["_timeout"]+broken, f["requests"]+broken)
	if f["requests"] == 0 {
		r.without("latency_avg", "latency_stdev", "latency_max", "latency_p50", "latency_p75", "latency_p90", "latency_p99")
	}
}

// sysbenchFailures counts the transactions that ended with an error which sysbench ignores,
// or with their connection. It begins them again, as others.
func sysbenchFailures(r *reading, p *report) {
	sysbenchPercentile(r, p)
	errors := r.fields["ignored_errors"] + r.fields["reconnects"]
	r.failed(errors, r.fields["transactions"]+errors)
}

// pgbenchFailures counts the transactions that failed, after as many tries as were allowed.
func pgbenchFailures(r *reading, _ *report) {
	f := r.fields
	if wanted, limited := f["_wanted"]; limited && f["transactions"]+f["failed"]+f["skipped"] < wanted {
		fail("clients of pgbench were aborted: it processed %v of %v transactions, %v failed, and %v were skipped", f["transactions"], wanted, f["failed"], f["skipped"])
	}
	r.need("pgbench", r.lines, "latency_avg", "tps")
	// It ends with its last client, and says on standard error alone that all were aborted.
	tps := cmp.Or(f["_tps_of_all_time"], f["tps"])
	if took := f["transactions"]/tps + f["connect_time"]/1000; tps > 0 && took < shortest*f["_duration"] {
		fail("pgbench was to run for %v s and ran for %.3g s: its clients were aborted", f["_duration"], took)
	}
	if _, told := f["failed"]; told { // before 15 it ended a client at its first failure
		r.failed(f["failed"], f["transactions"]+f["failed"])
	}
}
