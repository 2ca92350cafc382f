package sample

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func askTaskstats(t testing.TB) *taskstats {
	stats, err := openTaskstats()
	if err != nil {
		t.Skipf("needs the kernel's task statistics: %v", err)
	}
	t.Cleanup(stats.close)
	return stats
}

func TestSwitchesOfThreadsThatEndedAreCounted(t *testing.T) {
	stats := askTaskstats(t)
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
		t.Errorf("%g switches and then %g, where the process itself is told %d: %v", before, after, usage.Nvcsw+usage.Nivcsw, err)
	}
	if _, _, err := stats.switches(1 << 22); err == nil {
		t.Error("a process that is not there has switches")
	}
}

func BenchmarkSwitches(b *testing.B) {
	stats := askTaskstats(b)
	for b.Loop() {
		stats.switches(os.Getpid())
	}
}
