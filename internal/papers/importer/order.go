package importer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/rundir"
)

// stretch is a sequence of results of one environment, at a time or place.
type stretch struct {
	workload, environment string
	at                    time.Time
	place                 int
}

// orderOf determines in which order the results were taken: from the times in the
// results, else from those of their files, else from the places in the manifest. If
// one file has none of them, the order is unknown.
func orderOf(trials []rundir.Trial, files []rundir.ImportedFile) (order, known string) {
	var all []stretch
	timed, placed, own := true, true, true
	for _, f := range files {
		timed, placed = timed && !f.Taken.IsZero(), placed && f.Place > 0
		all = append(all, stretch{f.Workload + " " + f.Level, f.Environment, f.Taken, f.Place})
	}
	var each []stretch
	for _, t := range trials {
		own = own && t.Source != nil && t.Source.Timed
		each = append(each, stretch{t.Workload + " " + t.Level, t.Environment, t.Started, 0})
	}
	switch {
	case own && len(each) > 0:
		all, known = each, "the times in the results"
	case timed && len(all) > 0:
		known = "the times of the files"
	case placed && len(all) > 0:
		known = "the places in the manifest"
	default:
		return rundir.ImportUnknown, ""
	}
	slices.SortStableFunc(all, func(a, b stretch) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.place - b.place
	})
	return alternation(all), known
}

// alternation is sequential if every workload took all results of one environment
// before the next environment.
func alternation(all []stretch) string {
	last, seen := map[string]string{}, map[[2]string]bool{}
	for _, s := range all {
		key := [2]string{s.workload, s.environment}
		if last[s.workload] != s.environment && seen[key] {
			return rundir.ImportMixed
		}
		last[s.workload], seen[key] = s.environment, true
	}
	return rundir.ImportSequential
}

// contradicts is an error if the times of results show that they were not
// interleaved: one of a block came after one of the next block. Without times of all
// results it is nil.
func contradicts(trials []rundir.Trial) error {
	type key struct {
		workload, level string
		block           int
	}
	first, last := map[key]rundir.Trial{}, map[key]rundir.Trial{}
	for _, t := range trials {
		k := key{t.Workload, t.Level, t.Block}
		if t.Started.IsZero() {
			return nil
		}
		if f, ok := first[k]; !ok || t.Started.Before(f.Started) {
			first[k] = t
		}
		if l, ok := last[k]; !ok || t.Started.After(l.Started) {
			last[k] = t
		}
	}
	for k, l := range last {
		next, ok := first[key{k.workload, k.level, k.block + 1}]
		if ok && l.Started.After(next.Started) {
			return fmt.Errorf("interleaved: the times contradict it: in %s, %s of block %d was taken at %s, and %s of block %d before it, at %s",
				strings.TrimSuffix(k.workload+", "+k.level, ", "), l.Environment, k.block, l.Started.Format(time.RFC3339), next.Environment, k.block+1, next.Started.Format(time.RFC3339))
		}
	}
	return nil
}
