package probe

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/testing/needs"
	"tare/internal/usage"
)

// What a system call costs while it is watched, against one that is not: of a
// process that is watched, and of one that has nothing to do with it.
func BenchmarkASystemCall(b *testing.B) {
	self := usage.Footprint{Processes: []usage.Process{{PID: os.Getpid(), Role: "self"}}}
	other := usage.Footprint{Processes: []usage.Process{{PID: os.Getppid(), Role: "other"}}}
	for _, c := range []struct {
		name  string
		depth Depth
		of    *usage.Footprint
	}{
		{"unwatched", All, nil}, {"syscalls", Syscalls, &self}, {"all", All, &self},
		{"syscalls-of-another", Syscalls, &other}, {"all-of-another", All, &other},
	} {
		b.Run(c.name, func(b *testing.B) {
			if c.of != nil {
				p, err := startTracer(c.depth, []usage.Footprint{*c.of})
				needs.Working(b, "BPF", err)
				defer p.stop()
			}
			b.ResetTimer()
			for range b.N {
				unix.RawSyscallNoError(unix.SYS_GETPPID, 0, 0, 0)
			}
			b.StopTimer()
		})
	}
}

// A switch to another process and back, through two pipes.
func BenchmarkARoundThroughPipes(b *testing.B) {
	self := usage.Footprint{Processes: []usage.Process{{PID: os.Getpid(), Role: "self"}}}
	for _, c := range []struct {
		name  string
		depth Depth
		watch bool
	}{{"unwatched", All, false}, {"syscalls", Syscalls, true}, {"all", All, true}} {
		b.Run(c.name, func(b *testing.B) {
			if c.watch {
				p, err := startTracer(c.depth, []usage.Footprint{self})
				needs.Working(b, "BPF", err)
				defer p.stop()
			}
			b.ResetTimer()
			if err := actions["pingpong"](b.N); err != nil {
				b.Fatal(err)
			}
		})
	}
}
