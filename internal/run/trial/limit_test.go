package trial

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/fakeenv"
)

// slow makes each sample of an instance take so long, by the clock of the host.
func slow(took time.Duration) func(string, string) fakeenv.Result {
	return rated(func(string, int, *fakeenv.Result) { time.Sleep(took) })
}

func TestTheEndOfTheBudgetEndsTheRounds(t *testing.T) {
	for name, c := range map[string]struct {
		left, start time.Duration
		want        []int // numbers of rounds of the trials
	}{
		"nothing bounds it": {0, 0, []int{9, 9}},
		"all rounds fit":    {time.Minute, 0, []int{9, 9}},
		"a round that would end later does not begin": {9 * time.Second, 0, []int{4, 4}},
		"the first round is finished":                 {1500 * time.Millisecond, 0, []int{1, 1}},
		"no first sample begins after the end":        {900 * time.Millisecond, 0, []int{1}},
		"nothing is sampled after starts that long":   {time.Minute, 40 * time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, log, a := newRunner(t, webPack(), study.Level{})
				a.Script = slow(time.Second)
				a.Fails = func(string) error { time.Sleep(c.start); return nil }
				batch := alternating(9, "a", "b")
				batch.Left, batch.Grace = c.left, 30*time.Second
				trials, err := r.Run(t.Context(), batch)
				if err != nil {
					t.Fatal(err)
				}
				var got []int
				for _, one := range trials {
					if one.Status != rundir.OK {
						t.Errorf("%s: %s", one.Status, one.Reason)
					}
					got = append(got, len(one.Rounds))
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("the rounds are %v, want %v, and it ran %q", got, c.want, log.Lines())
				}
			})
		})
	}
}

func TestAPreparationThatOutlastsTheBudgetIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log, a := newRunner(t, webPack(), study.Level{})
		a.Script = func(_, command string) fakeenv.Result { return fakeenv.Result{Runs: command == "setup"} }
		batch := alternating(9, "a", "b")
		batch.Left, batch.Grace = time.Minute, 6*time.Second
		began := time.Now()
		trials, err := r.Run(t.Context(), batch)
		if took := time.Since(began); err != nil || len(trials) != 0 || took != 66*time.Second {
			t.Errorf("%d trials after %s, %v", len(trials), took, err)
		}
		if want := "b1-a-1: teardown"; !slices.Contains(log.Lines(), want) {
			t.Errorf("it ran %q", log.Lines())
		}
	})
}
