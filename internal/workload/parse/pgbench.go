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
	Split: func(file []byte) ([][]byte, error) {
		counted := false
		return splitAt(file, func(line string) bool {
			start, counts := pgbenchStart.MatchString(line), countedStart.MatchString(line)
			begins := counts || start && !counted
			counted = counts || counted && !start
			return begins
		})
	},

	Distributions: []Field{{"latency", "ms"}},
	Histograms:    countedHistogram(pgbenchStart, 1e3),
}

var (
	pgbenchStart = regexp.MustCompile(`^pgbench \(.+\)$`)
	// pgbenchFigures are lines that occur once, at most.
	pgbenchFigures = []figureLine{
		{regexp.MustCompile(`^number of transactions actually processed: (\d+)(?:/\d+)?$`), []string{"transactions"}},
		{regexp.MustCompile(`^number of failed transactions: (\d+) \([0-9.]+%\)$`), []string{"failed"}},
		{regexp.MustCompile(`^number of transactions skipped: (\d+) \([0-9.]+%\)$`), []string{"skipped"}},
		{regexp.MustCompile(`^number of transactions above the [0-9.]+ ms latency limit: (\d+)/\d+ \([0-9.]+%\)$`), []string{"late"}},
		{regexp.MustCompile(`^total number of retries: (\d+)$`), []string{"retries"}},
		{regexp.MustCompile(`^latency average = ([0-9.]+) ms(?: \(including failures\))?$`), []string{"latency_avg"}},
		{regexp.MustCompile(`^latency stddev = ([0-9.]+) ms$`), []string{"latency_stdev"}},
		{regexp.MustCompile(`^rate limit schedule lag: avg ([0-9.]+) \(max ([0-9.]+)\) ms$`), []string{"schedule_lag_avg", "schedule_lag_max"}},
		{regexp.MustCompile(`^initial connection time = ([0-9.]+) ms$`), []string{"connect_time"}},
		{regexp.MustCompile(`^tps = ([0-9.]+) \(without initial connection time\)$`), []string{"tps"}},
	}
	// pgbenchOther are settings, and after the figures those of each script and
	// statement.
	pgbenchOther = regexp.MustCompile(`^(transaction type: .*|scaling factor: \d+|partition method: .*|partitions: \d+|query mode: (simple|extended|prepared)|number of clients: \d+|number of threads: \d+|` +
		`maximum number of tries: \d+|number of transactions per client: \d+|duration: \d+ s|number of transactions retried: \d+ \([0-9.]+%\)|` +
		`SQL script \d+: .*| - .*|statement latencies in milliseconds.*:| +[0-9.]+( +\d+)+  .*|)$`)
)

func parsePgbench(stdout []byte) (map[string]float64, error) {
	logged, report := cutCounted(stdout, pgbenchStart)
	if !pgbenchStart.MatchString(report[0]) {
		return nil, fmt.Errorf("the first line %q is not pgbench's", clip(report[0]))
	}
	if err := endsWithALine(stdout); err != nil {
		return nil, err
	}
	fields := map[string]float64{}
	for _, line := range report[1:] {
		known := pgbenchOther.MatchString(line)
		for _, f := range pgbenchFigures {
			m := f.pattern.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if _, twice := fields[f.fields[0]]; twice {
				return nil, fmt.Errorf("a second line of the same kind: %q", clip(line))
			}
			if err := take(fields, line, m[1:], f.fields...); err != nil {
				return nil, err
			}
			known = true
		}
		if !known {
			return nil, fmt.Errorf("pgbench 15 does not print such a line: %q", clip(line))
		}
	}
	if err := complete("pgbench", fields, report, "transactions", "failed", "latency_avg", "tps"); err != nil {
		return nil, err
	}
	if fields["transactions"] == 0 {
		return nil, fmt.Errorf("no transaction was processed: %s", ending(report))
	}
	if len(logged) > 0 {
		if _, err := checkCounted(logged, fields["transactions"]); err != nil {
			return nil, err
		}
	}
	return fields, nil
}
