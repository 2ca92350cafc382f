package faults

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// Tare is killed at random moments while samples of three environments alternate:
// while it starts, sweeps, prepares, samples, writes and stops. Half of the sessions
// after a kill are `tare clean`, so that both sweeps are seen.
func TestARunThatIsKilledAtRandomMoments(t *testing.T) {
	moments := *moments
	if moments == 0 && Long() {
		moments = 300
	}
	moments = max(moments, 10)
	draw := *seed
	if draw == 0 {
		draw = rand.Uint64()
	}
	t.Logf("%d moments of -seed %d", moments, draw)
	dice := rand.New(rand.NewPCG(draw, 0))
	const name = "kill -9 of tare, with alternating samples under way"
	during := map[string]int{}
	r := Begin(t, "alternating.yaml")
	for n := 0; n < moments; {
		if t.Failed() {
			return
		}
		events, more := dice.IntN(25), time.Duration(dice.IntN(400))*time.Millisecond
		last := "start"
		struck := r.Strike(Fault{Name: name, Status: Killed,
			When: func(s *Session) {
				for range events {
					if !s.Next() {
						return
					}
					last = kindOf(s.events.Text())
				}
			},
			Inject: func(s *Session) func() {
				time.AfterFunc(more, func() { s.Cmd.Process.Kill() })
				return nil
			}})
		if struck {
			n++
			during[last]++
		}
		if dice.IntN(2) == 0 {
			r.Clean(name)
		}
		if r.Ended() {
			r.Finish()
			r = Begin(t, "alternating.yaml")
		}
	}
	r.Finish()
	t.Logf("the last event before the kills: %v", during)
}

// kindOf is the kind of an event.
func kindOf(line string) string {
	_, rest, _ := strings.Cut(line, `"event":"`)
	kind, _, _ := strings.Cut(rest, `"`)
	return kind
}
