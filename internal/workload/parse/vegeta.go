package parse

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

var vegetaCSV = Parser{
	Name: "vegeta-csv",
	About: "first a line rate=NUMBER (the intended requests per second), or rate=NUMBER requests=COUNT, then what vegeta encode --to csv prints " +
		"of a constant-rate attack; latency_ is from when a request should have been sent, service_ from when it was; failed requests count in both; " +
		"service_growth is the median service time of the last third of the requests without that of the first third, over the time between them",
	Versions: "12.13.0",
	Fields: []Field{
		{"requests", "op"}, {"errors", "op"}, {"success_ratio", "1"}, {"error_ratio", "1"}, {"seconds", "s"},
		{"rate_intended", "op/s"}, {"rate_achieved", "op/s"}, {"throughput", "op/s"}, {"bytes", "B"},
		{"latency_mean", "us"}, {"latency_p50", "us"}, {"latency_p90", "us"}, {"latency_p99", "us"}, {"latency_p999", "us"}, {"latency_max", "us"},
		{"service_mean", "us"}, {"service_p50", "us"}, {"service_p90", "us"}, {"service_p99", "us"}, {"service_p999", "us"}, {"service_max", "us"}, {"service_growth", "1"},
		{"send_delay_p99", "us"}, {"send_delay_max", "us"},
	},
	Parse:    parseVegeta,
	Split:    splitPrefix("rate="),
	Settings: settingsIn(`^rate=(?P<rate>[0-9.]+)`),

	Distributions: []Field{{"latency", "us"}, {"service", "us"}, {"send_delay", "us"}},
	Histograms: func(stdout []byte) (map[string]Histogram, error) {
		times, _, err := vegetaTimes(stdout)
		return map[string]Histogram{
			"latency": histogramOf(times.latency), "service": histogramOf(times.service), "send_delay": histogramOf(times.delay),
		}, err
	},
}

var vegetaRate = regexp.MustCompile(`^rate=([0-9.]+)(?: requests=(\d+))?$`)

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

// parseVegeta returns latencies corrected for coordinated omission: as a user
// saw them, independent of delays of the load generator. At a constant rate,
// request number seq is due at
//
//	intended(seq) = t0 + seq / rate
//
// and its latency is sent + service - intended. The start of the attack is not
// printed. Vegeta never sends a request early, so t0 is the latest time for
// which that holds for all requests: the minimum of sent(seq) - seq / rate.
// Percentiles are nearest-rank over all requests.
func parseVegeta(stdout []byte) (map[string]float64, error) {
	times, fields, err := vegetaTimes(stdout)
	if err != nil {
		return nil, err
	}
	newDistribution(times.latency).summarize(fields, "latency_", "mean", "p50", "p90", "p99", "p999", "max")
	newDistribution(times.service).summarize(fields, "service_", "mean", "p50", "p90", "p99", "p999", "max")
	newDistribution(times.delay).summarize(fields, "send_delay_", "p99", "max")
	return fields, nil
}

// vegetaLatencies are the times of each request, in us.
type vegetaLatencies struct{ latency, service, delay []float64 }

// vegetaTimes returns the times of at least one request, and the values that are
// none of them.
func vegetaTimes(stdout []byte) (times vegetaLatencies, fields map[string]float64, err error) {
	if err := endsWithALine(stdout); err != nil {
		return times, nil, err
	}
	head, table, _ := bytes.Cut(stdout, []byte("\n"))
	m := vegetaRate.FindStringSubmatch(string(head))
	if m == nil {
		return times, nil, fmt.Errorf("the first line %q is not like rate=100, the intended rate, or rate=100 requests=1000", clip(string(head)))
	}
	rate, err := number(m[1], string(head))
	if err != nil {
		return times, nil, err
	} else if rate <= 0 {
		return times, nil, fmt.Errorf("no rate is intended in %q; requests without a rate have no intended time", clip(string(head)))
	}
	fields = map[string]float64{"rate_intended": rate, "errors": 0, "bytes": 0}
	results, err := vegetaResults(table, fields)
	if err != nil {
		return times, nil, err
	}
	if m[2] != "" && m[2] != fmt.Sprint(len(results)) {
		return times, nil, fmt.Errorf("%q announces another number of requests than the %d that follow", clip(string(head)), len(results))
	}
	t0 := math.Inf(1)
	for seq, r := range results {
		t0 = min(t0, r.sent-float64(seq)/rate*1e6)
	}
	answered := 0.0
	for seq, r := range results {
		late := r.sent - float64(seq)/rate*1e6 - t0
		times.delay, times.service, times.latency = append(times.delay, late), append(times.service, r.service), append(times.latency, late+r.service)
		answered = max(answered, r.sent+r.service)
	}
	n := float64(len(results))
	fields["requests"], fields["success_ratio"], fields["error_ratio"] = n, 1-fields["errors"]/n, fields["errors"]/n
	if third := len(results) / 3; third > 0 {
		first, last := newDistribution(times.service[:third]), newDistribution(times.service[len(results)-third:])
		fields["service_growth"] = (last.percentile(50) - first.percentile(50)) / ((n - float64(third)) / rate * 1e6)
	}
	fields["seconds"] = (answered - t0) / 1e6
	if fields["seconds"] > 0 {
		fields["throughput"] = (n - fields["errors"]) / fields["seconds"]
	}
	if sending := (results[len(results)-1].sent - results[0].sent) / 1e6; sending > 0 {
		fields["rate_achieved"] = (n - 1) / sending
	}
	return times, fields, nil
}

// vegetaResults parses the rows, which are in the order of responses, and
// returns them in the order of requests. None may be missing.
func vegetaResults(table []byte, fields map[string]float64) ([]vegetaResult, error) {
	rows, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("vegeta's table: %w", err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("vegeta made no request")
	}
	var results []vegetaResult
	var first int64
	for i, row := range rows {
		line := strings.Join(row, ",")
		if len(row) != vegetaColumns {
			return nil, fmt.Errorf("vegeta 12.13 prints %d columns, and %d are in the line %q", vegetaColumns, len(row), clip(line))
		}
		var values [vegetaColumns]int64
		for _, c := range []int{vegetaSent, vegetaCode, vegetaLatency, vegetaBytesIn, vegetaSeq} {
			if values[c], err = whole(row[c], line); err != nil {
				return nil, err
			}
		}
		if i == 0 {
			first = values[vegetaSent] // as it is, it is too long for a float64
		}
		results = append(results, vegetaResult{
			sent: float64(values[vegetaSent]-first) / 1e3, service: float64(values[vegetaLatency]) / 1e3, seq: int(values[vegetaSeq]),
		})
		fields["bytes"] += float64(values[vegetaBytesIn])
		if code := values[vegetaCode]; code < 200 || code >= 400 || row[vegetaError] != "" {
			fields["errors"]++
		}
	}
	slices.SortFunc(results, func(a, b vegetaResult) int { return a.seq - b.seq })
	for i, r := range results {
		if r.seq != i {
			return nil, fmt.Errorf("request %d is missing from vegeta's table or occurs twice: it has %d rows", i, len(results))
		}
	}
	return results, nil
}
