package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testing/needs"
)

// LoopDevice makes a blank loop device on a sparse file, for the duration of the test.
func LoopDevice(t testing.TB, size int64) string {
	t.Helper()
	needs.Root(t)
	needs.Program(t, "losetup")
	file := filepath.Join(t.TempDir(), "device")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, size); err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command("losetup", "--find", "--show", file).CombinedOutput()
	if err != nil {
		t.Skipf("needs a loop device: losetup: %v: %s", err, output)
	}
	device := strings.TrimSpace(string(output))
	t.Cleanup(func() {
		if output, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
			t.Errorf("losetup --detach %s: %v: %s", device, err, output)
		}
	})
	return device
}
