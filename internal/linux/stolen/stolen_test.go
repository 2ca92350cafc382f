package stolen

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"tare/internal/testing/needs"
)

func open(t testing.TB) *Clock {
	t.Helper()
	needs.Root(t)
	c, err := Open()
	needs.Working(t, "BPF", err)
	t.Cleanup(func() { c.Close() })
	return c
}

// Both count the same time, and round and update it differently: the kernel accounts for
// it at ticks, and not more of it than the time since the tick before.
func TestTheStolenTimeIsThatOfProcStat(t *testing.T) {
	c := open(t)
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		t.Fatal(err)
	}
	before, err := fs.Stat()
	if err != nil {
		t.Fatal(err)
	}
	var sum time.Duration
	for core := range before.CPU {
		got, err := c.Read([]int{int(core)})
		if err != nil {
			t.Fatal(err)
		}
		after, err := fs.Stat()
		if err != nil {
			t.Fatal(err)
		}
		const tick, lag = .01, .1
		if s := got.Seconds(); s < before.CPU[core].Steal-tick-lag || s > after.CPU[core].Steal+tick+lag {
			t.Errorf("core %d: %v stolen, and %v s to %v s by /proc/stat", core, got, before.CPU[core].Steal, after.CPU[core].Steal)
		}
		sum += got
	}
	if all, err := c.Read(nil); err != nil || all < sum {
		t.Errorf("%v stolen from all cores, and %v from each: %v", all, sum, err)
	}
	if none, err := c.Read([]int{len(c.counts) + 1}); none != 0 || err != nil {
		t.Errorf("%v stolen from a core that there is not: %v", none, err)
	}
}

func TestAClosedClockDoesNotRead(t *testing.T) {
	c := open(t)
	c.Close()
	if d, err := c.Read(nil); err == nil || !strings.Contains(err.Error(), "running the program") {
		t.Errorf("%v, %v", d, err)
	}
}

func BenchmarkRead(b *testing.B) {
	c := open(b)
	for b.Loop() {
		if _, err := c.Read([]int{0}); err != nil {
			b.Fatal(err)
		}
	}
}
