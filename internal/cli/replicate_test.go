package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A block takes two levels of ten minutes in two environments, and an interval four blocks.
func TestAStudyIsReplicatedAtTheLargestScaleThatFitsTheTime(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "timed.yaml")
	for file, text := range map[string]string{
		filepath.Join(directory, "load.yaml"): "workload: load\nstresses: cpu\nparameters: {seconds: {default: 1, unit: s, min: 1, max: 1000, about: length}, users: {default: 1, min: 1, max: 9, about: how many}}\n" +
			"driver: {run: echo rate 1}\nparser: {regex: ['rate (?P<rate>\\d+)']}\nmetrics: [{name: rate, unit: op/s, better: higher, primary: true}]\n",
		path: "study: timed\nbaseline: plain\nenvironments:\n  plain: {kind: layered}\n  thick: {kind: layered, thick: true}\nimage: {reference: 'tar:image.tar'}\n" +
			"workloads: [{use: ./load.yaml, users: [1, 2], seconds: 600}]\ndesign: {order: interleaved}\n" +
			"scales:\n  middle: {workloads: {load: {seconds: 60}}}\n  small: {workloads: {load: {seconds: 5}}}\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for within, want := range map[time.Duration]struct{ scale, said string }{
		4 * time.Hour:    {"", ""},
		time.Hour:        {"middle", "runs at scale middle: as it was written it takes at least 2h40m0s, and it has 1h0m0s"},
		10 * time.Minute: {"small", "runs at scale small: as it was written it takes at least 2h40m0s"},
		time.Minute:      {"small", "takes at least 1m25s at every scale, and has 1m0s: expect few intervals, or give it more --time"},
	} {
		var said strings.Builder
		plan, err := fitting(&App{Stderr: &said}, path, within)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Scale != want.scale || plan.Design.Budget != within {
			t.Errorf("in %s it is at scale %q with a budget of %s", within, plan.Scale, plan.Design.Budget)
		}
		if got := strings.Join(strings.Fields(said.String()), " "); !strings.Contains(got, want.said) || want.said == "" && got != "" {
			t.Errorf("in %s it says %q", within, got)
		}
	}
}
