package parse

import (
	"bytes"
	"encoding/csv"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// jmeterSample is one request; times are in milliseconds since the epoch.
type jmeterSample struct {
	at, elapsed, bytes, users, firstByte, connect float64
	failed, part                                  bool // part of another sample
	label, thread                                 string
}

// jmeterTable is a result file. Its columns are in any order, and most are optional.
type jmeterTable struct {
	column  map[string]int
	samples []jmeterSample
	threads map[string][]int // the samples of each
}

func (t *jmeterTable) has(name string) bool { _, has := t.column[name]; return has }

// jmeterNumbers are the columns with numbers that are used.
var jmeterNumbers = []string{"elapsed", "bytes", "allThreads", "Latency", "Connect"}

var jmeterPart = expression(`^(-\d+)+$`)

func (r *reading) jmeter() *jmeterTable {
	head := r.lines[0]
	table := csv.NewReader(bytes.NewReader(r.stdout))
	if end := strings.IndexFunc(head, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' }); end > 0 {
		table.Comma, _ = utf8.DecodeRuneInString(head[end:])
	}
	rows, err := table.ReadAll()
	switch {
	case err != nil:
		fail("JMeter's result file: %w", err)
	case len(rows) < 2:
		fail("JMeter's result file has no sample: %s", ending(r.lines))
	}
	t := &jmeterTable{column: map[string]int{}, threads: map[string][]int{}}
	for i, name := range rows[0] {
		t.column[name] = i
	}
	for _, name := range []string{"timeStamp", "elapsed", "success"} {
		if !t.has(name) {
			fail("no column %s in the head of JMeter's result file, %q", name, clip(head))
		}
	}
	if last := rows[0][len(rows[0])-1]; slices.Contains(jmeterNumbers, last) {
		r.wholeLines()
	}
	for _, row := range rows[1:] {
		t.add(row)
	}
	t.samples = slices.DeleteFunc(t.samples, func(s jmeterSample) bool { return s.part })
	return t
}

func (t *jmeterTable) add(row []string) {
	line := strings.Join(row, ",")
	text := func(name string) string {
		if i, has := t.column[name]; has {
			return row[i]
		}
		return ""
	}
	s := jmeterSample{at: jmeterTime(text("timeStamp"), line), label: text("label"), thread: text("threadName")}
	for i, to := range []*float64{&s.elapsed, &s.bytes, &s.users, &s.firstByte, &s.connect} {
		name := jmeterNumbers[i]
		if !t.has(name) {
			continue
		}
		if *to = number(text(name), line); *to < 0 {
			fail("%s is negative in the line %q", name, clip(line))
		}
	}
	success := text("success")
	if s.failed = success == "false"; !s.failed && success != "true" {
		fail("success is neither true nor false in the line %q", clip(line))
	}
	if strings.HasPrefix(text("responseMessage"), "Number of samples in transaction") {
		fail("a transaction controller's sample counts its requests again; turn it off in the plan: %q", clip(line))
	}
	// Redirects and embedded files are before their page, which has their sum, or behind it. A
	// thread does one request at a time, so that they are within its time, and what ended
	// before a sample has nothing to do with it.
	own := t.threads[s.thread]
	for i := len(own) - 1; i >= 0 && s.thread != ""; i-- {
		other := &t.samples[own[i]]
		if other.at+other.elapsed < s.at {
			break
		}
		other.part = other.part || other.of(&s)
		s.part = s.part || s.of(other)
	}
	if !s.part {
		t.threads[s.thread] = append(own, len(t.samples))
	}
	t.samples = append(t.samples, s)
}

// of reports whether a sample is a redirect or an embedded file of a page.
func (s *jmeterSample) of(page *jmeterSample) bool {
	number, named := strings.CutPrefix(s.label, page.label)
	return named && jmeterPart.match(number) && s.at >= page.at && s.at+s.elapsed <= page.at+page.elapsed
}

// jmeterRow begins a row of a file whose head was not written.
var jmeterRow = expression(`^\d{10,}[,;|\t]\d+[,;|\t]`)

func splitJMeter(file []byte) ([][]byte, error) {
	if jmeterRow.match(lines(file)[0]) {
		return nil, atLine(1, errors.New("a result file without a head: write the names of its columns above the first line, or run JMeter with -Jjmeter.save.saveservice.print_field_names=true"))
	}
	return declarationOf("jmeter").split(file)
}

var jmeterTimes = []string{"2006/01/02 15:04:05.000", "2006-01-02 15:04:05.000", "2006/01/02 15:04:05", "2006-01-02 15:04:05"}

// jmeterTime is a time in milliseconds, which JMeter writes in the form that its property
// says.
func jmeterTime(text, line string) float64 {
	if ms, err := strconv.ParseFloat(text, 64); err == nil && ms >= 0 && !math.IsInf(ms, 1) {
		return ms
	}
	for _, layout := range jmeterTimes {
		if at, err := time.Parse(layout, text); err == nil {
			return float64(at.UnixMilli())
		}
	}
	fail("%q is no time that tare knows in the line %q: run JMeter with -Jjmeter.save.saveservice.timestamp_format=ms", clip(text), clip(line))
	return 0
}

// jmeterSpan returns the time from the first request's start to the last
// response's end.
func jmeterSpan(samples []jmeterSample) (begin, end float64) {
	begin = math.Inf(1)
	for _, s := range samples {
		begin, end = min(begin, s.at), max(end, s.at+s.elapsed)
	}
	return begin, end
}

func readJMeter(r *reading) {
	table := r.jmeter()
	samples := table.samples
	begin, end := jmeterSpan(samples)
	n, f, failed := float64(len(samples)), r.fields, 0.0
	f["requests"], f["seconds"] = n, (end-begin)/1e3
	var elapsed []float64
	for _, s := range samples {
		if s.failed {
			failed++
		}
		elapsed = append(elapsed, s.elapsed)
		f["bytes"] += s.bytes
		f["first_byte_mean"] += s.firstByte / n
		f["connect_mean"] += s.connect / n
		f["users_max"] = max(f["users_max"], s.users)
	}
	r.failed(failed, n)
	for column, field := range map[string]string{"bytes": "bytes", "allThreads": "users_max", "Latency": "first_byte_mean", "Connect": "connect_mean"} {
		if !table.has(column) {
			r.without(field)
		}
	}
	if end > begin {
		f["throughput"] = n / f["seconds"]
	}
	r.count("elapsed", elapsed)
	r.summarize(elapsed, "elapsed_", "min mean p50 p90 p95 p99 max")
}

const jmeterWindows = 120 // a series has at most as many points

// jmeterSeries adds windows of one second, by when requests were sent. A
// window without requests has no response time and no number of users.
func jmeterSeries(r *reading) {
	table := r.jmeter()
	samples := table.samples
	begin, end := jmeterSpan(samples)
	span := (end - begin) / 1e3
	width := max(1, math.Ceil(span/jmeterWindows))
	type window struct{ requests, elapsed, users float64 }
	windows := make([]window, max(1, int(math.Ceil(span/width))))
	for _, s := range samples {
		w := &windows[min(int((s.at-begin)/1e3/width), len(windows)-1)]
		w.requests++
		w.elapsed += s.elapsed
		w.users = max(w.users, s.users)
	}
	add := func(name string, at, value float64) { r.series[name] = append(r.series[name], Point{at, value}) }
	for i, w := range windows {
		at := float64(i) * width
		if covered := min(width, span-at); covered > 0 {
			add("requests_per_second", at, w.requests/covered)
		}
		if w.requests > 0 {
			add("response_time", at, w.elapsed/w.requests)
			if table.has("allThreads") {
				add("users", at, w.users)
			}
		}
	}
}
