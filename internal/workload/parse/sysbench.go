package parse

import (
	"fmt"
	"math"
	"regexp"
	"strings"
)

var sysbenchFields = []Field{
	{"total_time", "s"}, {"events", "op"},
	{"latency_min", "ms"}, {"latency_avg", "ms"}, {"latency_max", "ms"}, {"latency_p95", "ms"},
}

var sysbenchDistributions = []Field{{"latency", "ms"}}

// sysbenchBin is a line of --histogram=on. The value is in the middle of its bin.
const sysbenchBin = ` *([0-9.]+) \|\** +(\d+)`

// Bins lie at equal distances of the logarithm. Values have three digits after the
// point, which matters more for those below 0.06 ms.
var (
	sysbenchBinLine  = regexp.MustCompile(`^` + sysbenchBin + `$`)
	sysbenchHalfBin  = math.Log(1e5/1e-3) / 1023 / 2
	sysbenchRounding = 0.0005
)

// sysbenchHistograms returns the bins of --histogram=on.
func sysbenchHistograms(stdout []byte) (map[string]Histogram, error) {
	var h Histogram
	for _, line := range lines(stdout) {
		m := sysbenchBinLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		value, err := number(m[1], line)
		if err != nil {
			return nil, err
		}
		count, err := number(m[2], line)
		if err != nil {
			return nil, err
		}
		half := max(value*sysbenchHalfBin, sysbenchRounding)
		h = append(h, Bin{max(value-half, 0), value + half, count})
	}
	if h == nil {
		return nil, nil
	}
	return map[string]Histogram{"latency": h}, nil
}

var splitSysbench = splitPrefix("sysbench ")

// sysbenchSettings adds to the lines of a test those that all tests have.
func sysbenchSettings(own ...string) func([]byte) map[string]string {
	return settingsIn(append(own, `^sysbench (?P<version>\S+)`, `^Number of threads: (?P<threads>\d+)$`, `^Target transaction rate: (?P<rate>\d+)/sec$`)...)
}

var sysbenchCPU = Parser{
	Name:     "sysbench-cpu",
	About:    "sysbench cpu run",
	Versions: "1.0.20",
	Fields:   append([]Field{{"events_per_second", "op/s"}}, sysbenchFields...),
	Split:    splitSysbench,
	Settings: sysbenchSettings(`^Prime numbers limit: (?P<max_prime>\d+)$`),

	Distributions: sysbenchDistributions,
	Histograms:    sysbenchHistograms,
	Parse: func(stdout []byte) (map[string]float64, error) {
		return parseSysbench(stdout, []figureLine{
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
	Split:    splitSysbench,
	Settings: sysbenchSettings(`^  block size: (?P<block_size>\S+)$`, `^  total size: (?P<total_size>\S+)$`, `^  operation: (?P<operation>\w+)$`, `^  scope: (?P<scope>\w+)$`),

	Distributions: sysbenchDistributions,
	Histograms:    sysbenchHistograms,
	Parse: func(stdout []byte) (map[string]float64, error) {
		return parseSysbench(stdout, []figureLine{
			{regexp.MustCompile(`^Total operations: (\d+) \( *([0-9.]+) per second\)$`), []string{"operations", "operations_per_second"}},
			{regexp.MustCompile(`^([0-9.]+) MiB transferred \(([0-9.]+) MiB/sec\)$`), []string{"transferred", "throughput"}},
		})
	},
}

var sysbenchThreads = Parser{
	Name:     "sysbench-threads",
	About:    "sysbench threads run; events_per_second is events / total_time, since sysbench does not print it for this test",
	Versions: "1.0.20",
	Fields:   append([]Field{{"events_per_second", "op/s"}}, sysbenchFields...),
	Split:    splitSysbench,
	Settings: sysbenchSettings(),

	Distributions: sysbenchDistributions,
	Histograms:    sysbenchHistograms,
	Parse: func(stdout []byte) (map[string]float64, error) {
		fields, err := parseSysbench(stdout, nil)
		if err != nil {
			return nil, err
		}
		if fields["total_time"] <= 0 {
			return nil, fmt.Errorf("sysbench's total time is %v s", fields["total_time"])
		}
		fields["events_per_second"] = fields["events"] / fields["total_time"]
		return fields, nil
	},
}

var (
	sysbenchVersion = regexp.MustCompile(`^sysbench (\S+)`)
	sysbenchCommon  = []figureLine{
		{regexp.MustCompile(`^    total time: +([0-9.]+)s$`), []string{"total_time"}},
		{regexp.MustCompile(`^    total number of events: +(\d+)$`), []string{"events"}},
		{regexp.MustCompile(`^         min: +([0-9.]+)$`), []string{"latency_min"}},
		{regexp.MustCompile(`^         avg: +([0-9.]+)$`), []string{"latency_avg"}},
		{regexp.MustCompile(`^         max: +([0-9.]+)$`), []string{"latency_max"}},
		{regexp.MustCompile(`^         95th percentile: +([0-9.]+)$`), []string{"latency_p95"}},
		// sysbench prints this line last: without it the output is truncated.
		{regexp.MustCompile(`^    execution time \(avg/stddev\): +[0-9.]+/[0-9.]+$`), nil},
	}
	// Lines of every test that have no values.
	sysbenchOther = regexp.MustCompile(`^(` + strings.Join([]string{
		`Running the test with following options:`, `Number of threads: \d+`, `Target transaction rate: \d+/sec`,
		`Report intermediate results every \d+ second\(s\)`, `Initializing random number generator from .*`,
		`Initializing worker threads\.\.\.`, `Threads started!`, `Warming up for \d+ seconds\.\.\.`, `Validation checks: on\.`,
		`Latency histogram \(values are in milliseconds\)`, `       value  -+ distribution -+ count`, sysbenchBin,
		`General statistics:`, `Latency \(ms\):`, `         sum: +[0-9.]+`, `Threads fairness:`, `    events \(avg/stddev\): +[0-9.]+/[0-9.]+`,
	}, "|") + `)?$`)
	// Lines of some tests; threads prints none of them.
	sysbenchOwn = regexp.MustCompile(`^(` + strings.Join([]string{
		`Prime numbers limit: \d+`, `CPU speed:`,
		`Running memory speed test with the following options:`, `  (block|total) size: \d+[KMGT]?i?B`, `  operation: \w+`, `  scope: \w+`,
		`Extra file open flags: .*`, `\d+ files, \S+ each`, `\S+ total file size`, `Block size \S+`, `Number of IO requests: \d+`,
		`Read/Write ratio for combined random IO test: [0-9.]+`, `Periodic FSYNC enabled, calling fsync\(\) each \d+ requests\.`,
		`Calling fsync\(\) (at the end of test, Enabled|after each write operation)\.`, `Using (synchronous|asynchronous|memory mapped|slow mmaped) I/O( mode)?`,
		`Doing .* test`, `File operations:`, `Throughput:`, `SQL statistics:`, `    queries performed:`,
	}, "|") + `)$`)
)

// parseSysbench requires each line that is common to all tests, and each of own,
// exactly once, and rejects unknown lines.
func parseSysbench(stdout []byte, own []figureLine) (map[string]float64, error) {
	all := lines(stdout)
	version := sysbenchVersion.FindStringSubmatch(all[0])
	if version == nil {
		return nil, fmt.Errorf("the first line %q does not name sysbench", clip(all[0]))
	}
	if !strings.HasPrefix(version[1], "1.0.") {
		return nil, fmt.Errorf("the output of sysbench %s is not supported; this parser supports 1.0", version[1])
	}
	fields, found := map[string]float64{}, map[*regexp.Regexp]bool{}
	wanted := append(own, sysbenchCommon...)
	for _, line := range all[1:] {
		if strings.HasPrefix(line, "FATAL:") {
			return nil, fmt.Errorf("sysbench aborted: %q", clip(line))
		}
		known := sysbenchOther.MatchString(line) || len(own) > 0 && sysbenchOwn.MatchString(line) ||
			sysbenchInterval.MatchString(line) || sysbenchOtherTests.MatchString(line)
		for _, want := range wanted {
			m := want.pattern.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if found[want.pattern] {
				return nil, fmt.Errorf("a second line of the same kind: %q", clip(line))
			}
			known, found[want.pattern] = true, true
			if err := take(fields, line, m[1:], want.fields...); err != nil {
				return nil, err
			}
		}
		if !known {
			return nil, fmt.Errorf("sysbench 1.0 does not print such a line in this test: %q", clip(line))
		}
	}
	for _, want := range wanted {
		if !found[want.pattern] {
			return nil, fmt.Errorf("no line like %s; %s", want.pattern, ending(all))
		}
	}
	return fields, nil
}
