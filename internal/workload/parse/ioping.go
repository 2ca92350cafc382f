package parse

import (
	"bytes"
	"strings"
)

// iopingRaw are ioping's raw statistics: requests, their time, requests per second, bytes
// per second, minimum, mean, maximum and standard deviation of the time; then all
// requests and the total time, including pauses. Times are in nanoseconds.
var iopingRaw = expression(`^\d+( \d+){9}$`)

// iopingKeys are the same statistics in JSON, and iopingNames the fields.
var (
	iopingKeys  = strings.Fields("count time iops bps min avg max mdev")
	iopingNames = strings.Fields("requests seconds iops bandwidth latency_min latency_mean latency_max latency_stdev")
)

func readIOPing(r *reading) {
	if bytes.HasPrefix(r.stdout, []byte("[")) {
		r.iopingJSON()
	} else {
		r.wholeLines()
		if !iopingRaw.match(r.lines[0]) {
			fail("%q is neither what ioping -B prints nor the beginning of -J", clip(r.lines[0]))
		}
		for _, line := range r.lines[1:] {
			if line != "" {
				fail("a second line after that of ioping -B: %q", clip(line))
			}
		}
		r.take(r.lines[0], strings.Fields(r.lines[0]), iopingNames...)
	}
	for _, name := range iopingNames[4:] {
		r.fields[name] /= 1e3
	}
	r.fields["seconds"] /= 1e9
	if r.fields["requests"] == 0 {
		fail("ioping counted no request; the first one is only its warm-up")
	}
}

func (r *reading) iopingJSON() {
	var entries []struct {
		IO   *struct{}           `json:"io"`
		Stat map[string]*float64 `json:"stat"`
	}
	decode("ioping's JSON", r.stdout, r.lines, &entries)
	for i, e := range entries {
		if last := i == len(entries)-1; (e.Stat != nil) != last || (e.IO != nil) == last {
			fail("entry %d of ioping's JSON is not what 1.3 prints: requests come first, their statistics last", i+1)
		}
	}
	if len(entries) == 0 {
		fail("ioping's JSON has no entry")
	}
	for i, name := range iopingNames {
		v := entries[len(entries)-1].Stat[iopingKeys[i]]
		if v == nil {
			fail("ioping's statistics have no %s", strings.ReplaceAll(name, "_", " "))
		}
		r.fields[name] = *v
	}
}

func splitIOPing(file []byte) ([][]byte, error) {
	if bytes.HasPrefix(bytes.TrimSpace(file), []byte("[")) {
		return splitJSON(file)
	}
	return splitAt(file, iopingRaw.match, ownOf(anything))
}
