package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tare/internal/testing/testenv"
)

// A signal ends a run in each step of making its image, at once: no half of the image and
// no process of the build stays.
func TestAnImageInTheMakingIsCalledOff(t *testing.T) {
	r := Begin(t, "phases.yaml")
	images := filepath.Join(r.Home.Directory, "images") // of the run alone, and empty
	if err := os.Remove(images); err != nil {
		t.Fatal(err)
	}
	strike := func(step string, when func(*Session)) {
		name := "SIGTERM while an image is made: " + step
		r.Strike(Fault{Name: name, Status: 130, Says: resumable, When: when,
			Inject: func(s *Session) func() { s.Signal(syscall.SIGTERM); return nil }})
		for _, pattern := range []string{"images/.*", "images/*/.*", "fetched/.*"} {
			if half, _ := filepath.Glob(filepath.Join(images, pattern)); len(half) > 0 {
				rowOf(name).left += len(half)
				t.Errorf("%s: left behind: %q", name, half)
			}
		}
		files, _ := filepath.Glob("/proc/[0-9]*")
		for _, file := range files {
			if line := processAt(file).line; strings.Contains(line, images) {
				rowOf(name).left++
				t.Errorf("%s: still at work: %s", name, line)
			}
		}
	}
	for _, step := range []string{"running apt-get update", "downloading packages", "extracting archives", "installing essential packages", "installing remaining packages", "packing"} {
		t.Run(step, func(t *testing.T) {
			needsLong(t)
			strike(step, func(s *Session) { s.Until("image: ", step) })
		})
	}
	// The packed image is the tests'.
	packed := testenv.Image(t).Tar()
	to := filepath.Join(images, "images", filepath.Base(filepath.Dir(packed)))
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, copied := range [][]string{{packed, to}, {"--recursive", filepath.Join(testenv.Images(), "recipes"), images}} {
		if out, err := exec.Command("cp", copied...).CombinedOutput(); err != nil {
			t.Fatalf("cp %q: %v: %s", copied, err, out)
		}
	}
	strike("extraction", func(s *Session) { s.Find(anywhere, "^tar --extract ") })
	r.Finish()
}
