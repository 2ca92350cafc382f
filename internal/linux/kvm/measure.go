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
	var speed, own float64
	var loops int
	if err == nil {
		speed, loops, err = fastest(Fast, func(n uint64) (time.Duration, error) {
			step(fmt.Sprintf("running a loop of %d instructions in a virtual CPU", n))
			return m.loop(n)
		})
	}
	if err == nil && speed < Fast {
		own, _, err = fastest(near*speed, func(n uint64) (time.Duration, error) {
			step(fmt.Sprintf("running a loop of %d instructions in the probe", n))
			return count(n), nil
		})
	}
	if err != nil {
		return Result{Present: true, Reason: sentence(device, now, err)}
	}
	return evaluate(speed, own, loops)
}

// count runs a loop of this process, of two instructions as that of a virtual CPU.
//
//go:noinline
func count(instructions uint64) time.Duration {
	began := time.Now()
	for n := instructions / 2; n > 0; n-- {
	}
	return time.Since(began)
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

// fastest runs longer and longer loops until one takes minDuration. If that one is slower
// than is enough, it is run again. The speed is that of the fastest of these loops, whose
// number is returned too.
func fastest(enough float64, loop func(instructions uint64) (time.Duration, error)) (speed float64, loops int, err error) {
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
		if speed >= enough || loops == maxLoops || loops >= minLoops && total >= maxLooping {
			return speed, loops, nil
		}
	}
}

// evaluate judges the speed of a virtual CPU, and where it is slow that of this process.
func evaluate(speed, own float64, loops int) Result {
	r := Result{Present: true, Usable: speed >= Fast || own < near*speed, InstructionsPerSecond: speed}
	switch {
	case speed >= Fast:
		r.Reason = fmt.Sprintf("a virtual CPU runs %.0f million instructions per second", speed/1e6)
	case r.Usable:
		r.Reason = fmt.Sprintf("a virtual CPU runs %.3g million instructions per second, and a process %.4g: the processor is busy or emulated", speed/1e6, own/1e6)
	default:
		r.Reason = fmt.Sprintf("%s opens, but a virtual CPU runs only %.3g million instructions per second in the fastest of %d loops (usable from %.0f), and a process %.4g: its guests are interpreted",
			Device, speed/1e6, loops, Fast/1e6, own/1e6)
	}
	return r
}
