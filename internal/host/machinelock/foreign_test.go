package machinelock

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNamesThatAreTakenAreAnErrorThatSaysSo(t *testing.T) {
	directory := t.TempDir()
	for n := range 100 {
		file := filepath.Join(directory, fmt.Sprintf("tare-%d-%d.lock", os.Geteuid(), n))
		if err := os.WriteFile(file, nil, 0o644); err != nil { // which others can open
			t.Fatal(err)
		}
	}
	if _, err := own(directory); err == nil || !strings.Contains(err.Error(), "-0.lock: it is not a file that this user alone can open") {
		t.Error(err)
	}
}
