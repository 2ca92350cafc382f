package parse

import (
	"math"
	"regexp"
	"testing"
)

var settingName = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// fuzz: no input makes a parser panic, give a figure that it does not declare,
// or one that is not finite.
func fuzz(f *testing.F, name string) {
	p, _ := Lookup(name)
	for _, data := range samples(f, p.Name) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if runs, err := p.Split(data); err == nil && len(runs) == 0 {
			t.Error("neither runs nor an error")
		}
		if p.Series != nil {
			series, err := p.Series(data)
			for name, points := range series {
				for _, point := range points {
					if v := point.Second + point.Value; err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
						t.Errorf("%s has %v", name, point)
					}
				}
			}
		}
		if p.Settings != nil {
			for name, value := range p.Settings(data) {
				if !settingName.MatchString(name) || value == "" {
					t.Errorf("setting %q is %q", name, value)
				}
			}
		}
		fields, err := p.Parse(data)
		if err == nil && len(fields) == 0 {
			t.Error("neither figures nor an error")
		}
		if p.Histograms != nil && err == nil {
			histograms, err := p.Histograms(data)
			for name, h := range histograms {
				v, some := h.Percentile(50)
				if err == nil && some && (math.IsNaN(v) || math.IsInf(v, 0)) {
					t.Errorf("the median of %s is %v", name, v)
				}
			}
		}
		for name, v := range fields {
			if err == nil && (!p.HasField(name) || math.IsNaN(v) || math.IsInf(v, 0)) {
				t.Errorf("%s = %v", name, v)
			}
		}
	})
}

func FuzzAB(f *testing.F)              { fuzz(f, "ab") }
func FuzzBootTimes(f *testing.F)       { fuzz(f, "boot-times") }
func FuzzCassandraStress(f *testing.F) { fuzz(f, "cassandra-stress") }
func FuzzDD(f *testing.F)              { fuzz(f, "dd") }
func FuzzFio(f *testing.F)             { fuzz(f, "fio") }
func FuzzGhz(f *testing.F)             { fuzz(f, "ghz") }
func FuzzH2load(f *testing.F)          { fuzz(f, "h2load") }
func FuzzHPL(f *testing.F)             { fuzz(f, "hpl") }
func FuzzIOPing(f *testing.F)          { fuzz(f, "ioping") }
func FuzzIOzone(f *testing.F)          { fuzz(f, "iozone") }
func FuzzIperf3(f *testing.F)          { fuzz(f, "iperf3") }
func FuzzJMeter(f *testing.F)          { fuzz(f, "jmeter") }
func FuzzK6(f *testing.F)              { fuzz(f, "k6") }
func FuzzLatencies(f *testing.F)       { fuzz(f, "latencies") }
func FuzzMemtier(f *testing.F)         { fuzz(f, "memtier") }
func FuzzNetperf(f *testing.F)         { fuzz(f, "netperf") }
func FuzzPgbench(f *testing.F)         { fuzz(f, "pgbench") }
func FuzzRedisBenchmark(f *testing.F)  { fuzz(f, "redis-benchmark") }
func FuzzStages(f *testing.F)          { fuzz(f, "stages") }
func FuzzStressNG(f *testing.F)        { fuzz(f, "stress-ng") }
func FuzzSysbenchCPU(f *testing.F)     { fuzz(f, "sysbench-cpu") }
func FuzzSysbenchFileIO(f *testing.F)  { fuzz(f, "sysbench-fileio") }
func FuzzSysbenchMemory(f *testing.F)  { fuzz(f, "sysbench-memory") }
func FuzzSysbenchOLTP(f *testing.F)    { fuzz(f, "sysbench-oltp") }
func FuzzSysbenchThreads(f *testing.F) { fuzz(f, "sysbench-threads") }
func FuzzVegetaCSV(f *testing.F)       { fuzz(f, "vegeta-csv") }
func FuzzWrk(f *testing.F)             { fuzz(f, "wrk") }
func FuzzWrk2(f *testing.F)            { fuzz(f, "wrk2") }
