package vmm

import (
	"math"
	"sync"
	"time"
)

// readTSC reads the processor's time stamp counter.
func readTSC() uint64

// TSCKHz measures the frequency of the host's time stamp counter. QEMU's TCG
// passes the host's TSC to the guest, which can calibrate it only against an
// emulated timer: slow, imprecise on a busy host, and on microvm it never ends.
var TSCKHz = sync.OnceValue(func() int {
	before, beforeTSC := bothClocks()
	time.Sleep(20 * time.Millisecond)
	after, afterTSC := bothClocks()
	return int(math.Round(float64(afterTSC-beforeTSC) / (after.Sub(before).Seconds() * 1000)))
})

// bothClocks reads both clocks, with the least delay of a few attempts.
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
