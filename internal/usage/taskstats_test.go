package usage

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/testing/needs"
)

func openOrSkip(t testing.TB) *taskstats {
	needs.Root(t)
	stats, err := openTaskstats()
	needs.Working(t, "the kernel's task statistics", err)
	t.Cleanup(stats.close)
	return stats
}

func TestSwitchesOfExitedThreadsAreCounted(t *testing.T) {
	stats := openOrSkip(t)
	before, _, err := stats.switches(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		runtime.LockOSThread() // and the thread ends with it
		for range 100 {
			unix.Nanosleep(&unix.Timespec{Nsec: 1000}, nil)
		}
		close(done)
	}()
	<-done
	var usage unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &usage)
	after, _, err := stats.switches(os.Getpid())
	if err != nil || after-before < 100 || after < float64(usage.Nvcsw+usage.Nivcsw)-1 {
		t.Errorf("%g switches and then %g, where getrusage gives %d: %v", before, after, usage.Nvcsw+usage.Nivcsw, err)
	}
	if _, _, err := stats.switches(1 << 22); err == nil {
		t.Error("a process that does not exist has switches")
	}
}

func BenchmarkSwitches(b *testing.B) {
	stats := openOrSkip(b)
	for b.Loop() {
		stats.switches(os.Getpid())
	}
}
