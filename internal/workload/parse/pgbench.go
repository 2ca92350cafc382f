package parse

import (
	"fmt"
	"regexp"
)

var pgbench = Parser{
	Name:     "pgbench",
	About:    "pgbench's report, with or without -r and --rate; before it the transactions of its log, counted, if there are any",
	Versions: "15.18",
	Fields: []Field{
		{"tps", "op/s"}, {"transactions", "op"}, {"failed", "op"}, {"skipped", "op"}, {"late", "op"}, {"retries", "op"},
		{"latency_avg", "ms"}, {"latency_stdev", "ms"}, {"schedule_lag_avg", "ms"}, {"schedule_lag_max", "ms"}, {"connect_time", "ms"},
	},
	Parse: parsePgbench,
	Split: splitCounted(pgbenchStart),

	Distributions: []Field{{"latency", "ms"}},
	Histograms:    countedHistogram(pgbenchStart, 1e3),
}

var (
	pgbenchStart  = regexp.MustCompile(`^pgbench \(.+\)$`)
	pgbenchReport = report{
		tool:  "pgbench 15",
		first: pgbenchStart,
		lines: patterns(
			`^number of transactions actually processed: (?P<transactions>\d+)(?:/\d+)?$`,
			`^number of failed transactions: (?P<failed>\d+) \([0-9.]+%\)$`,
			`^number of transactions skipped: (?P<skipped>\d+) \([0-9.]+%\)$`,
			`^number of transactions above the [0-9.]+ ms latency limit: (?P<late>\d+)/\d+ \([0-9.]+%\)$`,
			`^total number of retries: (?P<retries>\d+)$`,
			`^latency average = (?P<latency_avg>[0-9.]+) ms(?: \(including failures\))?$`,
			`^latency stddev = (?P<latency_stdev>[0-9.]+) ms$`,
			`^rate limit schedule lag: avg (?P<schedule_lag_avg>[0-9.]+) \(max (?P<schedule_lag_max>[0-9.]+)\) ms$`,
			`^initial connection time = (?P<connect_time>[0-9.]+) ms$`,
			`^tps = (?P<tps>[0-9.]+) \(without initial connection time\)$`),
		// Settings, and after the figures those of each script and statement.
		other: anyOf(`transaction type: .*`, `scaling factor: \d+`, `partition method: .*`, `partitions: \d+`, `query mode: (simple|extended|prepared)`,
			`number of clients: \d+`, `number of threads: \d+`, `maximum number of tries: \d+`, `number of transactions per client: \d+`,
			`duration: \d+ s`, `number of transactions retried: \d+ \([0-9.]+%\)`,
			`SQL script \d+: .*`, ` - .*`, `statement latencies in milliseconds.*:`, ` +[0-9.]+( +\d+)+  .*`),
		wanted: []string{"transactions", "failed", "latency_avg", "tps"},
	}
)

func parsePgbench(stdout []byte) (map[string]float64, error) {
	if err := endsWithALine(stdout); err != nil {
		return nil, err
	}
	logged, report := cutCounted(stdout, pgbenchStart)
	fields, err := pgbenchReport.read(report)
	if err != nil {
		return nil, err
	}
	if fields["transactions"] == 0 {
		return nil, fmt.Errorf("no transaction was processed: %s", ending(report))
	}
	if len(logged) > 0 {
		_, err = checkCounted(logged, fields["transactions"])
	}
	return fields, err
}
