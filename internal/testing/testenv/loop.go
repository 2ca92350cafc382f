package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// LoopDevice is a blank block device of the test's own, on a sparse file.
func LoopDevice(t testing.TB, size int64) string {
	t.Helper()
	NeedsRoot(t)
	NeedsPrograms(t, "losetup")
	file := filepath.Join(t.TempDir(), "device")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, size); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command("losetup", "--find", "--show", file).CombinedOutput()
	if err != nil {
		t.Skipf("needs a loop device: losetup: %v: %s", err, said)
	}
	device := strings.TrimSpace(string(said))
	t.Cleanup(func() {
		if said, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
			t.Errorf("losetup --detach %s: %v: %s", device, err, said)
		}
	})
	return device
}
