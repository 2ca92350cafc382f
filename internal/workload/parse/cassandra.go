package parse

import (
	"fmt"
	"regexp"
	"strings"
)

var cassandraStress = Parser{
	Name: "cassandra-stress",
	About: "cassandra-stress write, read and mixed, its last summary; of several kinds of operations the totals, and the reads' " +
		"and writes' own with read_ and write_ before; total_seconds is printed in whole seconds",
	Versions: "4.0-alpha2; sweeps over thread counts after its source",
	Fields:   cassandraFields(),
	Parse:    parseCassandra,
	Split:    splitCassandra,
	Series:   cassandraSeries,
	Settings: settingsIn(`^  Type: (?P<type>\w+)$`, `^  Consistency Level: (?P<consistency>\w+)$`, `^  OpsPer Sec: (?P<rate>\d+)$`,
		`^  Thread Count: (?P<threads>\d+)$`, `^Running with (?P<threads>\d+) threadCount$`),
}

var cassandraNames = []struct{ title, name, unit, printed string }{
	{"Op rate", "op_rate", "op/s", "op/s"}, {"Partition rate", "partition_rate", "op/s", "pk/s"}, {"Row rate", "row_rate", "op/s", "row/s"},
	{"Latency mean", "latency_mean", "ms", "ms"}, {"Latency median", "latency_p50", "ms", "ms"},
	{"Latency 95th percentile", "latency_p95", "ms", "ms"}, {"Latency 99th percentile", "latency_p99", "ms", "ms"},
	{"Latency 99.9th percentile", "latency_p999", "ms", "ms"}, {"Latency max", "latency_max", "ms", "ms"},
	{"Total partitions", "partitions", "op", ""}, {"Total errors", "errors", "op", ""},
}

// cassandraGC are the fields of the nodes' garbage collection; absent if their
// JMX port is not reachable.
var cassandraGC = []struct{ title, name, unit, printed string }{
	{"Total GC count", "gc_count", "1", ""}, {"Total GC memory", "gc_memory", "B", "KiB"}, {"Total GC time", "gc_seconds", "s", "seconds"},
	{"Avg GC time", "gc_time_mean", "ms", "ms"}, {"StdDev GC time", "gc_time_stdev", "ms", "ms"},
}

func cassandraFields() []Field {
	fields := []Field{{"total_seconds", "s"}}
	for _, kind := range []string{"", "read_", "write_"} {
		for _, n := range cassandraNames {
			fields = append(fields, Field{kind + n.name, n.unit})
		}
	}
	for _, n := range cassandraGC {
		fields = append(fields, Field{n.name, n.unit})
	}
	return fields
}

var (
	cassandraLine     = regexp.MustCompile(`^([A-Z][A-Za-z0-9. ]*?) +: +(.+)$`)
	cassandraFigure   = regexp.MustCompile(`^([0-9.,]+|NaN)(?: +([A-Za-z/]+))?$`)
	cassandraByKind   = regexp.MustCompile(`^(.*?) +\[(.*)\]$`)
	cassandraKind     = regexp.MustCompile(`^(READ|WRITE): (.+)$`)
	cassandraDuration = regexp.MustCompile(`^(\d+):([0-5]\d):([0-5]\d)$`)
	cassandraSweep    = regexp.MustCompile(`^Running with \d+ threadCount$`)
	// Java and the driver's logger may print warnings with stack traces at any
	// time. The results have what became of the operations.
	cassandraWarning = regexp.MustCompile(`^(WARN +\S+: |OpenJDK .* warning: |\[[0-9.]+s\]\[warning\])`)
	cassandraStack   = regexp.MustCompile(`^(\tat |\t\.\.\. |(Caused by: )?([a-z]\w*\.)+\w+(: |$))`)
	cassandraSummary = regexp.MustCompile(`^ *id, +type +total ops,`)
)

const cassandraSettings = "******************** Stress Settings ********************"

func parseCassandra(stdout []byte) (map[string]float64, error) {
	fields, all := map[string]float64{}, lines(stdout)
	begun, ended, blind, warned := false, false, false, false
	for _, line := range all {
		if warned = cassandraWarning.MatchString(line) || warned && cassandraStack.MatchString(line); warned {
			continue
		}
		switch {
		case strings.HasPrefix(line, "Failed to connect over JMX"):
			blind = true // and prints 0 for what it did not see
		case line == "FAILURE", strings.HasPrefix(line, "java.") && strings.Contains(line, "Exception"):
			return nil, fmt.Errorf("cassandra-stress reports %q", clip(line))
		case line == "Results:":
			if begun {
				return nil, fmt.Errorf("a second summary follows; the first ended with %q", "Total operation time")
			}
			begun = true
		case !begun, line == "":
		case ended:
			return nil, fmt.Errorf("%q follows the end of cassandra-stress's report", clip(line))
		case line == "END":
			ended = true
		default:
			if err := cassandraResult(fields, line); err != nil {
				return nil, err
			}
		}
	}
	if !begun || !ended {
		return nil, fmt.Errorf("cassandra-stress's report is not complete: %s", ending(all))
	}
	for _, must := range []string{"op_rate", "latency_mean", "latency_max", "partitions", "errors", "total_seconds"} {
		if _, ok := fields[must]; !ok {
			return nil, fmt.Errorf("no %s in cassandra-stress's results: %s", strings.ReplaceAll(must, "_", " "), ending(all))
		}
	}
	for _, n := range cassandraGC {
		if blind {
			delete(fields, n.name)
		}
	}
	return fields, nil
}

// cassandraResult parses a line such as
//
//	Op rate                   :    2,298 op/s  [READ: 1,162 op/s, WRITE: 1,136 op/s]
func cassandraResult(fields map[string]float64, line string) error {
	strange := fmt.Errorf("cassandra-stress 4.0 does not print such a result: %q", clip(line))
	m := cassandraLine.FindStringSubmatch(line)
	if m == nil {
		return strange
	}
	title, value := m[1], m[2]
	take := func(name, text, unit string) error {
		f := cassandraFigure.FindStringSubmatch(text)
		if _, twice := fields[name]; twice || f == nil || f[2] != unit {
			return strange
		}
		if f[1] == "NaN" {
			return nil // of nothing: absent
		}
		v, err := number(strings.ReplaceAll(f[1], ",", ""), line)
		if unit == "KiB" {
			v *= 1024
		}
		fields[name] = v
		return err
	}
	if d := cassandraDuration.FindStringSubmatch(value); title == "Total operation time" && d != nil {
		for i, seconds := range []float64{3600, 60, 1} {
			v, err := number(d[i+1], line)
			if err != nil {
				return err
			}
			fields["total_seconds"] += v * seconds
		}
		return nil
	}
	for _, n := range cassandraGC {
		if n.title == title {
			return take(n.name, value, n.printed)
		}
	}
	for _, n := range cassandraNames {
		if n.title != title {
			continue
		}
		kinds := cassandraByKind.FindStringSubmatch(value)
		if kinds == nil {
			return strange
		}
		if err := take(n.name, kinds[1], n.printed); err != nil {
			return err
		}
		for _, part := range strings.Split(kinds[2], ", ") {
			k := cassandraKind.FindStringSubmatch(part)
			if k == nil {
				return fmt.Errorf("an operation that is neither READ nor WRITE in %q", clip(line))
			}
			if err := take(strings.ToLower(k[1])+"_"+n.name, k[2], n.printed); err != nil {
				return err
			}
		}
		return nil
	}
	return strange
}

// cassandraColumns are the columns of the lines that are printed once per
// second.
var cassandraColumns = []string{
	"type", "total ops", "op/s", "pk/s", "row/s", "mean", "med", ".95", ".99", ".999", "max", "time", "stderr",
	"errors", "gc: #", "max ms", "sum ms", "sdv ms", "mb",
}

// cassandraSeries parses the totals. A point has the time at which its interval
// begins.
func cassandraSeries(stdout []byte) (map[string][]Point, error) {
	if _, err := parseCassandra(stdout); err != nil {
		return nil, err
	}
	series, begin, inside := map[string][]Point{}, 0.0, false
	for _, line := range lines(stdout) {
		cells := strings.Split(line, ",")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if strings.HasPrefix(line, "type ") {
			cells = append(strings.Fields(cells[0])[:1], append([]string{strings.TrimSpace(strings.TrimPrefix(cells[0], "type"))}, cells[1:]...)...)
			if strings.Join(cells, ",") != strings.Join(cassandraColumns, ",") {
				return nil, fmt.Errorf("unknown columns %q", clip(line))
			}
			inside, begin, series = true, 0, map[string][]Point{} // those of a warm-up do not count
			continue
		}
		if !inside || cells[0] != "total" || len(cells) != len(cassandraColumns) {
			continue
		}
		for i, name := range map[int]string{2: "op_rate", 5: "latency_mean", 8: "latency_p99"} {
			if cells[i] == "NaN" {
				continue // nothing ended in this interval
			}
			v, err := number(cells[i], line)
			if err != nil {
				return nil, err
			}
			series[name] = append(series[name], Point{Second: begin, Value: v})
		}
		var err error
		if begin, err = number(cells[11], line); err != nil {
			return nil, err
		}
	}
	return series, nil
}

// splitCassandra splits where settings are printed, and a sweep over thread
// counts into one output per count.
func splitCassandra(file []byte) ([][]byte, error) {
	reports, err := splitAt(file, func(line string) bool { return line == cassandraSettings })
	if err != nil {
		return nil, err
	}
	var runs [][]byte
	for _, report := range reports {
		sweep := []int{}
		tail := len(report)
		for at := 0; at < len(report); {
			end, line := nextLine(report, at)
			if cassandraSweep.MatchString(line) {
				sweep = append(sweep, at)
			} else if cassandraSummary.MatchString(line) && len(sweep) > 0 {
				tail = at
				break
			}
			at = end
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
			runs = append(runs, append(cassandraPauses(report[begin:end]), "END\n"...))
		}
	}
	return runs, nil
}

// cassandraPauses removes what a sweep prints between two thread counts.
func cassandraPauses(report []byte) []byte {
	var kept []byte
	for at := 0; at < len(report); {
		end, line := nextLine(report, at)
		if !strings.HasPrefix(line, "Improvement over ") && line != "Sleeping for 15s" {
			kept = append(kept, report[at:end]...)
		}
		at = end
	}
	return kept
}
