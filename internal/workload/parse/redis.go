package parse

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var redisBenchmark = Parser{
	Name:     "redis-benchmark",
	About:    "redis-benchmark, by default, with --csv, or with -q (both omit the number of requests, and -q all latencies but the median)",
	Versions: "7.0.15",
	Fields:   redisFields(),
	Parse:    parseRedis,
	Split:    splitRedis,
	Settings: redisSettings,

	Distributions: redisDistributions(),
	Histograms:    redisHistograms,
}

// redisTests maps the names that are printed to those of the fields.
var redisTests = map[string]string{
	"PING_INLINE": "ping_inline", "PING_MBULK": "ping_mbulk", "SET": "set", "GET": "get", "INCR": "incr",
	"LPUSH": "lpush", "RPUSH": "rpush", "LPOP": "lpop", "RPOP": "rpop", "SADD": "sadd", "HSET": "hset",
	"SPOP": "spop", "ZADD": "zadd", "ZPOPMIN": "zpopmin", "MSET (10 keys)": "mset",
	"LPUSH (needed to benchmark LRANGE)": "lpush_for_lrange",
	"LRANGE_100 (first 100 elements)":    "lrange_100", "LRANGE_300 (first 300 elements)": "lrange_300",
	"LRANGE_500 (first 500 elements)": "lrange_500", "LRANGE_600 (first 600 elements)": "lrange_600",
}

var (
	redisColumns   = []string{"test", "rps", "avg_latency_ms", "min_latency_ms", "p50_latency_ms", "p95_latency_ms", "p99_latency_ms", "max_latency_ms"}
	redisLatencies = []string{"latency_avg", "latency_min", "latency_p50", "latency_p95", "latency_p99", "latency_max"}

	redisTitle     = regexp.MustCompile(`^====== (.+) ======$`)
	redisCompleted = regexp.MustCompile(`^  (\d+) requests completed in [0-9.]+ seconds$`)
	redisRate      = regexp.MustCompile(`^  throughput summary: (\S+) requests per second$`)
	redisQuiet     = regexp.MustCompile(`^(.+): ([0-9.]+) requests per second, p50=([0-9.]+) msec$`)
	redisRow       = regexp.MustCompile(`^"([^"]+)"(?:,"[^"]*"){7}$`)
	redisBelow     = regexp.MustCompile(`^[0-9.]+% <= ([0-9.]+) milliseconds \(cumulative count (\d+)\)$`)
	redisHead      = regexp.MustCompile(`^ +avg +min +p50 +p95 +p99 +max$`)
)

var redisPrinted = settingsIn(`^  (?P<clients>\d+) parallel clients$`, `^  (?P<payload>\d+) bytes payload$`, `^  keep alive: (?P<keep_alive>\d+)$`, `^  threads: (?P<threads>\d+)$`)

// redisSettings has the tests of a run as -t names them. Only the long form prints more.
func redisSettings(stdout []byte) map[string]string {
	found, tests := redisPrinted(stdout), settingValues{}
	for _, line := range lines(stdout) {
		for _, title := range []*regexp.Regexp{redisTitle, redisQuiet, redisRow} {
			if m := title.FindStringSubmatch(line); m != nil {
				tests.add("test", redisTests[m[1]])
			}
		}
	}
	maps.Copy(found, tests.joined())
	return found
}

func redisSlugs() []string { return slices.Sorted(maps.Values(redisTests)) }

func redisDistributions() (all []Field) {
	for _, slug := range redisSlugs() {
		all = append(all, Field{slug + "_latency", "ms"})
	}
	return all
}

func redisFields() []Field {
	fields := []Field{{"requests", "op"}}
	for _, slug := range redisSlugs() {
		fields = append(fields, Field{slug + "_rps", "op/s"}, Field{slug + "_requests", "op"})
		for _, l := range redisLatencies {
			fields = append(fields, Field{slug + "_" + l, "ms"})
		}
	}
	return fields
}

func parseRedis(stdout []byte) (map[string]float64, error) {
	if strings.HasPrefix(string(stdout), `"test"`) {
		return parseRedisCSV(stdout)
	}
	if err := endsWithALine(stdout); err != nil {
		return nil, err
	}
	return parseRedisText(lines(stdout))
}

func parseRedisCSV(stdout []byte) (map[string]float64, error) {
	if !strings.HasSuffix(string(stdout), "\n") {
		return nil, fmt.Errorf("the table is truncated: %s", ending(lines(stdout)))
	}
	rows, err := csv.NewReader(strings.NewReader(string(stdout))).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("redis-benchmark's table: %w", err)
	}
	if !slices.Equal(rows[0], redisColumns) {
		return nil, fmt.Errorf("unknown columns %q", strings.Join(rows[0], ","))
	}
	if len(rows) == 1 {
		return nil, fmt.Errorf("redis-benchmark printed the head of its table and no test")
	}
	fields := map[string]float64{}
	for _, row := range rows[1:] {
		if err := redisTest(fields, row[0], row[1], row[2:], strings.Join(row, ",")); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

func redisSlug(fields map[string]float64, test, line string) (string, error) {
	slug, known := redisTests[test]
	if !known {
		return "", fmt.Errorf("unknown test %q in the line %q", test, clip(line))
	}
	if _, twice := fields[slug+"_rps"]; twice {
		return "", fmt.Errorf("test %q occurs twice", test)
	}
	return slug, nil
}

// redisMedian adds the fields of one test of the output of -q.
func redisMedian(fields map[string]float64, test, rate, median, line string) error {
	slug, err := redisSlug(fields, test, line)
	if err != nil {
		return err
	}
	return take(fields, line, []string{rate, median}, slug+"_rps", slug+"_latency_p50")
}

// redisTest adds the fields of one test.
func redisTest(fields map[string]float64, test, rate string, latencies []string, line string) error {
	slug, err := redisSlug(fields, test, line)
	if err != nil {
		return err
	}
	if rate == "inf" {
		return fmt.Errorf("test %q took less than the millisecond by which redis-benchmark counts, and has no rate: it needs more requests", test)
	}
	if fields[slug+"_rps"], err = number(rate, line); err != nil {
		return err
	}
	for i, l := range redisLatencies {
		if fields[slug+"_"+l], err = number(latencies[i], line); err != nil {
			return err
		}
	}
	return nil
}

// parseRedisText parses the long form. Per test it has a title, the number of
// requests, tables that are not used, and a summary.
func parseRedisText(all []string) (map[string]float64, error) {
	fields := map[string]float64{}
	test, rate, requests, tests := "", "", -1.0, 0
	for i, line := range all {
		if m := redisTitle.FindStringSubmatch(line); m != nil {
			if test != "" {
				return nil, fmt.Errorf("test %q has no summary before %q", test, clip(line))
			}
			test, rate, requests = m[1], "", -1
		} else if m := redisCompleted.FindStringSubmatch(line); m != nil {
			var err error
			if requests, err = number(m[1], line); err != nil {
				return nil, err
			}
		} else if m := redisQuiet.FindStringSubmatch(line); m != nil && test == "" {
			if err := redisMedian(fields, m[1], m[2], m[3], line); err != nil {
				return nil, err
			}
			tests++
		} else if m := redisRate.FindStringSubmatch(line); m != nil {
			rate = m[1]
		} else if redisHead.MatchString(line) && i+1 < len(all) {
			// The table is complete only if its last line has a newline.
			cells := strings.Fields(all[i+1])
			if test == "" || rate == "" || requests < 0 || len(cells) != len(redisLatencies) || i+2 >= len(all) {
				return nil, fmt.Errorf("the summary at %q is not complete", clip(all[i+1]))
			}
			if err := redisTest(fields, test, rate, cells, all[i+1]); err != nil {
				return nil, err
			}
			fields[redisTests[test]+"_requests"] = requests
			fields["requests"] += requests
			test, tests = "", tests+1
		} else if strings.HasPrefix(line, "Error") || strings.HasPrefix(line, "Could not connect") {
			return nil, fmt.Errorf("redis-benchmark reports %q", clip(line))
		}
	}
	if test != "" || tests == 0 {
		return nil, fmt.Errorf("redis-benchmark's report is not complete: %s", ending(all))
	}
	return fields, nil
}

// redisHistograms are of the long form alone. It prints how many requests took at
// most some latencies, in two tables: at percentiles, and at equal distances.
func redisHistograms(stdout []byte) (map[string]Histogram, error) {
	type point struct{ value, below float64 }
	histograms := map[string]Histogram{}
	var points []point
	test, all := "", lines(stdout)
	for i, line := range all {
		if m := redisTitle.FindStringSubmatch(line); m != nil {
			test, points = m[1], nil
		} else if m := redisBelow.FindStringSubmatch(line); m != nil {
			value, err := number(m[1], line)
			below, countErr := number(m[2], line)
			if err = cmp.Or(err, countErr); err != nil {
				return nil, err
			}
			points = append(points, point{value, below})
		} else if redisHead.MatchString(line) && i+1 < len(all) && len(points) > 0 {
			cells := strings.Fields(all[i+1])
			if len(cells) != len(redisLatencies) {
				return nil, fmt.Errorf("the summary at %q is not complete", clip(all[i+1]))
			}
			least, err := number(cells[1], all[i+1])
			if err != nil {
				return nil, err
			}
			slices.SortFunc(points, func(a, b point) int { return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.below, b.below)) })
			h, last := Histogram{}, point{least, 0}
			for _, p := range points {
				if p.below < last.below {
					return nil, fmt.Errorf("test %q: fewer requests took up to %v ms than up to %v ms", test, p.value, last.value)
				} else if p.below > last.below {
					h = append(h, Bin{min(last.value, p.value), p.value, p.below - last.below})
				}
				last = point{max(p.value, least), p.below}
			}
			histograms[redisTests[test]+"_latency"] = h
		}
	}
	return histograms, nil
}

// splitRedis splits before each head of a table, or before each occurrence of
// the file's first test, since a run has each of its tests once.
func splitRedis(file []byte) ([][]byte, error) {
	if strings.HasPrefix(string(file), `"test"`) {
		return splitPrefix(`"test"`)(file)
	}
	named := func(line string) string {
		if m := redisTitle.FindStringSubmatch(line); m != nil {
			return m[1]
		} else if m := redisQuiet.FindStringSubmatch(line); m != nil {
			return m[1]
		}
		return ""
	}
	first := ""
	for _, line := range lines(file) {
		if first = named(line); first != "" {
			break
		}
	}
	return splitAt(file, func(line string) bool { return first != "" && named(line) == first })
}
