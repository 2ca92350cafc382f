package parse

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
)

// redisTests maps the names that are printed to those of the fields.
var redisTests = map[string]string{
	"PING_INLINE": "ping_inline", "PING_MBULK": "ping_mbulk", "SET": "set", "GET": "get", "INCR": "incr",
	"LPUSH": "lpush", "RPUSH": "rpush", "LPOP": "lpop", "RPOP": "rpop", "SADD": "sadd", "HSET": "hset",
	"SPOP": "spop", "ZADD": "zadd", "ZPOPMIN": "zpopmin", "MSET (10 keys)": "mset",
	"LPUSH (needed to benchmark LRANGE)": "lpush_for_lrange",
	"LRANGE_100 (first 100 elements)":    "lrange_100", "LRANGE_300 (first 300 elements)": "lrange_300",
	"LRANGE_500 (first 500 elements)": "lrange_500", "LRANGE_600 (first 600 elements)": "lrange_600",
}

var redisLatencies = []string{"latency_avg", "latency_min", "latency_p50", "latency_p95", "latency_p99", "latency_max"}

const redisColumns = "test,rps,avg_latency_ms,min_latency_ms,p50_latency_ms,p95_latency_ms,p99_latency_ms,max_latency_ms"

var (
	redisTitle     = expression(`^====== (.+) ======$`)
	redisCompleted = expression(`^  (\d+) requests completed in [0-9.]+ seconds$`)
	redisRate      = expression(`^  throughput summary: (\S+) requests per second$`)
	redisQuiet     = expression(`^(.+): ([0-9.]+) requests per second, p50=([0-9.]+) msec$`)
	redisRow       = expression(`^"([^"]+)"(?:,"[^"]*"){7}$`)
	redisBelow     = expression(`^[0-9.]+% <= ([0-9.]+) milliseconds \(cumulative count (\d+)\)$`)
	redisHead      = expression(`^ +avg +min +p50 +p95 +p99 +max$`)
	redisFailed    = expression(`^(Error|Could not connect)`)
	redisProgress  = expression(`^\s*(.+): rps=[0-9.]+ \(overall: .*\) avg_msec=`)
)

// redisNamed is the test that a line of one of these forms names.
func redisNamed(line string, forms ...*pattern) string {
	for _, form := range forms {
		if m := form.find(line); m != nil {
			return m[0]
		}
	}
	return ""
}

// redisSettings has the tests of a run as -t names them. Only the long form prints more.
func redisSettings(stdout []byte, found map[string]string) map[string]string {
	tests := settingValues{}
	for _, line := range lines(stdout) {
		tests.add("test", redisTests[redisNamed(line, redisTitle, redisQuiet, redisRow)])
	}
	maps.Copy(found, tests.joined())
	return found
}

func readRedis(r *reading) {
	if r.redisIsCSV() {
		r.redisCSV()
	} else {
		r.wholeLines()
		r.redisText()
	}
}

func (r *reading) redisIsCSV() bool { return bytes.HasPrefix(r.stdout, []byte(`"test"`)) }

func (r *reading) redisCSV() {
	rows := rowsOf("redis-benchmark's table", wholeTable(r.stdout))
	if strings.Join(rows[0], ",") != redisColumns {
		fail("unknown columns %q", strings.Join(rows[0], ","))
	}
	if len(rows) == 1 {
		fail("redis-benchmark printed the head of its table and no test")
	}
	for _, row := range rows[1:] {
		r.redisTest(row[0], row[1], row[2:], strings.Join(row, ","))
	}
}

func (r *reading) redisSlug(test, line string) string {
	slug, known := redisTests[test]
	if !known {
		fail("unknown test %q in the line %q: tare reads those that -t names, of a command of one's own nothing", test, clip(line))
	}
	if _, twice := r.fields[slug+"_rps"]; twice {
		fail("test %q occurs twice", test)
	}
	return slug
}

// redisTest adds the fields of one test.
func (r *reading) redisTest(test, rate string, latencies []string, line string) {
	slug := r.redisSlug(test, line)
	if rate == "inf" {
		fail("test %q took less than the millisecond by which redis-benchmark counts, and has no rate: it needs more requests", test)
	}
	r.fields[slug+"_rps"] = number(rate, line)
	for i, l := range redisLatencies {
		r.fields[slug+"_"+l] = number(latencies[i], line)
	}
}

// redisText reads the long form, and that of -q. Per test the long one has a title, the
// number of requests, tables that are not used, and a summary.
func (r *reading) redisText() {
	test, rate, requests, tests := "", "", -1.0, 0
	for i, line := range r.lines {
		if m := redisTitle.find(line); m != nil {
			if test != "" {
				fail("test %q has no summary before %q", test, clip(line))
			}
			test, rate, requests = m[0], "", -1
		} else if m := redisCompleted.find(line); m != nil {
			requests = number(m[0], line)
		} else if m := redisQuiet.find(line); m != nil && test == "" {
			slug := r.redisSlug(m[0], line)
			r.take(line, m[1:], slug+"_rps", slug+"_latency_p50")
			tests++
		} else if m := redisRate.find(line); m != nil {
			rate = m[0]
		} else if redisHead.match(line) && i+1 < len(r.lines) {
			// The table is complete only if its last line has a newline.
			cells := strings.Fields(r.lines[i+1])
			if test == "" || rate == "" || requests < 0 || len(cells) != len(redisLatencies) || i+2 >= len(r.lines) {
				fail("the summary at %q is not complete", clip(r.lines[i+1]))
			}
			r.redisTest(test, rate, cells, r.lines[i+1])
			r.fields[redisTests[test]+"_requests"] = requests
			r.fields["requests"] += requests
			test, tests = "", tests+1
		} else if redisFailed.match(line) {
			fail("redis-benchmark reports %q", clip(line))
		} else if m := redisProgress.find(line); m != nil { // a report overwrites it
			fail("redis-benchmark was interrupted in the test %q", m[0])
		}
	}
	if test != "" || tests == 0 {
		fail("redis-benchmark's report is not complete: %s", ending(r.lines))
	}
}

// redisHistograms are of the long form alone. It prints how many requests took at
// most some latencies, in two tables: at percentiles, and at equal distances.
func redisHistograms(r *reading) {
	type point struct{ value, below float64 }
	if r.histograms = map[string]Histogram{}; r.redisIsCSV() {
		return
	}
	var points []point
	test := ""
	for i, line := range r.lines {
		if m := redisTitle.find(line); m != nil {
			test, points = m[0], nil
		} else if m := redisBelow.find(line); m != nil {
			points = append(points, point{number(m[0], line), number(m[1], line)})
		} else if redisHead.match(line) && len(points) > 0 {
			least := number(strings.Fields(r.lines[i+1])[1], r.lines[i+1])
			slices.SortFunc(points, func(a, b point) int { return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.below, b.below)) })
			h, last := Histogram{}, point{least, 0}
			for _, p := range points {
				if p.below < last.below {
					fail("test %q: fewer requests took up to %v ms than up to %v ms", test, p.value, last.value)
				} else if p.below > last.below {
					h = append(h, Bin{min(last.value, p.value), p.value, p.below - last.below})
				}
				last = point{max(p.value, least), p.below}
			}
			r.histograms[redisTests[test]+"_latency"] = h
		}
	}
}

// splitRedis splits before each head of a table, or before each occurrence of
// the file's first test, since a run has each of its tests once.
func splitRedis(file []byte) ([][]byte, error) {
	if bytes.HasPrefix(file, []byte(`"test"`)) {
		return splitAt(file, func(line string) bool { return strings.HasPrefix(line, `"test"`) }, ownOf(anything))
	}
	named := func(line string) string { return redisNamed(line, redisTitle, redisQuiet) }
	first := ""
	for _, line := range lines(file) {
		if first = named(line); first != "" {
			break
		}
	}
	return splitAt(file, func(line string) bool { return first != "" && named(line) == first }, ownOf(anything))
}
