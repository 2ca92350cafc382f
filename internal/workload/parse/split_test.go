package parse

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAFileOfSeveralRunsIsCutIntoEachOfThem(t *testing.T) {
	for _, p := range everyParser() {
		if p.Split == nil {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			all := samples(t, p.Name)
			names := make([]string, 0, len(all))
			for name := range all {
				names = append(names, name)
			}
			slices.Sort(names)
			rapid.Check(t, func(t *rapid.T) {
				data := all[rapid.SampledFrom(names).Draw(t, "sample")]
				n := rapid.IntRange(1, 4).Draw(t, "runs")
				runs, err := p.Split(bytes.Repeat(data, n))
				if err != nil || len(runs) != n {
					t.Fatalf("%d runs became %d: %v", n, len(runs), err)
				}
				want, _ := p.Parse(data)
				for _, run := range runs {
					got, err := p.Parse(run)
					if d := cmp.Diff(want, got); err != nil || d != "" {
						t.Fatalf("%v (-alone +cut out):\n%s", err, d)
					}
				}
			})
		})
	}
}

func TestTextBetweenRunsIsKept(t *testing.T) {
	for _, p := range everyParser() {
		if strings.HasSuffix(p.Name, "-csv") || p.Name == "jmeter" || p.Name == "fio" {
			continue // fields of a table, and notes, may say anything
		}
		for name, data := range samples(t, p.Name) {
			file := slices.Concat(data, []byte("?? this is of no tool\n"), data)
			runs, err := p.Split(file)
			for _, run := range runs {
				if err == nil {
					_, err = p.Parse(run)
				}
			}
			if err == nil && !skipsText(p.Name) {
				t.Errorf("%s: a strange line between two of %s was taken for nothing", p.Name, name)
			}
		}
	}
}

// skipsText: these print much around their figures that differs by system and
// is not looked at; or end with what a script prints.
func skipsText(parser string) bool {
	return slices.Contains([]string{"hpl", "iozone", "redis-benchmark", "wrk", "wrk2"}, parser)
}

func TestOneOutputWithSeveralResultsIsCutIntoEach(t *testing.T) {
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	text := string(read("cassandra-stress/3node-write.txt"))
	at := strings.Index(text, "Running WRITE")
	settings, run := text[:at], strings.TrimSuffix(text[at:], "END\n")
	sweep := settings + "\nRunning with 4 threadCount\n" + run + "Sleeping for 15s\n\nRunning with 8 threadCount\n" +
		strings.ReplaceAll(run, "1,942", "2,942") + "Improvement over 4 threadCount: 51%\n" +
		"             id, type       total ops,    op/s\n  4 threadCount, total, 20000, 1942\nEND\n"
	list := slices.Concat([]byte("[\n"), read("iperf3/tcp.txt"), []byte(","), read("iperf3/tcp-reverse.txt"), []byte("]"))
	ended := slices.Concat(read("iperf3/docker-server.txt"), []byte(`{"start":{"connected":[],"version":"iperf 3.7"},"intervals":[],"end":{},"error":"interrupt - the server has terminated"}`))
	for _, c := range []struct {
		parser, what string
		file         []byte
		field        string
		want         []float64
	}{
		{"hpl", "two orders of the matrix", read("broken/hpl-two-results.txt"), "n", []float64{200, 300}},
		{"iozone", "two record sizes", read("broken/iozone-two-record-sizes.txt"), "record_size", []float64{4096, 65536}},
		{"cassandra-stress", "a sweep over threads", []byte(sweep), "op_rate", []float64{1942, 2942}},
		{"iperf3", "a list of reports", list, "bandwidth_received", []float64{17199813019.103474, 13921565593.169668}},
		{"iperf3", "a server that was ended", ended, "bytes_received", []float64{37486592}},
	} {
		p, _ := Lookup(c.parser)
		runs, err := p.Split(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		var got []float64
		for _, run := range runs {
			fields, err := p.Parse(run)
			if err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
			got = append(got, fields[c.field])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

func TestSeriesAreInOrderAndComplete(t *testing.T) {
	for _, c := range []struct {
		parser, sample, series string
		points                 int
		first, last            Point
	}{
		{"sysbench-oltp", "native-read-only.txt", "tps", 5, Point{0, 1959.23}, Point{4, 1823.01}},
		{"sysbench-oltp", "native-read-only.txt", "latency_p95", 5, Point{0, 1.96}, Point{4, 3.62}},
		{"cassandra-stress", "read.txt", "op_rate", 4, Point{0, 3927}, Point{3, 7329}},
		{"cassandra-stress", "3node-mixed.txt", "latency_p99", 9, Point{0, 58.9}, Point{8, 12.5}},
		{"iperf3", "udp-loss.txt", "bandwidth_sent", 3, Point{0, 199822387.3406035}, Point{2.000071, 199903300.72521561}},
		{"iperf3", "docker-bidir.txt", "bandwidth_received_reverse", 2, Point{0, 300873308.3702357}, Point{}},
		{"iperf3", "docker-serverudp.txt", "jitter_ms", 1, Point{0, 0.00944352919742523}, Point{0, 0.00944352919742523}},
		{"jmeter", "wordpress.txt", "users", 2, Point{0, 1}, Point{1, 1}},
	} {
		p, _ := Lookup(c.parser)
		all, err := p.Series(samples(t, c.parser)[c.sample])
		if err != nil {
			t.Errorf("%s, %s: %v", c.parser, c.sample, err)
			continue
		}
		points := all[c.series]
		if len(points) != c.points || !cmp.Equal(points[0], c.first) || c.last != (Point{}) && !cmp.Equal(points[len(points)-1], c.last) {
			t.Errorf("%s of %s, %s is %v", c.series, c.parser, c.sample, points)
		}
		for name, points := range all {
			if !slices.IsSortedFunc(points, func(a, b Point) int { return int(math.Copysign(1, a.Second-b.Second)) }) {
				t.Errorf("%s of %s, %s is not in order: %v", name, c.parser, c.sample, points)
			}
		}
	}
}

func TestIntervalsOfOlderSysbenchAreRead(t *testing.T) {
	newer := string(samples(t, "sysbench-oltp")["docker-read-write.txt"])
	older := strings.ReplaceAll(newer, "err/s: ", "err/s ") // as 1.0.19 has it
	want, err := imported("sysbench-oltp", []byte(newer))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := imported("sysbench-oltp", []byte(older)); err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v, %v; of 1.0.20 %v", got, err, want)
	}
	p, _ := Lookup("sysbench-oltp")
	if series, err := p.Series([]byte(older)); err != nil || len(series["tps"]) != 2 {
		t.Errorf("%v, %v", series, err)
	}
}

func TestALongJMeterRunHasFewWindows(t *testing.T) {
	rows := []string{"timeStamp,elapsed,label,responseCode,responseMessage,success,bytes,allThreads,Latency,Connect"}
	for second := range 800 {
		rows = append(rows, fmt.Sprintf(`%d,250,"a, b",200,OK,true,1,%d,1,0`, 1700000000000+1000*second, 1+second/8))
	}
	p, _ := Lookup("jmeter")
	series, err := p.Series([]byte(strings.Join(rows, "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, points := range series {
		if len(points) < jmeterWindows/2 || len(points) > jmeterWindows {
			t.Errorf("%s has %d points", name, len(points))
		}
	}
	if last := series["users"][len(series["users"])-1]; last.Value != 100 {
		t.Errorf("the last window has %v users of 100", last.Value)
	}
}
