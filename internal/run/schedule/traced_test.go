package schedule

import (
	"fmt"
	"testing"

	"tare/internal/rundir"
	"tare/internal/study"
)

func tracedPlan() *study.Plan {
	p := planOf(study.Blocks{Min: 3, Max: 3, Fixed: true}, []string{"native", "docker", "broken"}, "redis:trial", "start:trial:startup")
	p.Sampling.Traced = 2
	return p
}

// What is traced is slower, and must not be seen in a verdict.
func tracedWorld() *world {
	w := newWorld(func(s Slot) float64 {
		if s.Traced {
			return 100
		}
		return 1 + float64(s.Block)/1000
	})
	w.fails = func(s Slot) bool { return s.Environment == "broken" }
	return w
}

func TestTracedTrialsComeLastAndMakeNoVerdict(t *testing.T) {
	s := schedule(t, tracedPlan())
	journal := play(t, s, tracedWorld())
	count, last := map[string]int{}, false
	for _, trial := range journal {
		if last && !trial.Traced {
			t.Errorf("%s in %s of block %d comes after a traced trial", trial.Workload, trial.Environment, trial.Block)
		}
		if last = trial.Traced; last {
			count[trial.Workload+" in "+trial.Environment]++
			if trial.Block <= 3 {
				t.Errorf("block %d has a traced trial", trial.Block)
			}
		}
	}
	if got, want := fmt.Sprint(count), fmt.Sprint(map[string]int{"redis in native": 2, "redis in docker": 2}); got != want {
		t.Errorf("traced were %s, want %s", got, want)
	}
	for _, c := range s.Contrasts() {
		if c.Environment == "docker" && c.Workload == "redis" && (c.N != 3 || c.Estimate > .01 || c.Estimate < -.01) {
			t.Errorf("%d pairs, estimate %v: the traced trials are in it", c.N, c.Estimate)
		}
	}
	if why := s.Why(); why == "" {
		t.Error("it does not say why the run is over")
	}
}

func TestARunResumesAmongItsTracedTrials(t *testing.T) {
	whole := play(t, schedule(t, tracedPlan()), tracedWorld())
	for cut := range whole {
		s := schedule(t, tracedPlan())
		for _, trial := range whole[:cut] {
			s.Record(trial)
		}
		slot, more := s.Next(0)
		if want := whole[cut]; !more || key(want) != key(rundir.Trial{Block: slot.Block, Environment: slot.Environment, Workload: slot.Workload, Traced: slot.Traced}) {
			t.Fatalf("after %d trials %+v follows, want %s", cut, slot, key(want))
		}
	}
}

func key(t rundir.Trial) string {
	return fmt.Sprintf("%s in %s, block %d, traced %v", t.Workload, t.Environment, t.Block, t.Traced)
}
