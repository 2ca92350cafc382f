package parse

import (
	"fmt"
	"regexp"
	"strings"
)

// The formats of tare's drivers: the stages of a pipeline, and the latencies of
// requests made one by one. Both end with the total time, so that a truncated
// output is detected.

var stages = Parser{
	Name:     "stages",
	About:    `lines "stage NAME SECONDS", then "total SECONDS"; repeated stages are summed`,
	Versions: "tare's own",
	Fields: []Field{
		{"total", "s"}, {"stage_checkout", "s"}, {"stage_configure", "s"}, {"stage_build", "s"}, {"stage_compile", "s"},
		{"stage_test", "s"}, {"stage_coverage", "s"}, {"stage_analysis", "s"}, {"stage_*", "s"},
	},
	Parse: parseStages,
	Split: func(file []byte) ([][]byte, error) { return splitAfter(file, ownTotal.MatchString) },
}

var latencies = Parser{
	Name:     "latencies",
	About:    `a line "latencies us", one latency in microseconds per line, and "total SECONDS", the total time`,
	Versions: "tare's own",
	Fields: []Field{
		{"requests", "op"}, {"requests_per_second", "op/s"}, {"total_seconds", "s"},
		{"latency_min", "us"}, {"latency_mean", "us"}, {"latency_p50", "us"}, {"latency_p90", "us"}, {"latency_p95", "us"}, {"latency_p99", "us"}, {"latency_max", "us"},
	},
	Parse: parseLatencies,
	Split: splitPrefix(latenciesHead),

	Distributions: []Field{{"latency", "us"}},
	Histograms: func(stdout []byte) (map[string]Histogram, error) {
		values, _, err := latencyValues(stdout)
		return map[string]Histogram{"latency": histogramOf(values)}, err
	},
}

const latenciesHead = "latencies us"

var (
	ownStage = regexp.MustCompile(`^stage ([a-z][a-z0-9_]*) ([0-9.]+)$`)
	ownTotal = regexp.MustCompile(`^total ([0-9.]+)$`)
	ownValue = regexp.MustCompile(`^[0-9.]+$`)
)

func parseStages(stdout []byte) (map[string]float64, error) {
	if err := endsWithALine(stdout); err != nil {
		return nil, err
	}
	fields, all := map[string]float64{}, lines(stdout)
	for _, line := range all {
		stage, total := ownStage.FindStringSubmatch(line), ownTotal.FindStringSubmatch(line)
		_, ended := fields["total"]
		switch {
		case line == "":
		case ended:
			return nil, fmt.Errorf("%q follows the total", clip(line))
		case stage != nil:
			v, err := number(stage[2], line)
			if err != nil {
				return nil, err
			}
			fields["stage_"+stage[1]] += v
		case total != nil && len(fields) > 0:
			if err := take(fields, line, total[1:], "total"); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf(`%q is neither "stage NAME SECONDS" (lower-case letters, digits, _) nor, after the stages, "total SECONDS"`, clip(line))
		}
	}
	if _, ended := fields["total"]; !ended {
		return nil, fmt.Errorf("no line with the total: %s", ending(all))
	}
	return fields, nil
}

func parseLatencies(stdout []byte) (map[string]float64, error) {
	values, fields, err := latencyValues(stdout)
	if err != nil {
		return nil, err
	}
	d := newDistribution(values)
	fields["requests"] = float64(len(d))
	if seconds := fields["total_seconds"]; seconds > 0 {
		fields["requests_per_second"] = float64(len(d)) / seconds
	}
	d.summarize(fields, "latency_", "min", "mean", "p50", "p90", "p95", "p99", "max")
	return fields, nil
}

// latencyValues returns the latencies, of which there is at least one, and the
// total time.
func latencyValues(stdout []byte) (values []float64, fields map[string]float64, err error) {
	if err := endsWithALine(stdout); err != nil {
		return nil, nil, err
	}
	all := lines(stdout)
	if all[0] != latenciesHead {
		return nil, nil, fmt.Errorf("the first line is %q instead of %q", clip(all[0]), latenciesHead)
	}
	fields = map[string]float64{}
	for _, line := range all[1:] {
		total := ownTotal.FindStringSubmatch(line)
		_, ended := fields["total_seconds"]
		switch {
		case line == "":
		case ended:
			return nil, nil, fmt.Errorf("%q follows the total", clip(line))
		case total != nil:
			if err := take(fields, line, total[1:], "total_seconds"); err != nil {
				return nil, nil, err
			}
		case ownValue.MatchString(line):
			v, err := number(line, line)
			if err != nil {
				return nil, nil, err
			}
			values = append(values, v)
		default:
			return nil, nil, fmt.Errorf(`%q is neither a number of microseconds nor, after the last of them, "total SECONDS"`, clip(strings.TrimSpace(line)))
		}
	}
	if _, ended := fields["total_seconds"]; !ended || len(values) == 0 {
		return nil, nil, fmt.Errorf("no latency, or no line with the total: %s", ending(all))
	}
	return values, fields, nil
}
