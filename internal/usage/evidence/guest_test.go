package evidence

import (
	"testing"

	"tare/internal/usage"
)

const stat = `cpu  100 0 50 9000 10 5 20 7 0 0
cpu0 100 0 50 9000 10 5 20 7 0 0
intr 123456 0 9 0 0
ctxt 5000
btime 1700000000
processes 300
`

const softirqText = `                    CPU0       CPU1
          HI:          0          0
      NET_RX:        100         50
`

func TestWhatAGuestsKernelCountedIsTheDifference(t *testing.T) {
	later := Read("cpu  300 0 150 9100 10 5 40 9 0 0\nintr 124456 0\nctxt 9000\nprocesses 302\n", "CPU0 CPU1\nHI: 0 0\nNET_RX: 1100 60\n")
	var e Evidence
	e.AddGuest(Read(stat, softirqText), later)
	for name, want := range map[string]usage.Figure{
		"guest.switches": usage.Known(4000), "guest.interrupts": usage.Known(1000), "guest.forks": usage.Known(2), "guest.softirq.NET_RX": usage.Known(1010),
	} {
		if got := e.Counts[name]; got != want {
			t.Errorf("%s is %+v, want %+v", name, got, want)
		}
	}
	if got := e.Times["guest.user"]; got != usage.Known(2) {
		t.Errorf("user mode took %+v", got)
	}
	if _, known := e.Counts["guest.softirq.HI"]; known {
		t.Error("what was never counted is there")
	}
	if len(e.Notes) != 1 {
		t.Errorf("it does not say whose the host's system calls are: %q", e.Notes)
	}
	for _, c := range compareTwo(e, Evidence{}, 100, 100) {
		if c.Kind != Within || c.Fast.Count.Missing == "" || c.Count().Missing == "" {
			t.Errorf("against a side without a kernel of its own: %+v", c)
		}
	}
}
