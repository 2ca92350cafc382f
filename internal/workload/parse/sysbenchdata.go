package parse

import "regexp"

// The tests of sysbench on data: files and tables.

var sysbenchFileIO = Parser{
	Name:     "sysbench-fileio",
	About:    "sysbench fileio run, in any of its modes; a latency is one read, write or fsync",
	Versions: "1.0.20",
	Fields: append([]Field{
		{"reads_per_second", "op/s"}, {"writes_per_second", "op/s"}, {"fsyncs_per_second", "op/s"},
		{"bandwidth", "B/s"}, {"read_bandwidth", "B/s"}, {"write_bandwidth", "B/s"},
	}, sysbenchFields...),
	Split: splitSysbench,
	Settings: sysbenchModes(sysbenchSettings(`^(?P<files>\d+) files, \S+ each$`, `^(?P<total_size>\S+) total file size$`, `^Block size (?P<block_size>\S+)$`,
		`^Extra file open flags: (?P<flags>.*)$`, `^Using (?P<io>synchronous|asynchronous|memory mapped|slow mmaped) I/O`, `^Doing (?P<mode>.*) test$`)),

	Distributions: sysbenchDistributions,
	Histograms:    sysbenchHistograms,
	Parse: func(stdout []byte) (map[string]float64, error) {
		fields, err := parseSysbench(stdout,
			`^    reads/s: +(?P<reads_per_second>[0-9.]+)$`,
			`^    writes/s: +(?P<writes_per_second>[0-9.]+)$`,
			`^    fsyncs/s: +(?P<fsyncs_per_second>[0-9.]+)$`,
			`^    read, MiB/s: +(?P<read_bandwidth>[0-9.]+)$`,
			`^    written, MiB/s: +(?P<write_bandwidth>[0-9.]+)$`)
		if err != nil {
			return nil, err
		}
		fields["read_bandwidth"] *= 1 << 20
		fields["write_bandwidth"] *= 1 << 20
		fields["bandwidth"] = fields["read_bandwidth"] + fields["write_bandwidth"]
		return fields, nil
	},
}

var sysbenchOLTP = Parser{
	Name:     "sysbench-oltp",
	About:    "sysbench oltp_* run; ignored_errors are transactions that were retried, not failures",
	Versions: "1.0.20",
	Fields: append([]Field{
		{"tps", "op/s"}, {"qps", "op/s"}, {"transactions", "op"}, {"queries", "op"},
		{"read_queries", "op"}, {"write_queries", "op"}, {"other_queries", "op"},
		{"ignored_errors", "op"}, {"ignored_errors_per_second", "op/s"}, {"reconnects", "op"},
	}, sysbenchFields...),
	Split:    splitSysbench,
	Settings: sysbenchOLTPSettings,
	Parse:    parseSysbenchOLTP,
	Series:   sysbenchSeries,

	Distributions: sysbenchDistributions,
	Histograms:    sysbenchHistograms,
}

// sysbenchModes gives the modes of fileio the names by which sysbench is asked for them.
func sysbenchModes(settings func([]byte) map[string]string) func([]byte) map[string]string {
	names := map[string]string{
		"sequential read": "seqrd", "sequential write (creation)": "seqwr", "sequential rewrite": "seqrewr",
		"random read": "rndrd", "random write": "rndwr", "random r/w": "rndrw",
	}
	return func(stdout []byte) map[string]string {
		found := settings(stdout)
		if name, known := names[found["mode"]]; known {
			found["mode"] = name
		}
		return found
	}
}

var sysbenchQueries = sysbenchSettings(`^        read: +(?P<read>\d+)$`, `^        write: +(?P<write>\d+)$`)

// sysbenchOLTPSettings says from the queries whether a test read, wrote or did both:
// sysbench does not print the name of its script.
func sysbenchOLTPSettings(stdout []byte) map[string]string {
	found := sysbenchQueries(stdout)
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

func parseSysbenchOLTP(stdout []byte) (map[string]float64, error) {
	return parseSysbench(stdout,
		`^        read: +(?P<read_queries>\d+)$`,
		`^        write: +(?P<write_queries>\d+)$`,
		`^        other: +(?P<other_queries>\d+)$`,
		`^        total: +(?P<_total>\d+)$`,
		`^    transactions: +(?P<transactions>\d+) +\((?P<tps>[0-9.]+) per sec\.\)$`,
		`^    queries: +(?P<queries>\d+) +\((?P<qps>[0-9.]+) per sec\.\)$`,
		`^    ignored errors: +(?P<ignored_errors>\d+) +\((?P<ignored_errors_per_second>[0-9.]+) per sec\.\)$`,
		`^    reconnects: +(?P<reconnects>\d+) +\([0-9.]+ per sec\.\)$`)
}

// Lines of --report-interval: of OLTP, and of the other tests.
const (
	sysbenchInterval       = `\[ (\d+)s \] thds: \d+ tps: ([0-9.]+) qps: ([0-9.]+) \(r/w/o: \S+\) lat \(ms,95%\): ([0-9.]+) err/s: [0-9.]+ reconn/s: [0-9.]+`
	sysbenchOtherIntervals = `\[ \d+s \] (thds: \d+ eps: [0-9.]+ lat \(ms,95%\): [0-9.]+|reads: \S+ MiB/s writes: \S+ MiB/s fsyncs: \S+/s latency \(ms,95%\): [0-9.]+|[0-9.]+ MiB/sec)`
)

var sysbenchIntervalLine = regexp.MustCompile(`^` + sysbenchInterval + `$`)

// sysbenchSeries parses the output of --report-interval. A point has the time at
// which its interval begins.
func sysbenchSeries(stdout []byte) (map[string][]Point, error) {
	if _, err := parseSysbenchOLTP(stdout); err != nil {
		return nil, err
	}
	series, begin := map[string][]Point{}, 0.0
	for _, line := range lines(stdout) {
		m := sysbenchIntervalLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for i, name := range []string{"", "tps", "qps", "latency_p95"} {
			v, err := number(m[i+1], line)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				series[name] = append(series[name], Point{Second: begin, Value: v})
			}
		}
		begin, _ = number(m[1], line)
	}
	return series, nil
}
