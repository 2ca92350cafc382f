package main

import (
	"os"
	"path/filepath"
	"testing"

	"tare/internal/rundir"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// Making an image takes root and minutes.
func TestWhatRunsInThisMachinesFilesNeedsNoImage(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	above := t.TempDir()
	h, run := home{directory: filepath.Join(above, "home")}, filepath.Join(above, "run")
	if status, said := h.tare(t, "bench", "--env", "native", "--runs", "2", "--out", run, "--", "true").end(); status != 0 {
		t.Fatalf("status %d: %s", status, said)
	}
	if made, err := filepath.Glob(filepath.Join(h.directory, "images", "images", "*")); err != nil || len(made) > 0 {
		t.Errorf("images were made: %q, %v", made, err)
	}
	r, err := rundir.Open(run)
	if err != nil {
		t.Fatal(err)
	}
	if r.Manifest.Image.Digest != "" || r.Manifest.Image.Name == "" {
		t.Errorf("the run has the image %+v", r.Manifest.Image)
	}
	for _, words := range [][]string{{"report", run}, {"show", run, "--verify"}, {"pack", run, "--images", "--out", filepath.Join(above, "run.tare")}} {
		p := h.tare(t, words...)
		if status, said := p.end(); status != 0 {
			t.Errorf("%q: status %d: %s%s", words, status, said, p.errs.String())
		}
	}
	if err := os.RemoveAll(h.directory); err != nil {
		t.Fatal(err)
	}
}
