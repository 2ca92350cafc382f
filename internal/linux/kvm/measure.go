package kvm

import (
	"fmt"
	"time"
)

// measure probes a device, in the child. It calls begin before each step.
func measure(device string, begin func(step string)) Result {
	var now string
	step := func(name string) { now = name; begin(name) }
	m, err := newMachine(device, step)
	for n := uint64(firstLoop); err == nil; n *= 10 {
		step(fmt.Sprintf("running a loop of %d instructions in a virtual CPU", n))
		var elapsed time.Duration
		if elapsed, err = m.loop(n); err == nil && elapsed >= minDuration {
			return evaluate(float64(n) / elapsed.Seconds())
		}
	}
	return Result{Present: true, Reason: sentence(device, now, err)}
}

const (
	// firstLoop is the number of instructions of the first loop, few enough for an
	// interpreter to complete.
	firstLoop = 200_000
	// minDuration is how long a loop must take for its speed to be accurate.
	minDuration = 10 * time.Millisecond
)

func evaluate(speed float64) Result {
	r := Result{Present: true, Usable: speed >= Fast, InstructionsPerSecond: speed}
	if r.Usable {
		r.Reason = fmt.Sprintf("a virtual CPU runs %.0f million instructions per second", speed/1e6)
		return r
	}
	r.Reason = fmt.Sprintf("%s opens, but a virtual CPU runs only %.3g million instructions per second (usable from %.0f): its guests are interpreted", Device, speed/1e6, Fast/1e6)
	return r
}
