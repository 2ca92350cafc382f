package run

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"tare/internal/parity"
	"tare/internal/rundir"
)

func TestARunHasAFingerprintOfEachEnvironmentWithEachWorkload(t *testing.T) {
	r := execute(t, t.Context(), Options{Plan: clusterPlan(t, ", nodes: [2, 3]", "{a: {kind: wired}, b: {kind: wired}}")})
	read, err := rundir.Open(r.Directory)
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Fingerprints) != 2 {
		t.Fatalf("there are %d", len(read.Fingerprints))
	}
	a, b := read.Fingerprints[0], read.Fingerprints[1]
	if a.Environment != "a" || b.Environment != "b" || a.Workload != b.Workload || !(a.Seconds > 0) {
		t.Errorf("they are of %s and %s in %g s", a.Environment, b.Environment, a.Seconds)
	}
	if !maps.Equal(a.Facts, b.Facts) {
		for key := range a.Facts {
			if a.Facts[key] != b.Facts[key] {
				t.Errorf("%s: %+v and %+v in two of one kind", key, a.Facts[key], b.Facts[key])
			}
		}
	}
	for key, want := range map[string]string{
		"command[node]":               "sleep 600",
		"command[driver]":             "/bin/sh -c echo rate 10; echo ${address} drives ${address.node},${address.node.2}",
		"kernel.own":                  parity.Hosts,
		"kernel.own@driver":           parity.Hosts,
		"program[node/sleep].path":    "/usr/bin/sleep",
		"log[node].stdout":            parity.ToTheAgent,
		"process.user@driver":         fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()),
		"log[node].stdout@driver":     "",
		"command[node.2]":             "",
		"program[node/sleep].version": a.Facts["program[node/sleep].version"].Value,
	} {
		if got := a.Facts[key].Value; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(a.Facts)) {
		if strings.Contains(a.Facts[key].Value, "127.4.0.") {
			t.Errorf("%s holds an address: %q", key, a.Facts[key].Value)
		}
		if !tabled(key) {
			t.Errorf("%s is in no table of keys", key)
		}
	}
}

func TestFingerprintsMeasureNothingAndLeaveNothing(t *testing.T) {
	began := wiredNetworks.Load()
	r, _, err := Fingerprints(t.Context(), Options{Home: t.TempDir(), Plan: clusterPlan(t, "", "{a: {kind: wired}}")})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Fingerprints) != 1 || len(r.Trials) != 0 || r.Fingerprints[0].Facts["command[node]"].Value != "sleep 600" {
		t.Errorf("there are %d fingerprints and %d trials: %v", len(r.Fingerprints), len(r.Trials), r.Manifest.Environments)
	}
	if wiredNetworks.Load() != began {
		t.Error("a network was left")
	}
}

// tabled says whether the table of keys has that of a fact.
func tabled(fact string) bool {
	key, _ := parity.SplitRole(fact)
	return slices.ContainsFunc(parity.Keys(), func(k parity.Key) bool { return parity.Match(k.Name, key) })
}
