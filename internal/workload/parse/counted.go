package parse

import (
	"math"
	"slices"
)

// The requests of a driver's log, counted by the pack: docs/reference/parsers.md, "Counted
// requests".

// counting says that a report may have counted requests before it. In is the field with
// their number, and US the unit of latencies in us.
type counting struct {
	In string  `yaml:"in"`
	US float64 `yaml:"us"`
}

var (
	countedStart   = expression(`^(\d+) requests in (\d+) us$`)
	pgbenchVersion = expression(`^pgbench \(.+\)$`)
	countedLatency = expression(`^(\d+) us: (\d+)$`)
)

// lines are those of the report. The counted requests come first, so that an output that
// is truncated before them does not pass for one without.
func (p *report) lines(r *reading) []string {
	if p.Counted.In == "" || !countedStart.match(r.lines[0]) {
		return r.lines
	}
	at := max(slices.IndexFunc(r.lines, p.First.match), 0)
	r.logged = r.lines[:at]
	return r.lines[at:]
}

// checkCounted compares the counted requests with the report's, and adds their latencies
// and _us, the time from the start of the first one to the end of the last one. Each
// latency is a bin's lowest, in whole us; the bins are fio's.
func (p *report) checkCounted(r *reading) {
	if len(r.logged) == 0 || r.histograms != nil {
		return
	}
	first := r.logged[0]
	r.take(first, countedStart.find(first), "_counted", "_us")
	h, requests, next := Histogram{}, 0.0, 0.0
	for _, line := range r.logged[1:] {
		m := countedLatency.find(line)
		if m == nil {
			fail("no line of counted requests: %q", clip(line))
		}
		low, count := number(m[0], line), number(m[1], line)
		width := fioBin(low)
		if low < next || math.Mod(low, max(width, 1)) != 0 {
			fail("not in the order of latencies, or not the start of a bin: %q", clip(line))
		}
		next = low + max(width, 1)
		h, requests = append(h, Bin{low / p.Counted.US, (low + width) / p.Counted.US, count}), requests+count
	}
	switch n := r.fields["_counted"]; {
	case requests != n:
		fail("the lines after %q count %v requests", clip(first), requests)
	case n != r.fields[p.Counted.In]:
		fail("the log has %v requests, and the report %v", n, r.fields[p.Counted.In])
	case r.fields["_us"] == 0 && n > 0:
		fail("the requests took no time: %q", clip(first))
	}
	r.histograms = map[string]Histogram{"latency": h}
}

// splitCounted splits where the counted requests begin or, without any, the report.
func splitCounted(file []byte, start *pattern, own func(line string) bool) ([][]byte, error) {
	logged := false
	return splitAt(file, func(line string) bool {
		report, counts := start.match(line), countedStart.match(line)
		begins := counts || report && !logged
		logged = counts || logged && !report
		return begins
	}, own)
}

// splitPgbench splits at the line with the version, which pgbench 13 does not print.
func splitPgbench(file []byte) ([][]byte, error) {
	d := declarationOf("pgbench")
	start := pgbenchVersion
	if !slices.ContainsFunc(lines(file), start.match) {
		start = d.Report.First
	}
	return splitCounted(file, start, d.own)
}
