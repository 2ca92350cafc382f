package parse

import "strings"

// The formats of tare's drivers: the stages of a pipeline, and the latencies of
// requests made one by one. Both end with the total time, so that a truncated
// output is detected.

var (
	ownStage = expression(`^stage ([a-z][a-z0-9_]*) ([0-9.]+)$`)
	ownTotal = expression(`^total ([0-9.]+)$`)
	ownValue = expression(`^[0-9.]+$`)
)

const latenciesHead = "latencies us"

// readOwn reads lines up to that with the total. value reads another one, and says whether
// it knows it; strange says what a line is not.
func (r *reading) readOwn(all []string, total string, value func(line string) (known bool), strange string) {
	for _, line := range all {
		found := ownTotal.find(line)
		_, ended := r.fields[total]
		switch {
		case line == "":
		case ended:
			fail("%q follows the total", clip(line))
		case value(line):
		case found != nil:
			r.take(line, found, total)
		default:
			fail("%q is neither "+strange, clip(strings.TrimSpace(line)))
		}
	}
}

func readStages(r *reading) {
	r.wholeLines()
	strange := `"stage NAME SECONDS" (lower-case letters, digits, _) nor, after the stages, "total SECONDS"`
	r.readOwn(r.lines, "total", func(line string) bool {
		stage := ownStage.find(line)
		if stage != nil {
			r.fields["stage_"+stage[0]] += number(stage[1], line)
		} else if len(r.fields) == 0 {
			fail("%q is neither "+strange, clip(line))
		}
		return stage != nil
	}, strange)
	if _, ended := r.fields["total"]; !ended {
		fail("no line with the total: %s", ending(r.lines))
	}
}

func readLatencies(r *reading) {
	r.wholeLines()
	if r.lines[0] != latenciesHead {
		fail("the first line is %q instead of %q", clip(r.lines[0]), latenciesHead)
	}
	var values []float64
	r.readOwn(r.lines[1:], "total_seconds", func(line string) bool {
		is := ownValue.match(line)
		if is {
			values = append(values, number(line, line))
		}
		return is
	}, `a number of microseconds nor, after the last of them, "total SECONDS"`)
	seconds, ended := r.fields["total_seconds"]
	if !ended || len(values) == 0 {
		fail("no latency, or no line with the total: %s", ending(r.lines))
	}
	r.fields["requests"] = float64(len(values))
	if seconds > 0 {
		r.fields["requests_per_second"] = float64(len(values)) / seconds
	}
	r.count("latency", values)
	r.summarize(values, "latency_", "min mean p50 p90 p95 p99 max")
}
