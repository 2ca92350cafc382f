package study

import (
	"slices"
	"time"

	"tare/internal/base/strictyaml"
	"tare/internal/workload"
)

// sampleKey is the key of a workload with the length of a sample.
const sampleKey = "sample"

// The lengths that a study may ask for.
const (
	shortestSample = time.Millisecond
	longestSample  = 24 * time.Hour
)

// resolveSamples completes the lengths of samples: an entry sets them with sample:
// or with the pack's own parameter.
func resolveSamples(pairs []strictyaml.Pair, pack *workload.Pack, levels []Level) {
	at := func(key string) (strictyaml.Node, bool) {
		i := slices.IndexFunc(pairs, func(p strictyaml.Pair) bool { return p.Key == key })
		if i < 0 {
			return strictyaml.Node{}, false
		}
		return pairs[i].Value, true
	}
	sample, given := at(sampleKey)
	if pack.Length == nil {
		if given {
			sample.Problemf("sample: workload %s does a fixed amount of work: its samples have no chosen length", pack.Name)
		}
		return
	}
	_, timed := at(pack.Length.Time)
	switch {
	case given && timed:
		sample.Problemf("sample: %s sets the length too; write one of them", pack.Length.Time)
		return
	case timed:
		for i := range levels {
			levels[i].Sample = pack.SampleLength(levels[i].Parameters)
		}
		return
	case !given:
		return
	}
	for _, l := range levels {
		_, _, err := pack.WithSample(l.Parameters, l.Sample)
		switch {
		case l.Sample < shortestSample || l.Sample > longestSample:
			sample.Problemf("sample: needs a length from %v to %v, such as 100ms", shortestSample, longestSample)
		case pack.Amount(l.Parameters) > 0:
			sample.Problemf("sample: %s sets the work of a sample; write one of them", pack.Length.Amount)
		case err != nil:
			sample.Problemf("sample: %s", err)
		default:
			continue
		}
		return
	}
}

// SampleLength returns how long a sample of the workload shall be; 0 is what its
// parameters say. rounds is for trials of several samples. Those next to neighbours are
// as long as single ones: with more threads than cores, a short one is fast or slow by
// where the scheduler has put the threads, which it changes now and then.
func (w Workload) SampleLength(l Level, e *Environment, rounds bool) time.Duration {
	length := w.Pack.Length
	if length == nil {
		return 0
	}
	if _, set := e.With[w.Name][length.Time]; set {
		return 0
	}
	if l.Sample == 0 && rounds && !w.HasNeighbours() {
		return length.Sample
	}
	return l.Sample
}
