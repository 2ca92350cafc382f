package parse

import (
	"maps"
	"strings"
)

// cassandraNames are the fields by the titles of results, with the units that are printed.
var cassandraNames = map[string]struct{ name, printed string }{
	"Op rate": {"op_rate", "op/s"}, "Partition rate": {"partition_rate", "pk/s"}, "Row rate": {"row_rate", "row/s"},
	"Latency mean": {"latency_mean", "ms"}, "Latency median": {"latency_p50", "ms"},
	"Latency 95th percentile": {"latency_p95", "ms"}, "Latency 99th percentile": {"latency_p99", "ms"},
	"Latency 99.9th percentile": {"latency_p999", "ms"}, "Latency max": {"latency_max", "ms"},
	"Total partitions": {"partitions", ""}, "Total errors": {"errors", ""},
}

// cassandraGC are the fields of the nodes' garbage collection; absent if their
// JMX port is not reachable.
var cassandraGC = map[string]struct{ name, printed string }{
	"Total GC count": {"gc_count", ""}, "Total GC memory": {"gc_memory", "KiB"}, "Total GC time": {"gc_seconds", "seconds"},
	"Avg GC time": {"gc_time_mean", "ms"}, "StdDev GC time": {"gc_time_stdev", "ms"},
}

var (
	cassandraLine     = expression(`^([A-Z][A-Za-z0-9. ]*?) +: +(.+)$`)
	cassandraFigure   = expression(`^([0-9.,]+|NaN)(?: +([A-Za-z/]+))?$`)
	cassandraByKind   = expression(`^(.*?) +\[(.*)\]$`)
	cassandraKind     = expression(`^(READ|WRITE): (.+)$`)
	cassandraDuration = expression(`^(\d+):([0-5]\d):([0-5]\d)$`)
	cassandraSweep    = expression(`^Running with \d+ threadCount$`)
	// Java and the driver's logger may print warnings with stack traces at any
	// time. The results have what became of the operations.
	cassandraWarning = expression(`^(WARN +\S+: |OpenJDK .* warning: |\[[0-9.]+s\]\[warning\])`)
	cassandraStack   = expression(`^(\tat |\t\.\.\. |(Caused by: )?([a-z]\w*\.)+\w+(: |$))`)
	cassandraSummary = expression(`^ *id, +type +total ops,`)
)

const cassandraSettings = "******************** Stress Settings ********************"

func readCassandra(r *reading) {
	begun, ended, blind, warned := false, false, false, false
	for _, line := range r.each(r.lines) {
		if warned = cassandraWarning.match(line) || warned && cassandraStack.match(line); warned {
			continue
		}
		switch {
		case strings.HasPrefix(line, "Failed to connect over JMX"):
			blind = true // and prints 0 for what it did not see
		case line == "FAILURE", strings.HasPrefix(line, "java.") && strings.Contains(line, "Exception"):
			fail("cassandra-stress reports %q", clip(line))
		case line == "Results:":
			if begun {
				fail("a second summary follows; the first ended with %q", "Total operation time")
			}
			begun = true
		case !begun, line == "":
		case ended:
			fail("%q follows the end of cassandra-stress's report", clip(line))
		case line == "END":
			ended = true
		default:
			r.cassandraResult(line)
		}
	}
	if !begun || !ended {
		fail("cassandra-stress's report is not complete: %s", ending(r.lines))
	}
	for _, must := range []string{"op_rate", "latency_mean", "latency_max", "partitions", "errors", "total_seconds"} {
		if _, ok := r.fields[must]; !ok {
			fail("no %s in cassandra-stress's results: %s", strings.ReplaceAll(must, "_", " "), ending(r.lines))
		}
	}
	r.failed(r.fields["errors"], r.fields["partitions"]+r.fields["errors"])
	for _, n := range cassandraGC {
		if blind {
			delete(r.fields, n.name)
		}
	}
}

// cassandraResult reads a line such as
//
//	Op rate                   :    2,298 op/s  [READ: 1,162 op/s, WRITE: 1,136 op/s]
func (r *reading) cassandraResult(line string) {
	strange := func() { fail("%q is no result that tare knows of cassandra-stress 4.0", clip(line)) }
	m := cassandraLine.find(line)
	if m == nil {
		strange()
	}
	title, value := m[0], m[1]
	take := func(name, text, unit string) {
		f := cassandraFigure.find(text)
		if _, twice := r.fields[name]; twice || f == nil || f[1] != unit {
			strange()
		}
		if f[0] == "NaN" {
			return // of nothing: absent
		}
		if r.fields[name] = number(strings.ReplaceAll(f[0], ",", ""), line); unit == "KiB" {
			r.fields[name] *= 1024
		}
	}
	if d := cassandraDuration.find(value); title == "Total operation time" && d != nil {
		r.fields["total_seconds"] += number(d[0], line)*3600 + number(d[1], line)*60 + number(d[2], line)
		return
	}
	if n, is := cassandraGC[title]; is {
		take(n.name, value, n.printed)
		return
	}
	n, is := cassandraNames[title]
	kinds := cassandraByKind.find(value)
	if !is || kinds == nil {
		strange()
	}
	take(n.name, kinds[0], n.printed)
	for _, part := range strings.Split(kinds[1], ", ") {
		k := cassandraKind.find(part)
		if k == nil {
			fail("an operation that is neither READ nor WRITE in %q", clip(line))
		}
		take(strings.ToLower(k[0])+"_"+n.name, k[1], n.printed)
	}
}

// cassandraColumns are the columns of the lines that are printed once per
// second.
const cassandraColumns = "type,total ops,op/s,pk/s,row/s,mean,med,.95,.99,.999,max,time,stderr,errors,gc: #,max ms,sum ms,sdv ms,mb"

// cassandraSeries adds the totals. A point has the time at which its interval
// begins.
func cassandraSeries(r *reading) {
	begin, inside := 0.0, false
	for _, line := range r.lines {
		cells := strings.Split(line, ",")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if strings.HasPrefix(line, "type ") {
			cells = append([]string{"type", strings.TrimSpace(strings.TrimPrefix(cells[0], "type"))}, cells[1:]...)
			if strings.Join(cells, ",") != cassandraColumns {
				fail("unknown columns %q", clip(line))
			}
			inside, begin = true, 0
			maps.DeleteFunc(r.series, func(string, []Point) bool { return true }) // those of a warm-up do not count
			continue
		}
		if !inside || cells[0] != "total" || len(cells) != strings.Count(cassandraColumns, ",")+1 {
			continue
		}
		for i, name := range map[int]string{2: "op_rate", 5: "latency_mean", 8: "latency_p99"} {
			if cells[i] != "NaN" { // nothing ended in this interval
				r.series[name] = append(r.series[name], Point{Second: begin, Value: number(cells[i], line)})
			}
		}
		begin = number(cells[11], line)
	}
}

// splitCassandra splits where settings are printed, and a sweep over thread
// counts into one output per count.
func splitCassandra(file []byte) ([][]byte, error) {
	reports, err := splitAt(file, func(line string) bool { return line == cassandraSettings }, ownOf(func(line string) bool { return line == "Results:" || line == "END" }))
	if err != nil {
		return nil, err
	}
	var runs [][]byte
	for _, report := range reports {
		sweep := []int{}
		tail := len(report)
		for at, line := range eachLine(report) {
			if cassandraSweep.match(line) {
				sweep = append(sweep, at.begin)
			} else if cassandraSummary.match(line) && len(sweep) > 0 {
				tail = at.begin
				break
			}
		}
		if len(sweep) == 0 || tail == len(report) {
			runs = append(runs, report)
			continue
		}
		for i, begin := range sweep {
			end := tail
			if i+1 < len(sweep) {
				end = sweep[i+1]
			}
			runs = append(runs, append(without(report[begin:end], cassandraPause), "END\n"...))
		}
	}
	return runs, nil
}

// cassandraPause is what a sweep prints between two thread counts.
func cassandraPause(line string) bool {
	return strings.HasPrefix(line, "Improvement over ") || line == "Sleeping for 15s"
}
