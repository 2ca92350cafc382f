package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// The one collection is that of the reserve itself.
func TestAShortCommandCollectsNoGarbage(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tare := filepath.Join(t.TempDir(), asTare)
	if err := os.Symlink(self, tare); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(tare, "version")
	command.Env = append(os.Environ(), "GODEBUG=gctrace=1", "GOGC=100")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := len(regexp.MustCompile(`(?m)^gc \d+ @`).FindAll(out, -1)); n > 1 {
		t.Errorf("garbage is collected %d times:\n%s", n, out)
	}
}
