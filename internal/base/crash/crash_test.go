package crash

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const inChild = "TARE_TEST_CRASH"

func TestAPanicInAGoroutineIsOneSentence(t *testing.T) {
	if os.Getenv(inChild) != "" {
		done := make(chan bool)
		go func() {
			defer close(done)
			defer Exit()
			Mask = func(text string) string { return strings.ReplaceAll(text, "out of", "***") }
			none := make([]int, 0)
			_ = none[len(os.Args)]
		}()
		<-done
		t.Fatal("it went on")
	}
	directory := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run", t.Name())
	child.Env = append(os.Environ(), inChild+"=1", "TMPDIR="+directory)
	out, err := child.CombinedOutput()
	if err == nil || strings.Count(string(out), "\n") != 1 || !strings.HasPrefix(string(out), "tare: this is an error in tare itself: runtime error: index *** range") {
		t.Errorf("%v: %s", err, out)
	}
	files, _ := filepath.Glob(filepath.Join(directory, "tare-crash-*.txt"))
	if len(files) != 1 || !strings.Contains(string(out), files[0]) {
		t.Fatalf("%v: %s", files, out)
	}
	trace, err := os.ReadFile(files[0])
	if info, _ := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 || !strings.Contains(string(trace), "crash_test.go") || !strings.Contains(string(trace), "panic: runtime error: index *** range") {
		t.Errorf("%v %v %s", err, info, trace)
	}
}
