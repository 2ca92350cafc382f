package run

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestAnOrdinaryUserIsToldOfTheRunsOfRoot(t *testing.T) {
	home, ofRoot := filepath.Join(t.TempDir(), "home"), t.TempDir()
	if said := rootsRuns(home, ofRoot, 1000); !strings.Contains(said, ofRoot) || !strings.Contains(said, "sudo tare ls runs") {
		t.Errorf("%q", said)
	}
	for _, c := range []struct {
		home, ofRoot string
		uid          int
	}{{home, ofRoot, 0}, {ofRoot, ofRoot, 1000}, {home, filepath.Join(ofRoot, "none"), 1000}} {
		if said := rootsRuns(c.home, c.ofRoot, c.uid); said != "" {
			t.Errorf("%+v: %q", c, said)
		}
	}
}
