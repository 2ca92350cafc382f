package schedule

import (
	"testing"
	"time"

	"tare/internal/rundir"
	"tare/internal/study"
)

func TestTheTimeToGoIsLikelyOrBounded(t *testing.T) {
	const m = time.Minute
	for name, c := range map[string]struct {
		p              Progress
		likely, atMost time.Duration
		share          float64
	}{
		"nothing is known":                         {Progress{Elapsed: m}, 0, 0, 0},
		"only the budget":                          {Progress{Elapsed: m, Budget: 4 * m}, 0, 3 * m, .25},
		"trials that were never measured":          {Progress{Elapsed: m, Budget: 4 * m, Remaining: 2 * m, Guessed: true}, 0, 3 * m, .25},
		"until the next analysis, within a budget": {Progress{Elapsed: m, Budget: 4 * m, Remaining: m, Least: true}, 0, 3 * m, .25},
		"until the next analysis":                  {Progress{Elapsed: m, Remaining: m, Least: true}, 0, 0, 0},
		"without a budget, likely":                 {Progress{Elapsed: m, Remaining: 3 * m}, 3 * m, 0, .25},
		"likely within the budget":                 {Progress{Elapsed: m, Budget: 10 * m, Remaining: m}, m, 9 * m, .5},
		"cut off by the budget":                    {Progress{Elapsed: m, Budget: 4 * m, Remaining: 3 * m}, 0, 3 * m, .25},
		"spent in a block that was never measured": {Progress{Elapsed: 3 * m, Budget: 2 * m, Guessed: true}, 0, 0, 1},
	} {
		likely, atMost := c.p.ToGo()
		if share := c.p.Share(); likely != c.likely || atMost != c.atMost || share != c.share {
			t.Errorf("%s: likely %v, at most %v, share %v, not %v, %v, %v", name, likely, atMost, share, c.likely, c.atMost, c.share)
		}
	}
}

func TestTheTimeOfTrialsUnderWayPasses(t *testing.T) {
	p := planOf(upTo60, []string{"native", "docker"}, "cpu:block")
	s, w := schedule(t, p), newWorld(noise(1, .001, nil))
	if got := s.Progress(0); !got.Guessed {
		t.Errorf("nothing was measured, and the time is no guess: %+v", got)
	}
	for range 4 {
		slot, _ := s.Next(0)
		s.Record(w.run(slot))
	}
	const began = 10 * time.Second
	s.Next(began)
	before := s.Progress(began)
	if before.Guessed || !before.Least || before.Remaining != 8*time.Second {
		t.Errorf("four blocks of two seconds are left until the first analysis: %+v", before)
	}
	if got := s.Progress(began + 300*time.Millisecond).Remaining; got != before.Remaining-300*time.Millisecond {
		t.Errorf("%v after 300 ms of %v", got, before.Remaining)
	}
	s.Next(began + time.Second) // the same trial
	if got := s.Progress(began + time.Hour).Remaining; got != 7*time.Second {
		t.Errorf("%v are left where a trial takes longer than its second, of %v", got, before.Remaining)
	}
}

// The time at most is true: no block begins after it, and the run ends by then unless a
// block takes longer than those before.
func TestNoBlockBeginsAfterTheTimeAtMost(t *testing.T) {
	p := planOf(upTo60, []string{"native", "docker"}, "cpu:block")
	p.Design.Budget = 30 * time.Second
	s, w := schedule(t, p), newWorld(noise(1, .5, nil)) // too noisy for a verdict
	began := w.now
	for {
		elapsed := w.now.Sub(began)
		slot, more := s.Next(elapsed)
		if !more {
			break
		}
		at := s.Progress(elapsed)
		likely, atMost := at.ToGo()
		if max(likely, atMost)+elapsed > p.Design.Budget {
			t.Errorf("after %v: likely %v, at most %v", elapsed, likely, atMost)
		}
		s.Record(w.run(slot))
	}
	if took := w.now.Sub(began); took > p.Design.Budget || took < p.Design.Budget-4*time.Second {
		t.Errorf("took %v", took)
	}
}

// The time to go is asked for at every trial, whatever was given up.
func TestTheTimeToGoIsKnownWhereATrialWasGivenUp(t *testing.T) {
	for _, c := range []struct {
		order  string
		broken string // the environment that has a known limit, or fails
		status rundir.Status
	}{
		{"alternating", "native", rundir.Skipped}, {"interleaved", "native", rundir.Skipped}, {"interleaved", "native", rundir.Failed}, {"interleaved", "docker", rundir.Failed},
		{"sequential", "native", rundir.Skipped}, {"sequential", "native", rundir.Failed}, {"sequential", "docker", rundir.Failed},
	} {
		p := planOf(study.Blocks{Min: 8, Max: 10}, []string{"native", "docker"}, "cpu:block", "disk:block")
		p.Design.Order = c.order
		s, w := schedule(t, p), newWorld(noise(1, .001, nil))
		for n := 0; ; n++ {
			slot, more := s.Next(time.Second)
			got := s.Progress(time.Second)
			if !more {
				break
			}
			if n > 8 && c.order != "sequential" && got.Guessed {
				t.Errorf("%+v: the time is still a guess at trial %d", c, n)
				break
			}
			trial := w.run(slot)
			if slot.Environment == c.broken && slot.Workload == "disk" {
				trial.Status, trial.Reason, trial.Metrics = c.status, "no such device", nil
			}
			s.Record(trial)
		}
	}
}
