package vmm

import (
	"math"
	"sync"
	"time"
)

// readTSC reads the processor's time stamp counter.
func readTSC() uint64

// TSCKHz measures how fast the host's time stamp counter runs. Software
// emulation hands the guest this very counter but no way to learn its speed
// other than by timing it against an emulated timer, which is slow, imprecise
// on a busy host, and on a microvm never ends.
var TSCKHz = sync.OnceValue(func() int {
	before, beforeTSC := bothClocks()
	time.Sleep(20 * time.Millisecond)
	after, afterTSC := bothClocks()
	return int(math.Round(float64(afterTSC-beforeTSC) / (after.Sub(before).Seconds() * 1000)))
})

// bothClocks reads the two clocks as close together as a few attempts allow.
func bothClocks() (at time.Time, tsc uint64) {
	closest := time.Duration(math.MaxInt64)
	for range 20 {
		start := time.Now()
		counter := readTSC()
		if apart := time.Since(start); apart < closest {
			closest, at, tsc = apart, start.Add(apart/2), counter
		}
	}
	return at, tsc
}
