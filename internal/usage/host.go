package usage

import (
	"time"

	"github.com/prometheus/procfs"
)

// Host has the machine's cumulative stall and steal times at a moment.
type Host struct {
	at    time.Time
	Stall map[string]float64 // seconds in which something waited for cpu, io, memory
	Steal *float64           // seconds that the hypervisor gave to other guests, over all cores; nil: not known
}

// Pressure is how busy the machine was between two moments. What the kernel does
// not report is nil.
type Pressure struct {
	CPU, IO, Memory *float64 // share of the time in which something waited for it
	Steal           *float64 // seconds, over all cores
}

// ReadHost reads the machine's counters now.
func ReadHost() Host { return readHost("/proc", time.Now()) }

func readHost(proc string, at time.Time) Host {
	h := Host{at: at, Stall: map[string]float64{}}
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return h
	}
	for _, resource := range []string{"cpu", "io", "memory"} {
		// The total has every microsecond; the averages are smoothed over a longer
		// time.
		if psi, err := fs.PSIStatsForResource(resource); err == nil && psi.Some != nil {
			h.Stall[resource] = float64(psi.Some.Total) / 1e6
		}
	}
	if stat, err := fs.Stat(); err == nil {
		h.Steal = &stat.CPUTotal.Steal
	}
	return h
}

// Between compares two moments of the same machine.
func Between(before, after Host) Pressure {
	span := after.at.Sub(before.at).Seconds()
	share := func(resource string) *float64 {
		a, okA := before.Stall[resource]
		b, okB := after.Stall[resource]
		if !okA || !okB || span <= 0 {
			return nil
		}
		v := min(max((b-a)/span, 0), 1)
		return &v
	}
	p := Pressure{CPU: share("cpu"), IO: share("io"), Memory: share("memory")}
	if before.Steal != nil && after.Steal != nil {
		v := max(*after.Steal-*before.Steal, 0)
		p.Steal = &v
	}
	return p
}

// AvailableMemory returns the kernel's estimate of the memory that new programs
// could use, in bytes (MemAvailable). Page cache that can be dropped counts as
// available, and shared or merged pages count once.
func AvailableMemory() Figure { return availableMemory("/proc") }

func availableMemory(proc string) Figure {
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return Absent("%v", err)
	}
	info, err := fs.Meminfo()
	if err != nil {
		return Absent("reading the host's memory: %v", err)
	}
	if info.MemAvailable == nil {
		return Absent("the kernel does not report available memory (MemAvailable)")
	}
	return Known(float64(*info.MemAvailable) * 1024)
}

// canaryRounds makes the loop take a few milliseconds on a current machine.
const canaryRounds = 3 << 20

var canarySink uint64 //nolint:unused // written, so that the compiler does not drop the loop

// Canary times a calibration loop, which always does the same work, to show how
// fast the machine is at this moment. It touches no memory and makes no system
// call, so it depends on the clock frequency and on contention for the core.
func Canary() time.Duration {
	begun := time.Now()
	x := uint64(0x9e3779b97f4a7c15)
	for range canaryRounds {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	canarySink = x
	return time.Since(begun)
}
