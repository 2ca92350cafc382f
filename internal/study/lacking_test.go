package study

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tare/internal/application/secret"
	"tare/internal/environment"
)

func TestAPlanOfAnotherMachineSaysWhatIsNotHere(t *testing.T) {
	directory := t.TempDir()
	at := func(name string) string { return filepath.Join(directory, name) }
	if err := os.WriteFile(at("here"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("x"))
	same, other := hex.EncodeToString(sum[:]), hex.EncodeToString(make([]byte, 32))
	t.Setenv("TARE_TEST_SET", "")
	p := Plan{
		Mounts: []environment.Mount{{From: directory, To: "/a"}, {From: at("gone"), To: "/b"}, {Memory: true, To: "/c"}},
		Inputs: []Input{{From: at("here"), SHA256: same}, {From: at("here"), SHA256: other}, {From: at("lost"), SHA256: same}},
		Secret: []secret.Source{{Name: "A", File: at("here")}, {Name: "B", File: at("key")}, {Name: "C", Env: "TARE_TEST_SET"}, {Name: "D", Env: "TARE_TEST_NOT_SET"}},
		Workloads: []Workload{{}, {Application: &Application{Services: []Service{{
			Role:   "db",
			Mounts: []environment.Mount{{From: at("data"), To: "/d"}},
			Files:  []ServiceFile{{From: at("here"), SHA256: other}, {Content: "in the plan"}, {Secret: &secret.Source{Name: "E", File: at("password")}}},
		}}}}},
	}
	want := []string{
		"mount " + at("gone") + ": no such file or directory",
		"input " + at("here") + ": it has other content (SHA-256 2d711642b726, and it was 000000000000)",
		"input " + at("lost") + ": no such file or directory",
		"mount " + at("data") + ": no such file or directory",
		"config of db " + at("here") + ": it has other content (SHA-256 2d711642b726, and it was 000000000000)",
		"secret B: " + at("key") + ": no such file or directory",
		"secret D: the variable TARE_TEST_NOT_SET is not set",
		"secret E: " + at("password") + ": no such file or directory",
	}
	if got := p.Lacking(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := (&Plan{}).Lacking(); len(got) != 0 {
		t.Errorf("a plan that names nothing lacks %q", got)
	}
}
