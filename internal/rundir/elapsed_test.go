package rundir

import (
	"testing"
	"time"
)

// A clock that is set back in a run, or before it goes on, leaves no trial out of what the
// budget counts.
func TestTheTimeOfTrialsSurvivesAClockThatIsSet(t *testing.T) {
	trial := func(from, to int) Trial {
		at := time.Unix(1_700_000_000, 0)
		return Trial{Started: at.Add(time.Duration(from) * time.Second), Ended: at.Add(time.Duration(to) * time.Second)}
	}
	for name, c := range map[string]struct {
		trials []Trial
		want   time.Duration
	}{
		"as they are":       {[]Trial{trial(0, 10), trial(15, 20)}, 15 * time.Second},
		"over each other":   {[]Trial{trial(0, 10), trial(1, 12), trial(2, 11)}, 12 * time.Second},
		"an hour back":      {[]Trial{trial(3600, 3610), trial(20, 30), trial(30, 45)}, 35 * time.Second},
		"back, alternating": {[]Trial{trial(3600, 3610), trial(3601, 3612), trial(20, 30), trial(21, 32)}, 24 * time.Second},
		"back and forth":    {[]Trial{trial(3600, 3610), trial(20, 30), trial(3700, 3701)}, 21 * time.Second},
	} {
		if got := Elapsed(c.trials); got != c.want {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
}
