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
	var speed float64
	var loops int
	if err == nil {
		speed, loops, err = fastest(func(n uint64) (time.Duration, error) {
			step(fmt.Sprintf("running a loop of %d instructions in a virtual CPU", n))
			return m.loop(n)
		})
	}
	if err != nil {
		return Result{Present: true, Reason: sentence(device, now, err)}
	}
	return evaluate(speed, loops)
}

const (
	// firstLoop is the number of instructions of the first loop, few enough for an
	// interpreter to complete.
	firstLoop = 100_000
	// minDuration is how long a loop must take for its speed to be accurate.
	minDuration = 10 * time.Millisecond
	// KVM is slow where so many accurate loops are, since another process that gets the
	// processor for some milliseconds makes one slow.
	minLoops, maxLoops = 2, 4
	// maxLooping is when no more than minLoops begin: tare without a command shows what
	// it knows within a second.
	maxLooping = 300 * time.Millisecond
)

// fastest runs longer and longer loops until one takes minDuration. If that one is slow,
// it is run again. The speed is that of the fastest of these loops, whose number is
// returned too.
func fastest(loop func(instructions uint64) (time.Duration, error)) (speed float64, loops int, err error) {
	var total time.Duration
	for n := uint64(firstLoop); ; {
		elapsed, err := loop(n)
		if err != nil {
			return 0, 0, err
		}
		total += elapsed
		if elapsed < minDuration {
			n *= 10
			continue
		}
		loops++
		speed = max(speed, float64(n)/elapsed.Seconds())
		if speed >= Fast || loops == maxLoops || loops >= minLoops && total >= maxLooping {
			return speed, loops, nil
		}
	}
}

func evaluate(speed float64, loops int) Result {
	r := Result{Present: true, Usable: speed >= Fast, InstructionsPerSecond: speed}
	if r.Usable {
		r.Reason = fmt.Sprintf("a virtual CPU runs %.0f million instructions per second", speed/1e6)
		return r
	}
	r.Reason = fmt.Sprintf("%s opens, but a virtual CPU runs only %.3g million instructions per second in the fastest of %d loops (usable from %.0f): its guests are interpreted",
		Device, speed/1e6, loops, Fast/1e6)
	return r
}
