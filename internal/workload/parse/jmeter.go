package parse

import (
	"math"
	"slices"
	"strings"
)

// jmeterSample is one request; times are in milliseconds since the epoch.
type jmeterSample struct {
	at, elapsed, bytes, users, firstByte, connect float64
	failed                                        bool
}

// jmeterColumns are required, in any order; others may be there.
var jmeterColumns = []string{"timeStamp", "elapsed", "bytes", "allThreads", "Latency", "Connect", "success", "responseMessage"}

func (r *reading) jmeterSamples() (samples []jmeterSample) {
	r.wholeLines()
	rows := rowsOf("JMeter's result file", r.stdout)
	if len(rows) < 2 {
		fail("JMeter's result file has no sample: %s", ending(r.lines))
	}
	var column [8]int
	for i, name := range jmeterColumns {
		if column[i] = slices.Index(rows[0], name); column[i] < 0 {
			fail("no column %s in the head of JMeter's result file, %q", name, clip(strings.Join(rows[0], ",")))
		}
	}
	for _, row := range rows[1:] {
		line := strings.Join(row, ",")
		var s jmeterSample
		for i, to := range []*float64{&s.at, &s.elapsed, &s.bytes, &s.users, &s.firstByte, &s.connect} {
			if *to = number(row[column[i]], line); *to < 0 {
				fail("%s is negative in the line %q", jmeterColumns[i], clip(line))
			}
		}
		success := row[column[6]]
		if s.failed = success == "false"; !s.failed && success != "true" {
			fail("success is neither true nor false in the line %q", clip(line))
		}
		if strings.HasPrefix(row[column[7]], "Number of samples in transaction") {
			fail("a transaction controller's sample counts its requests again; turn it off in the plan: %q", clip(line))
		}
		samples = append(samples, s)
	}
	return samples
}

// jmeterSpan returns the time from the first request's start to the last
// response's end.
func jmeterSpan(samples []jmeterSample) (begin, end float64) {
	begin = math.Inf(1)
	for _, s := range samples {
		begin, end = min(begin, s.at), max(end, s.at+s.elapsed)
	}
	return begin, end
}

func readJMeter(r *reading) {
	samples := r.jmeterSamples()
	begin, end := jmeterSpan(samples)
	n := float64(len(samples))
	r.fields = map[string]float64{"requests": n, "errors": 0, "seconds": (end - begin) / 1e3, "users_max": 0, "bytes": 0, "first_byte_mean": 0, "connect_mean": 0}
	var elapsed []float64
	for _, s := range samples {
		if s.failed {
			r.fields["errors"]++
		}
		elapsed = append(elapsed, s.elapsed)
		r.fields["bytes"] += s.bytes
		r.fields["first_byte_mean"] += s.firstByte / n
		r.fields["connect_mean"] += s.connect / n
		r.fields["users_max"] = max(r.fields["users_max"], s.users)
	}
	r.fields["error_ratio"] = r.fields["errors"] / n
	if end > begin {
		r.fields["throughput"] = n / r.fields["seconds"]
	}
	r.count("elapsed", elapsed)
	r.summarize(elapsed, "elapsed_", "min mean p50 p90 p95 p99 max")
}

const jmeterWindows = 120 // a series has at most as many points

// jmeterSeries adds windows of one second, by when requests were sent. A
// window without requests has no response time and no number of users.
func jmeterSeries(r *reading) {
	samples := r.jmeterSamples()
	begin, end := jmeterSpan(samples)
	span := (end - begin) / 1e3
	width := max(1, math.Ceil(span/jmeterWindows))
	type window struct{ requests, elapsed, users float64 }
	windows := make([]window, max(1, int(math.Ceil(span/width))))
	for _, s := range samples {
		w := &windows[min(int((s.at-begin)/1e3/width), len(windows)-1)]
		w.requests++
		w.elapsed += s.elapsed
		w.users = max(w.users, s.users)
	}
	add := func(name string, at, value float64) { r.series[name] = append(r.series[name], Point{at, value}) }
	for i, w := range windows {
		at := float64(i) * width
		if covered := min(width, span-at); covered > 0 {
			add("requests_per_second", at, w.requests/covered)
		}
		if w.requests > 0 {
			add("response_time", at, w.elapsed/w.requests)
			add("users", at, w.users)
		}
	}
}
