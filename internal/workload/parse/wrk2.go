package parse

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var wrk2 = Parser{
	Name: "wrk2",
	About: "wrk2, with or without --latency and --u_latency; latency_ is from when a request should have been sent, service_ from when it was (--u_latency); " +
		"responses other than 2xx and 3xx, and socket errors, are an error",
	Versions: "4.0.0, from its README",
	Fields: []Field{
		{"requests", "op"}, {"seconds", "s"}, {"bytes", "B"},
		{"requests_per_second", "op/s"}, {"bytes_per_second", "B/s"},
		{"latency_avg", "us"}, {"latency_stdev", "us"}, {"latency_max", "us"},
		{"latency_p50", "us"}, {"latency_p75", "us"}, {"latency_p90", "us"}, {"latency_p99", "us"}, {"latency_p999", "us"}, {"latency_p9999", "us"}, {"latency_p99999", "us"},
		{"service_p50", "us"}, {"service_p75", "us"}, {"service_p90", "us"}, {"service_p99", "us"}, {"service_p999", "us"}, {"service_p9999", "us"}, {"service_p99999", "us"}, {"service_max", "us"},
	},
	Parse: func(stdout []byte) (map[string]float64, error) {
		fields, _, err := wrk2Report(stdout)
		return fields, err
	},
	Split: wrk.Split,

	Distributions: []Field{{"latency", "us"}, {"service", "us"}},
	Histograms: func(stdout []byte) (map[string]Histogram, error) {
		_, histograms, err := wrk2Report(stdout)
		return histograms, err
	},
}

var (
	wrk2Kind = regexp.MustCompile(`^  Latency Distribution \(HdrHistogram - (Recorded|Uncorrected) Latency.*\)$`)
	// wrk2Quantile has a blank where its value fills the column, or two.
	wrk2Quantile = regexp.MustCompile(`^ *(\d+\.\d{3})% *(\d+\.\d{2}[a-z]+)$`)
	wrk2Count    = regexp.MustCompile(`^ +(\d+\.\d{3}) +[01]\.\d+ +(\d+) +(?:\d+\.\d{2}|inf)$`)
	wrk2Total    = regexp.MustCompile(`^#\[Max +=.*, Total count +=\s+(\d+)\]$`)
	wrk2Other    = regexp.MustCompile(`^(  Thread calibration: .*|  Detailed Percentile spectrum:|       Value   Percentile   TotalCount 1/\(1-Percentile\)|#\[(Mean|Buckets) .*\]|-+)$`)

	wrk2Prefixes = map[string]string{"Recorded": "latency", "Uncorrected": "service"}
	wrk2Names    = map[string]string{"50.000": "p50", "75.000": "p75", "90.000": "p90", "99.000": "p99", "99.900": "p999", "99.990": "p9999", "99.999": "p99999", "100.000": "max"}
)

// wrk2Report parses what wrk2 adds to the report of wrk: the percentiles, and how many
// requests took up to how long. Both are of the requests after its calibration.
func wrk2Report(stdout []byte) (fields map[string]float64, histograms map[string]Histogram, err error) {
	extra, found := map[string]float64{}, map[string]float64{}
	histograms = map[string]Histogram{}
	var ofWrk []string
	kind, last, counted := "", 0.0, 0.0 // of the histogram at hand
	for _, line := range lines(stdout) {
		if m := wrk2Kind.FindStringSubmatch(line); m != nil {
			if kind, last, counted = wrk2Prefixes[m[1]], 0, 0; histograms[kind] != nil {
				return nil, nil, fmt.Errorf("a second distribution of the same kind: %q", clip(line))
			}
			histograms[kind] = Histogram{}
		} else if m := wrk2Quantile.FindStringSubmatch(line); m != nil && kind != "" && wrk2Names[m[1]] != "" {
			if extra[kind+"_"+wrk2Names[m[1]]], err = wrkReport.value(m[2], line); err != nil {
				return nil, nil, err
			}
		} else if m := wrk2Count.FindStringSubmatch(line); m != nil && kind != "" {
			if err := take(found, line, m[1:], "ms", "count"); err != nil {
				return nil, nil, err
			}
			us, more := found["ms"]*1e3, found["count"]-counted
			if us < last || more < 0 {
				return nil, nil, fmt.Errorf("not in the order of latencies: %q", clip(line))
			}
			if len(histograms[kind]) == 0 {
				last = us // the first one is the least value
			}
			histograms[kind] = append(histograms[kind], Bin{last, us, more})
			last, counted = us, found["count"]
		} else if m := wrk2Total.FindStringSubmatch(line); m != nil && kind != "" {
			if err := take(found, line, m[1:], "total"); err != nil {
				return nil, nil, err
			} else if found["total"] != counted {
				return nil, nil, fmt.Errorf("the lines above %q count %v requests", clip(line), counted)
			}
			kind = ""
		} else if !wrk2Other.MatchString(line) {
			ofWrk = append(ofWrk, line)
		}
	}
	if kind != "" {
		return nil, nil, fmt.Errorf("wrk2's distribution is not complete: %s", ending(lines(stdout)))
	}
	if fields, err = parseWrk([]byte(strings.Join(ofWrk, "\n"))); err != nil {
		return nil, nil, err
	}
	for name, v := range extra {
		fields[name] = v
	}
	for name, h := range histograms {
		histograms[name] = slices.DeleteFunc(h, func(b Bin) bool { return b.Count == 0 })
	}
	return fields, histograms, nil
}
