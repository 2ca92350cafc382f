package parse

import (
	"math"
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var percentileField = regexp.MustCompile(`^(.+)_(?:p([5-9]\d)(\d?)|max)$`)

// printedTo are the units of the last digit that tools print, where that is coarser
// than their histograms.
var printedTo = map[string]float64{
	"ab": 1, "sysbench-cpu": .01, "sysbench-memory": .01, "sysbench-threads": .01, "sysbench-fileio": .01, "sysbench-oltp": .01,
}

func TestHistogramsHaveThePercentilesThatTheDriverPrints(t *testing.T) {
	for _, p := range everyParser() {
		if (p.Histograms == nil) != (p.Distributions == nil) {
			t.Errorf("%s declares distributions %v", p.Name, p.Distributions)
		}
		if p.Histograms == nil {
			continue
		}
		compared := 0
		for name, data := range samples(t, p.Name) {
			fields, err := p.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			histograms, err := p.Histograms(data)
			if err != nil {
				t.Errorf("%s, %s: %v", p.Name, name, err)
			}
			for distribution := range histograms {
				if !slices.Contains(p.DistributionNames(), distribution) {
					t.Errorf("%s gives the distribution %s of %s and does not declare it", p.Name, distribution, name)
				}
			}
			for field, printed := range fields {
				m := percentileField.FindStringSubmatch(field)
				if m == nil || len(histograms[m[1]]) == 0 {
					continue
				}
				compared++
				percent := 100.0
				if m[2] != "" {
					percent = number(m[2]+"."+m[3]+"0", field)
				}
				value, ok := histograms[m[1]].Percentile(percent)
				near := printedTo[p.Name] + 1e-9
				for _, b := range histograms[m[1]] {
					if b.Low <= max(value, printed) && min(value, printed) <= b.High {
						near = max(near, (b.High-b.Low)*1.01)
					}
				}
				if !ok || math.Abs(value-printed) > near {
					t.Errorf("%s, %s: %s is %v, and the driver prints %v; bins are %.3g wide there", p.Name, name, field, value, printed, near)
				}
			}
		}
		if compared == 0 && p.Name != "pgbench" { // pgbench prints no percentile
			t.Errorf("%s: no recorded output has a histogram and a percentile", p.Name)
		}
	}
}

// Read off the samples by eye: values that the driver prints with their counts, and
// places between two of them.
func TestAPercentileLiesWhereTheDriverCountsIt(t *testing.T) {
	for _, c := range []struct {
		parser, sample, distribution string
		percentile, want             float64
	}{
		{"redis-benchmark", "native.txt", "set_latency", 6272. / 125, .623},
		{"redis-benchmark", "native.txt", "set_latency", 75, 1.847 - .04*10/94}, // 9291 of 12500 up to 1.807, 9385 up to 1.847
		{"redis-benchmark", "native.txt", "set_latency", 100, 41.407},
		{"ab", "table-of-forty.txt", "latency", 0, .313},
		{"ab", "table-of-forty.txt", "latency", 5, .326},
		{"ab", "table-of-forty.txt", "latency", 100, 1.992},
		{"ab", "table-of-five-thousand.txt", "latency", 99.02, 4.115}, // the request after 99%
		{"latencies", "two-hundred.txt", "latency", 99, 198.5},
		{"h2load", "logged.txt", "latency", 50, 816},    // the log's request number 1000
		{"h2load", "logged.txt", "latency", 99, 2080},   // the end of the bin of 2076
		{"pgbench", "counted.txt", "latency", 50, .152}, // the log's transaction number 100 took 150 us
	} {
		p, _ := Lookup(c.parser)
		histograms, err := p.Histograms(samples(t, c.parser)[c.sample])
		if err != nil {
			t.Fatal(err)
		}
		got, ok := histograms[c.distribution].Percentile(c.percentile)
		if !ok || math.Abs(got/c.want-1) > 1e-3 {
			t.Errorf("%s of %s/%s: percentile %v is %v, want %v", c.distribution, c.parser, c.sample, c.percentile, got, c.want)
		}
	}
}

func TestPercentilesOfOutputsTogetherAreThoseOfAllValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 60)
		outputs := rapid.SliceOfN(values, 1, 5).Draw(t, "outputs")
		width := rapid.SampledFrom([]float64{0, .5, 1e3}).Draw(t, "width")
		p := rapid.SampledFrom([]float64{0, 1, 50, 95, 99, 99.9, 100}).Draw(t, "p")
		var all []float64
		var together Histogram
		for _, o := range outputs {
			all = append(all, o...)
			for _, v := range o {
				low := v
				if width > 0 {
					low = math.Floor(v/width) * width
				}
				together = append(together, Bin{low, low + width, 1})
			}
		}
		if width == 0 {
			together = histogramOf(all)
		}
		slices.Sort(all)
		want := percentile(all, p)
		got, ok := together.Percentile(p)
		if !ok || math.Abs(got-want) > width+1e-6 {
			t.Errorf("percentile %v is %v, want %v with bins of %v", p, got, want, width)
		}
	})
}

func TestAnEmptyHistogramHasNoPercentile(t *testing.T) {
	for _, h := range []Histogram{nil, {}, {{1, 2, 0}}} {
		if v, ok := h.Percentile(50); ok {
			t.Errorf("the median of %v is %v", h, v)
		}
	}
}
