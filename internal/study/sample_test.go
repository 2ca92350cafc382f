package study

import (
	"strings"
	"testing"
	"time"
)

func TestTheLengthOfASampleComesFromTheStudyOrThePack(t *testing.T) {
	for entry, want := range map[string][2]time.Duration{ // of one sample, of one of several
		"{use: redis}":                            {0, 200 * time.Millisecond},
		"{use: redis, seconds: 2}":                {2 * time.Second, 2 * time.Second},
		"{use: redis, sample: 50ms}":              {50 * time.Millisecond, 50 * time.Millisecond},
		"{use: fio, milliseconds: 700}":           {700 * time.Millisecond, 700 * time.Millisecond},
		"{use: fio, sample: 300ms}":               {300 * time.Millisecond, 300 * time.Millisecond},
		"{use: sysbench-cpu, seconds: 10}":        {10 * time.Second, 10 * time.Second},
		"{use: hpl}":                              {0, 0},
		"{use: redis, neighbours: 2}":             {0, 0},
		"{use: redis, neighbours: 1, sample: 1s}": {time.Second, time.Second},
		"{use: syscalls, sample: [50ms, 100ms]}":  {50 * time.Millisecond, 50 * time.Millisecond},
	} {
		p, err := neighbourly(entry, "{}")
		if err != nil {
			t.Fatal(err)
		}
		w, e := p.Workloads[0], &p.Environments[0]
		if got := [2]time.Duration{w.SampleLength(w.Levels[0], e, false), w.SampleLength(w.Levels[0], e, true)}; got != want {
			t.Errorf("%s: got %v, want %v", entry, got, want)
		}
		if strings.Contains(entry, "[") && (len(w.Levels) != 2 || w.Levels[1].Name != "sample=100ms" || w.Levels[1].Sample != 100*time.Millisecond) {
			t.Errorf("%s: the levels are %+v", entry, w.Levels)
		}
		own := Environment{With: map[string]map[string]string{"redis": {"seconds": "5"}}}
		if got := w.SampleLength(w.Levels[0], &own, true); w.Name == "redis" && got != 0 {
			t.Errorf("%s: %v in an environment with its own seconds", entry, got)
		}
	}
}

func TestInvalidLengthsOfSamplesAreRejected(t *testing.T) {
	for entry, want := range map[string]string{
		"{use: hpl, sample: 1s}":                                           "sample: workload hpl does a fixed amount of work: its samples have no chosen length",
		"{use: redis, sample: 2}":                                          "sample: needs a length from 1ms to 24h0m0s, such as 100ms",
		"{use: redis, sample: 100us}":                                      "sample: needs a length from 1ms to 24h0m0s, such as 100ms",
		"{use: redis, sample: [1s, soon]}":                                 "sample: needs a length from 1ms to 24h0m0s, such as 100ms",
		"{use: redis, sample: {from: 1, to: 2, step: 1}}":                  "sample: only a number has a range; write a list",
		"{use: redis, sample: 1s, seconds: 2}":                             "sample: seconds sets the length too; write one of them",
		"{use: redis, sample: 1s, requests: 1000}":                         "sample: requests sets the work of a sample; write one of them",
		"{use: iperf3, sample: 1s, bytes: 1G}":                             "sample: bytes sets the work of a sample; write one of them",
		"{use: fio, sample: 20ms}":                                         "sample: workload fio: samples of 20ms: milliseconds: 20 is out of range: 50 to 86400000 ms are allowed",
		"{use: redis, neighbours: 1, neighbour: {use: redis, sample: 1s}}": "neighbour: sample: not possible for neighbours",
	} {
		if _, err := neighbourly(entry, "{}"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v; want %q in it", entry, err, want)
		}
	}
}
