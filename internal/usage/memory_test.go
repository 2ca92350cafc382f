package usage

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAvailableMemoryIsReadInBytesOrMissingWithAReason(t *testing.T) {
	proc := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(proc, "meminfo"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if f := availableMemory(proc); f.Missing == "" {
		t.Errorf("without a file: %v", f)
	}
	write("MemTotal:       24683520 kB\nMemFree:         1000000 kB\n")
	if f := availableMemory(proc); f.Missing == "" {
		t.Errorf("an old kernel's: %v", f)
	}
	write("MemTotal:       24683520 kB\nMemFree:         1000000 kB\nMemAvailable:    2000000 kB\n")
	if f := availableMemory(proc); f.Value != 2000000*1024 || f.Missing != "" {
		t.Errorf("got %v", f)
	}
}
