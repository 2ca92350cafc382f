package trial

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tare/internal/base/lists"
	"tare/internal/run/schedule"
	"tare/internal/rundir"
	"tare/internal/study"
)

// Plays rounds whose samples take a made-up time.
func TestAnEnvironmentWithLongSamplesLeavesRoundsToTheOthers(t *testing.T) {
	plan := &study.Plan{Baseline: "native", Design: study.Design{Budget: time.Minute}}
	for samples, want := range map[string]string{
		"native=1 docker=1 vm=1":            "native 10, docker 10, vm 10",
		"native=1 docker=1 vm=6":            "native 10, docker 10, vm 1",
		"native=1 docker=2 vm=60":           "native 5, docker 5, vm 1",
		"native=60 docker=60 gvisor=60":     "native 1, docker 1, gvisor 1",
		"native=1 docker=1":                 "no shares",
		"native=1 docker=0.1 vm=2 gvisor=1": "native 16, docker 16, vm 3, gvisor 7",
	} {
		var all []*participant
		lengths := map[string]time.Duration{}
		batch := schedule.Batch{}
		for _, text := range strings.Fields(samples) {
			name, length, _ := strings.Cut(text, "=")
			lengths[name], _ = time.ParseDuration(length + "s")
			all = append(all, &participant{run: &Runner{plan: plan}, trial: rundir.Trial{Environment: name}})
			batch.Slots = append(batch.Slots, schedule.Slot{Rounds: 16, Within: 30 * time.Second})
		}
		got := "no shares"
		if s := sharesOf(batch, all); s != nil {
			for number := 0; number < batch.Rounds() && s.more(number); number++ {
				for _, p := range lists.Filter(all, s.takesPart) {
					p.rounds, p.sampling = append(p.rounds, figures{}), p.sampling+lengths[p.trial.Environment]
				}
			}
			var words []string
			for _, p := range all {
				words = append(words, fmt.Sprint(p.trial.Environment, " ", len(p.rounds)))
			}
			got = strings.Join(words, ", ")
		}
		if got != want {
			t.Errorf("%s: %s, want %s", samples, got, want)
		}
	}
	ladder := *plan
	ladder.Steps = []study.Step{{}}
	p := &participant{run: &Runner{plan: &ladder}}
	if sharesOf(schedule.Batch{Slots: []schedule.Slot{{Within: time.Second}}}, []*participant{p, p, p}) != nil {
		t.Error("rungs of a ladder do not have the same rounds")
	}
}
