package parse

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
)

var vegetaRate = expression(`^rate=([0-9.]+)(?: requests=(\d+))?$`)

// The columns of vegeta's CSV: time of sending (ns since the epoch), status
// code, latency (ns), bytes out, bytes in, error, body, attack, sequence number,
// method, URL, headers.
const (
	vegetaSent, vegetaCode, vegetaLatency, vegetaBytesIn, vegetaError, vegetaSeq = 0, 1, 2, 4, 5, 8
	vegetaColumns                                                                = 12
)

type vegetaResult struct {
	sent, service float64 // us, sent since the first row's
	seq           int
}

// readVegeta reads latencies corrected for coordinated omission: as a user
// saw them, independent of delays of the load generator. At a constant rate,
// request number seq is due at
//
//	intended(seq) = t0 + seq / rate
//
// and its latency is sent + service - intended. The start of the attack is not
// printed. Vegeta never sends a request early, so t0 is the latest time for
// which that holds for all requests: the minimum of sent(seq) - seq / rate.
// Percentiles are nearest-rank over all requests.
func readVegeta(r *reading) {
	r.wholeLines()
	first, table, _ := bytes.Cut(r.stdout, []byte("\n"))
	head := string(first)
	m := vegetaRate.find(head)
	if m == nil {
		fail("the first line %q is not like rate=100, the intended rate, or rate=100 requests=1000", clip(head))
	}
	rate := number(m[0], head)
	if rate <= 0 {
		fail("no rate is intended in %q; requests without a rate have no intended time", clip(head))
	}
	r.fields = map[string]float64{"rate_intended": rate, "errors": 0, "bytes": 0}
	results := r.vegetaResults(table)
	if m[1] != "" && m[1] != fmt.Sprint(len(results)) {
		fail("%q announces another number of requests than the %d that follow", clip(head), len(results))
	}
	t0 := math.Inf(1)
	for seq, each := range results {
		t0 = min(t0, each.sent-float64(seq)/rate*1e6)
	}
	var latency, service, delay []float64 // us
	answered := 0.0
	for seq, each := range results {
		late := each.sent - float64(seq)/rate*1e6 - t0
		delay, service, latency = append(delay, late), append(service, each.service), append(latency, late+each.service)
		answered = max(answered, each.sent+each.service)
	}
	n, f := float64(len(results)), r.fields
	f["requests"], f["success_ratio"] = n, 1-f["errors"]/n
	r.failed(f["errors"], n)
	if f["bytes"] == 0 {
		r.without("bytes") // with -max-body=0 vegeta reads no body, and prints 0
	}
	if third := len(results) / 3; third > 0 {
		f["service_growth"] = (median(service[len(service)-third:]) - median(service[:third])) / ((n - float64(third)) / rate * 1e6)
	}
	f["seconds"] = (answered - t0) / 1e6
	if f["seconds"] > 0 {
		f["throughput"] = (n - f["errors"]) / f["seconds"]
	}
	if sending := (results[len(results)-1].sent - results[0].sent) / 1e6; sending > 0 {
		f["rate_achieved"] = (n - 1) / sending
	}
	r.summarize(latency, "latency_", "mean p50 p90 p99 p999 max")
	r.summarize(service, "service_", "mean p50 p90 p99 p999 max")
	r.summarize(delay, "send_delay_", "p99 max")
	r.count("latency", latency)
	r.count("service", service)
	r.count("send_delay", delay)
}

// vegetaResults parses the rows, which are in the order of responses, and
// returns them in the order of requests. None may be missing.
func (r *reading) vegetaResults(table []byte) (results []vegetaResult) {
	rows := rowsOf("vegeta's table", table)
	if len(rows) == 0 {
		fail("vegeta made no request")
	}
	var first int64
	for i, row := range rows {
		line := strings.Join(row, ",")
		if len(row) != vegetaColumns {
			fail("the table of vegeta 12 has %d columns, and %d are in the line %q", vegetaColumns, len(row), clip(line))
		}
		var values [vegetaColumns]int64
		for _, c := range []int{vegetaSent, vegetaCode, vegetaLatency, vegetaBytesIn, vegetaSeq} {
			values[c] = whole(row[c], line)
		}
		if i == 0 {
			first = values[vegetaSent] // as it is, it is too long for a float64
		}
		results = append(results, vegetaResult{
			sent: float64(values[vegetaSent]-first) / 1e3, service: float64(values[vegetaLatency]) / 1e3, seq: int(values[vegetaSeq]),
		})
		r.fields["bytes"] += float64(values[vegetaBytesIn])
		if code := values[vegetaCode]; code < 200 || code >= 400 || row[vegetaError] != "" {
			r.fields["errors"]++
		}
	}
	slices.SortFunc(results, func(a, b vegetaResult) int { return a.seq - b.seq })
	for i, each := range results {
		if each.seq != i {
			fail("request %d is missing from vegeta's table or occurs twice: it has %d rows", i, len(results))
		}
	}
	return results
}
