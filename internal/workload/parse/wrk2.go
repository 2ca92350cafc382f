package parse

import (
	"maps"
	"slices"
	"strings"
)

var (
	wrk2Kind = expression(`^  Latency Distribution \(HdrHistogram - (Recorded|Uncorrected) Latency.*\)$`)
	// wrk2Quantile has a blank where its value fills the column, or two.
	wrk2Quantile = expression(`^ *(\d+\.\d{3})% *(\d+\.\d{2}[a-z]+)$`)
	wrk2Count    = expression(`^ +(\d+\.\d{3}) +[01]\.\d+ +(\d+) +(?:\d+\.\d{2}|inf)$`)
	wrk2Total    = expression(`^#\[Max +=.*, Total count +=\s+(\d+)\]$`)
	wrk2Other    = expression(`^(  Thread calibration: .*|  Detailed Percentile spectrum:|       Value   Percentile   TotalCount 1/\(1-Percentile\)|#\[(Mean|Buckets) .*\]|-+)$`)
)

var (
	wrk2Prefixes = map[string]string{"Recorded": "latency", "Uncorrected": "service"}
	wrk2Names    = map[string]string{"50.000": "p50", "75.000": "p75", "90.000": "p90", "99.000": "p99", "99.900": "p999", "99.990": "p9999", "99.999": "p99999", "100.000": "max"}
)

// readWrk2 reads what wrk2 adds to the report of wrk: the percentiles, and how many
// requests took up to how long. Both are of the requests after its calibration.
func readWrk2(r *reading) {
	wrk := &declarationOf("wrk").Report
	extra, histograms := map[string]float64{}, map[string]Histogram{}
	var ofWrk []string
	kind, last, counted := "", 0.0, 0.0 // of the histogram at hand
	for _, line := range r.lines {
		if m := wrk2Kind.find(line); m != nil {
			if kind, last, counted = wrk2Prefixes[m[0]], 0, 0; histograms[kind] != nil {
				fail("a second distribution of the same kind: %q", clip(line))
			}
			histograms[kind] = Histogram{}
		} else if m := wrk2Quantile.find(line); m != nil && kind != "" && wrk2Names[m[0]] != "" {
			extra[kind+"_"+wrk2Names[m[0]]] = wrk.value(m[1], line)
		} else if m := wrk2Count.find(line); m != nil && kind != "" {
			us, count := number(m[0], line)*1e3, number(m[1], line)
			if us < last || count < counted {
				fail("not in the order of latencies: %q", clip(line))
			}
			if len(histograms[kind]) == 0 {
				last = us // the first one is the least value
			}
			histograms[kind] = append(histograms[kind], Bin{last, us, count - counted})
			last, counted = us, count
		} else if m := wrk2Total.find(line); m != nil && kind != "" {
			if number(m[0], line) != counted {
				fail("the lines above %q count %v requests", clip(line), counted)
			}
			kind = ""
		} else if !wrk2Other.match(line) {
			ofWrk = append(ofWrk, line)
		}
	}
	if kind != "" {
		fail("wrk2's distribution is not complete: %s", ending(r.lines))
	}
	r.lines = strings.Split(strings.Join(ofWrk, "\n"), "\n")
	wrk.read(r)
	r.fields["requests"] += r.fields["_timeout"] // they are not among the responses yet
	wrkFailures(r, wrk)
	r.fields["requests"] -= r.fields["_timeout"]
	wrk.compute(r)
	maps.Copy(r.fields, extra)
	for name, h := range histograms {
		histograms[name] = slices.DeleteFunc(h, func(b Bin) bool { return b.Count == 0 })
	}
	r.histograms = histograms
}
