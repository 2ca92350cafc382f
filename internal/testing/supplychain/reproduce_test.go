package supplychain

import (
	"os/exec"
	"testing"

	"tare/internal/testing/needs"
)

// make reproduce does it with empty caches, which takes some minutes.
func TestTwoBuildsHaveTheSameBytes(t *testing.T) {
	needs.Minutes(t, "tare is linked twice")
	needs.Program(t, "git", "make", "tar")
	out, err := exec.Command(root + "/scripts/reproduce.sh").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
