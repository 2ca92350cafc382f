package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/run"
	"tare/internal/study"
)

// What a run is likely to take is said before it begins: also where a server takes long to be
// ready, and where a guest is emulated.
func TestALongRunSaysBeforeItBeginsHowLongItIsLikelyToTake(t *testing.T) {
	guess := func(second, workload, budget string) *run.DryRun {
		file := filepath.Join(t.TempDir(), "study.yaml")
		text := "study: s\nbaseline: docker\nenvironments:\n  docker: {}\n  other: " + second + "\nworkloads: [{use: " + workload + "}]\n" +
			"design: {order: interleaved, blocks: 6" + budget + "}\n"
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		plan, err := study.Open(file, study.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := run.NewDryRun(plan)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	const emulated = "{kind: qemu, accel: tcg}"
	least := func(d *run.DryRun) time.Duration { return time.Duration(d.Expected.Duration.Least) }
	short, slow, guest := guess("{kind: docker, network: host}", "redis", ""), guess("{kind: docker, network: host}", "wordpress-jmeter", ""), guess(emulated, "redis", "")
	if least(slow) < 5*least(short) || least(guest) < 5*least(short) || short.Long != "" {
		t.Errorf("six blocks of redis take %s, of WordPress %s, of redis in a guest %s; remark %q", least(short), least(slow), least(guest), short.Long)
	}
	if !strings.Contains(guest.Guessed, "emulated (other)") || strings.Contains(short.Guessed, "emulated") {
		t.Errorf("guessed: %q and %q", guest.Guessed, short.Guessed)
	}
	if d := guess(emulated, "wordpress-jmeter", ""); !strings.HasPrefix(d.Long, "this is likely to take about ") {
		t.Errorf("without a budget: %q", d.Long)
	}
	if d := guess(emulated, "wordpress-jmeter", ", budget: 5m"); !strings.Contains(d.Long, "the budget of 5m0s is likely to end before") {
		t.Errorf("with a budget: %q", d.Long)
	}
}
