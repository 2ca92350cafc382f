package progress

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"go.uber.org/goleak"

	"tare/internal/base/term"
	"tare/internal/run"
	"tare/internal/run/schedule"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/reporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheTimeToGoSaysWhetherItIsLikelyOrABound(t *testing.T) {
	for want, p := range map[string]schedule.Progress{
		"":                                {Elapsed: time.Minute},
		"at most 3m0s to go":              {Elapsed: time.Minute, Budget: 4 * time.Minute, Guessed: true},
		"about 1m40s to go, at most 3m0s": {Elapsed: time.Minute, Budget: 4 * time.Minute, Remaining: 97 * time.Second},
		"at least 30s to go":              {Elapsed: time.Minute, Remaining: 30 * time.Second, Least: true},
		"about 12m0s to go":               {Remaining: 12*time.Minute + 20*time.Second},
		"about 25s to go":                 {Remaining: 24 * time.Second},
		"about 1s to go":                  {Remaining: time.Millisecond},
		"the budget is spent: this block is the last": {Elapsed: time.Minute, Budget: time.Minute, Guessed: true},
	} {
		if got := ToGo(p); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// session is a run of two environments with a budget, as a display sees it.
func session(show func(run.Event), pass func(time.Duration), frame func(string)) {
	plan := &study.Plan{Study: "redis under load", Design: study.Design{Budget: 3 * time.Minute}, Workloads: make([]study.Workload, 2),
		Environments: []study.Environment{{Name: "native"}, {Name: "docker"}}}
	show(run.Event{Kind: run.Opened, Run: &rundir.Run{Plan: plan}})
	image := &run.Step{Name: "image", Number: 1, Of: 3}
	show(run.Event{Kind: run.Preparing, Step: image, Message: "image: resolving or building it"})
	pass(72 * time.Second)
	show(run.Event{Kind: run.Preparing, Step: image, Message: "image: recipe e42158: installing remaining packages inside the chroot"})
	frame("the image is built")
	show(run.Event{Kind: run.Preparing, Step: &run.Step{Name: "image", Number: 1, Of: 3, Took: 72 * time.Second}, Message: "image: ready after 1m12s"})
	show(run.Event{Kind: run.Preparing, Step: &run.Step{Name: "docker", Number: 3, Of: 3}})
	frame("an environment is prepared")
	slot := &schedule.Slot{Block: 1, Workload: "redis", Environment: "docker", Rounds: 16}
	p := schedule.Progress{Block: 1, MaxBlock: 60, NextLook: 4, Open: 11, Budget: 3 * time.Minute, Guessed: true}
	trying := func() {
		pass(time.Second)
		show(run.Event{Kind: run.Trying, Slot: slot, Batch: []schedule.Slot{*slot}, Progress: p})
	}
	show(run.Event{Kind: run.Block, Slot: slot, Progress: p})
	trying()
	frame("the first trial")
	p.Elapsed, p.Remaining, p.Guessed = 40*time.Second, 2*time.Minute+20*time.Second, false
	show(run.Event{Kind: run.Estimates, Slot: slot, Estimates: several(), Progress: p})
	trying()
	frame("the budget is the bound")
	p.Elapsed, p.Remaining, p.Open, p.Decided, p.Failed = 70*time.Second, 35*time.Second, 4, 7, 1
	slot.Block = 5
	show(run.Event{Kind: run.Estimates, Slot: slot, Estimates: several(), Progress: p})
	trying()
	frame("the last verdicts are likely soon")
	p.Elapsed, p.Remaining = 3*time.Minute+10*time.Second, 0
	trying()
	frame("the last block takes longer than the budget")
	show(run.Event{Kind: run.Ending, Message: "writing the reports"})
	frame("the end")
}

// The frames of a run, as somebody sees them who has never seen one.
func TestTheFramesOfARun(t *testing.T) {
	for _, c := range []struct{ columns, lines int }{{80, 24}, {200, 50}, {50, 8}} {
		now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		s := &screen{columns: c.columns}
		l := &Live{out: term.NewWriter(s), size: func() (int, int) { return c.columns, c.lines }, now: func() time.Time { return now }}
		var frames strings.Builder
		session(l.Event, func(d time.Duration) { now = now.Add(d) }, func(name string) {
			for _, line := range strings.Split(s.String(), "\n") {
				if ansi.StringWidth(line) >= c.columns {
					t.Errorf("%s in %d columns: %q", name, c.columns, line)
				}
			}
			fmt.Fprintf(&frames, "--- %s\n%s\n", name, s)
		})
		l.Close()
		fmt.Fprintf(&frames, "--- closed\n%s\n", s)
		reporttest.Golden(t, fmt.Sprintf("frames-%dx%d.txt", c.columns, c.lines), []byte(frames.String()))
	}
}

// A terminal that is closed has no size any more, and what is under way must be stopped.
func TestATerminalThatIsClosedIsNoPanic(t *testing.T) {
	size := 80
	l := &Live{out: term.NewWriter(io.Discard), size: func() (int, int) { return size, size }, now: time.Now}
	session(l.Event, func(time.Duration) {}, func(string) { size = 0 })
	l.Close()
}

func TestTheLogOfARun(t *testing.T) {
	var out strings.Builder
	now := time.Unix(1e9, 0)
	p := &plain{out: &out, now: func() time.Time { return now }}
	session(p.Event, func(d time.Duration) { now = now.Add(10 * d) }, func(string) {})
	reporttest.Golden(t, "log.txt", []byte(out.String()))
}

// Nothing works beside a sample: the clock of the preparation has stopped before the
// first one.
func TestTheClockStopsBeforeTheFirstSample(t *testing.T) {
	for name, e := range map[string]run.Event{
		"a block":  {Kind: run.Block, Slot: &schedule.Slot{Block: 1}},
		"waiting":  {Kind: run.Waiting},
		"an error": {},
	} {
		s := &screen{columns: 80}
		l := &Live{out: term.NewWriter(s), size: func() (int, int) { return 80, 24 }, now: time.Now}
		l.Event(run.Event{Kind: run.Preparing, Step: &run.Step{Name: "image", Number: 1, Of: 2}})
		if l.stop == nil {
			t.Errorf("%s: there was no clock", name)
		}
		if e.Kind == "" {
			l.Close()
		} else {
			l.Event(e)
		}
		if l.stop != nil {
			t.Errorf("%s: the clock goes on", name)
		}
		if err := goleak.Find(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
