package parse

import (
	"fmt"
	"regexp"
	"strings"
)

var sysbenchFields = []Field{
	{"total_time", "s"}, {"events", "op"},
	{"latency_min", "ms"}, {"latency_avg", "ms"}, {"latency_max", "ms"}, {"latency_p95", "ms"},
}

var sysbenchCPU = Parser{
	Name:     "sysbench-cpu",
	About:    "sysbench cpu run",
	Versions: "1.0.20",
	Fields:   append([]Field{{"events_per_second", "op/s"}}, sysbenchFields...),
	Parse: func(stdout []byte) (map[string]float64, error) {
		return parseSysbench(stdout, []sysbenchLine{
			{regexp.MustCompile(`^    events per second: +([0-9.]+)$`), []string{"events_per_second"}},
		})
	},
}

var sysbenchMemory = Parser{
	Name:     "sysbench-memory",
	About:    "sysbench memory run",
	Versions: "1.0.20",
	Fields: append([]Field{
		{"operations", "op"}, {"operations_per_second", "op/s"},
		{"transferred", "MiB"}, {"throughput", "MiB/s"},
	}, sysbenchFields...),
	Parse: func(stdout []byte) (map[string]float64, error) {
		return parseSysbench(stdout, []sysbenchLine{
			{regexp.MustCompile(`^Total operations: (\d+) \( *([0-9.]+) per second\)$`), []string{"operations", "operations_per_second"}},
			{regexp.MustCompile(`^([0-9.]+) MiB transferred \(([0-9.]+) MiB/sec\)$`), []string{"transferred", "throughput"}},
		})
	},
}

// sysbenchLine is a line that must be there once, with the fields in it.
type sysbenchLine struct {
	pattern *regexp.Regexp
	fields  []string
}

var (
	sysbenchVersion = regexp.MustCompile(`^sysbench (\S+)`)
	sysbenchCommon  = []sysbenchLine{
		{regexp.MustCompile(`^    total time: +([0-9.]+)s$`), []string{"total_time"}},
		{regexp.MustCompile(`^    total number of events: +(\d+)$`), []string{"events"}},
		{regexp.MustCompile(`^         min: +([0-9.]+)$`), []string{"latency_min"}},
		{regexp.MustCompile(`^         avg: +([0-9.]+)$`), []string{"latency_avg"}},
		{regexp.MustCompile(`^         max: +([0-9.]+)$`), []string{"latency_max"}},
		{regexp.MustCompile(`^         95th percentile: +([0-9.]+)$`), []string{"latency_p95"}},
		// The last line that sysbench prints: without it the output is cut off.
		{regexp.MustCompile(`^    execution time \(avg/stddev\): +[0-9.]+/[0-9.]+$`), nil},
	}
)

func parseSysbench(stdout []byte, own []sysbenchLine) (map[string]float64, error) {
	all := lines(stdout)
	version := sysbenchVersion.FindStringSubmatch(all[0])
	if version == nil {
		return nil, fmt.Errorf("the first line %q does not name sysbench", clip(all[0]))
	}
	if !strings.HasPrefix(version[1], "1.0.") {
		return nil, fmt.Errorf("sysbench %s prints what nobody has looked at; this parser knows 1.0", version[1])
	}
	fields := map[string]float64{}
	for _, want := range append(own, sysbenchCommon...) {
		found := false
		for _, line := range all {
			if strings.HasPrefix(line, "FATAL:") {
				return nil, fmt.Errorf("sysbench gave up: %q", clip(line))
			}
			m := want.pattern.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if found {
				return nil, fmt.Errorf("a second line of the same kind: %q", clip(line))
			}
			found = true
			for i, f := range want.fields {
				v, err := number(m[i+1], line)
				if err != nil {
					return nil, err
				}
				fields[f] = v
			}
		}
		if !found {
			return nil, fmt.Errorf("no line like %s; %s", want.pattern, ending(all))
		}
	}
	return fields, nil
}
