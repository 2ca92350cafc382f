package rundir

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"tare/internal/parity"
	"tare/internal/testing/schematest"
)

func TestFingerprintsAreKeptOneForEachEnvironmentAndWorkloadOnANode(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "run")
	w, err := Create(directory, smallPlan(), Manifest{})
	if err != nil {
		t.Fatal(err)
	}
	facts := func(release string) map[string]parity.Fact {
		return map[string]parity.Fact{
			"kernel.release": {Value: release, Seen: parity.Inside},
			"lsm":            {Missing: "not mounted", Seen: parity.Outside},
		}
	}
	for _, f := range []parity.Fingerprint{
		{Environment: "vm", Workload: "a/b", Seconds: 1, Facts: facts("6.1")},
		{Environment: "native", Workload: "a/b", Facts: facts("6.1")},
		{Environment: "vm", Workload: "a/b", Facts: facts("6.2")},
		{Environment: "vm", Workload: "a/b", Node: "h1+h2", Facts: facts("6.3")},
	} {
		if err := w.KeepFingerprint(f); err != nil {
			t.Fatal(err)
		}
	}
	torn := filepath.Join(directory, fingerprintDirectory, newPrefix+"1")
	if err := os.WriteFile(torn, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Fingerprints) != 3 || !reflect.DeepEqual(r.Fingerprints, w.Fingerprints) {
		t.Fatalf("there are %v", r.Fingerprints)
	}
	if !slices.ContainsFunc(r.Fingerprints, func(f parity.Fingerprint) bool {
		return f.Environment == "vm" && f.Workload == "a/b" && f.Facts["kernel.release"].Value == "6.2"
	}) {
		t.Errorf("the later one of the two is not there: %v", r.Fingerprints)
	}
	for _, name := range []string{"vm--a_b.json", "vm--a_b--h1+h2.json"} {
		text, err := os.ReadFile(filepath.Join(directory, fingerprintDirectory, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate(t, "fingerprint.schema.json", text); err != nil {
			t.Error(err)
		}
	}
	again, err := Resume(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := os.Stat(torn); err == nil {
		t.Error("what a kill left is still there")
	}
}
