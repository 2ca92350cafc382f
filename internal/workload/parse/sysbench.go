package parse

import (
	"fmt"
	"math"
	"regexp"
	"slices"
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
		return parseSysbench(stdout, `^    events per second: +(?P<events_per_second>[0-9.]+)$`)
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
		return parseSysbench(stdout,
			`^Total operations: (?P<operations>\d+) \( *(?P<operations_per_second>[0-9.]+) per second\)$`,
			`^(?P<transferred>[0-9.]+) MiB transferred \((?P<throughput>[0-9.]+) MiB/sec\)$`)
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
		fields, err := parseSysbench(stdout)
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
	sysbenchFirst = regexp.MustCompile(`^sysbench 1\.0\.`)
	sysbenchFatal = regexp.MustCompile(`^FATAL:`)
	// sysbenchCommon are lines of every test. The last one is printed last: without it
	// the output is truncated.
	sysbenchCommon = []string{
		`^    total time: +(?P<total_time>[0-9.]+)s$`,
		`^    total number of events: +(?P<events>\d+)$`,
		`^         min: +(?P<latency_min>[0-9.]+)$`,
		`^         avg: +(?P<latency_avg>[0-9.]+)$`,
		`^         max: +(?P<latency_max>[0-9.]+)$`,
		`^         95th percentile: +(?P<latency_p95>[0-9.]+)$`,
		`^    execution time \(avg/stddev\): +(?P<_execution_time>[0-9.]+)/[0-9.]+$`,
	}
	// Lines of every test that have no values.
	sysbenchOther = []string{
		`Running the test with following options:`, `Number of threads: \d+`, `Target transaction rate: \d+/sec`,
		`Report intermediate results every \d+ second\(s\)`, `Initializing random number generator from .*`,
		`Initializing worker threads\.\.\.`, `Threads started!`, `Warming up for \d+ seconds\.\.\.`, `Validation checks: on\.`,
		`Latency histogram \(values are in milliseconds\)`, `       value  -+ distribution -+ count`, sysbenchBin,
		`General statistics:`, `Latency \(ms\):`, `         sum: +[0-9.]+`, `Threads fairness:`, `    events \(avg/stddev\): +[0-9.]+/[0-9.]+`,
		sysbenchInterval, sysbenchOtherIntervals,
	}
	// Lines of some tests; threads prints none of them.
	sysbenchOwn = []string{
		`Prime numbers limit: \d+`, `CPU speed:`,
		`Running memory speed test with the following options:`, `  (block|total) size: \d+[KMGT]?i?B`, `  operation: \w+`, `  scope: \w+`,
		`Extra file open flags: .*`, `\d+ files, \S+ each`, `\S+ total file size`, `Block size \S+`, `Number of IO requests: \d+`,
		`Read/Write ratio for combined random IO test: [0-9.]+`, `Periodic FSYNC enabled, calling fsync\(\) each \d+ requests\.`,
		`Calling fsync\(\) (at the end of test, Enabled|after each write operation)\.`, `Using (synchronous|asynchronous|memory mapped|slow mmaped) I/O( mode)?`,
		`Doing .* test`, `File operations:`, `Throughput:`, `SQL statistics:`, `    queries performed:`,
	}
)

// parseSysbench requires each line that is common to all tests, and each of own.
func parseSysbench(stdout []byte, own ...string) (map[string]float64, error) {
	r := report{tool: "sysbench 1.0 in this test", first: sysbenchFirst, failed: sysbenchFatal, lines: patterns(slices.Concat(own, sysbenchCommon)...)}
	if r.other = anyOf(sysbenchOther...); len(own) > 0 {
		r.other = anyOf(slices.Concat(sysbenchOwn, sysbenchOther)...)
	}
	for _, p := range r.lines {
		r.wanted = append(r.wanted, p.SubexpNames()[1])
	}
	return r.read(lines(stdout))
}
