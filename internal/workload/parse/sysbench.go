package parse

import (
	"math"
	"slices"
	"strconv"
)

// Bins lie at equal distances of the logarithm. Values have three digits after the
// point, which matters more for those below 0.06 ms.
var (
	sysbenchBin      = expression(`^ *([0-9.]+) \|\** +(\d+)$`)
	sysbenchHalfBin  = math.Log(1e5/1e-3) / 1023 / 2
	sysbenchRounding = 0.0005
)

// sysbenchHistograms adds the bins of --histogram=on. The value is in the middle of its bin.
func sysbenchHistograms(r *reading) {
	var h Histogram
	for _, line := range r.lines {
		if m := sysbenchBin.find(line); m != nil {
			value := number(m[0], line)
			half := max(value*sysbenchHalfBin, sysbenchRounding)
			h = append(h, Bin{max(value-half, 0), value + half, number(m[1], line)})
		}
	}
	if h != nil {
		r.histograms = map[string]Histogram{"latency": h}
	}
}

// sysbenchModes gives the modes of fileio the names by which sysbench is asked for them.
func sysbenchModes(_ []byte, found map[string]string) map[string]string {
	names := map[string]string{
		"sequential read": "seqrd", "sequential write (creation)": "seqwr", "sequential rewrite": "seqrewr",
		"random read": "rndrd", "random write": "rndwr", "random r/w": "rndrw",
	}
	if name, known := names[found["mode"]]; known {
		found["mode"] = name
	}
	return found
}

// sysbenchQueries says from the queries whether a test read, wrote or did both:
// sysbench does not print the name of its script.
func sysbenchQueries(_ []byte, found map[string]string) map[string]string {
	read, write := found["read"], found["write"]
	delete(found, "read")
	delete(found, "write")
	switch {
	case read == "" || write == "" || read == "0" && write == "0":
	case write == "0":
		found["mode"] = "read_only"
	case read == "0":
		found["mode"] = "write_only"
	default:
		found["mode"] = "read_write"
	}
	return found
}

// sysbenchInterval is a line of --report-interval.
var sysbenchInterval = expression(`^\[ (\d+)s \] thds: \d+ tps: ([0-9.]+) qps: ([0-9.]+) \(r/w/o: \S+\) lat \(ms,(\d+)%\): ([0-9.]+) err/s:? [0-9.]+ reconn/s:? [0-9.]+$`)

// sysbenchSeries adds the output of --report-interval. A point has the time at
// which its interval begins.
func sysbenchSeries(r *reading) {
	begin := 0.0
	for _, line := range r.lines {
		m := sysbenchInterval.find(line)
		if m == nil {
			continue
		}
		for name, text := range map[string]string{"tps": m[1], "qps": m[2], "latency_p" + m[3]: m[4]} {
			if name != "latency_p0" { // disabled
				r.series[name] = append(r.series[name], Point{Second: begin, Value: number(text, line)})
			}
		}
		begin = number(m[0], line)
	}
}

// sysbenchPercentile gives the percentile of --percentile its name.
func sysbenchPercentile(r *reading, _ *report) {
	if p, printed := r.fields["_percentile"]; printed {
		r.fields["latency_p"+strconv.FormatFloat(p, 'f', -1, 64)] = r.fields["_latency"]
	}
}

// sysbenchMemory checks that only an operation that moves nothing has no throughput.
func sysbenchMemory(r *reading, p *report) {
	sysbenchPercentile(r, p)
	if !slices.Contains(r.lines, "  operation: none") {
		r.need(p.Of, r.lines, "transferred", "throughput")
	}
}
